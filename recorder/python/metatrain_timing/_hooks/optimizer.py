"""`optimizer`: each optimizer's step, by torch's global hooks; and `zero_grad`."""

import functools
from types import ModuleType
from typing import Any

from .. import _loops, _native, _session
from .._loops import thread
from .._native import begin, end, inside
from .patching import Point, replace, timed_call, warn

OPTIMIZER = _native.stage("optimizer")

_HOOKS = ("register_optimizer_step_pre_hook", "register_optimizer_step_post_hook")
_installed = False


def install(module: ModuleType) -> None:
    """
    Register the hooks.

    :param module: torch.optim.optimizer.
    """
    global _installed  # noqa: PLW0603
    _session.start()
    if _installed:
        return
    _installed = True
    replace(
        Point(module.__name__, "Optimizer.zero_grad", ("self",), "zero_grad"),
        functools.partial(timed_call, stage=_native.stage("zero_grad")),
    )
    missing = [name for name in _HOOKS if name not in vars(module)]
    if missing:
        warn(
            Point(module.__name__, missing[0], None, "optimizer, steps"), "is not there"
        )
        return
    module.register_optimizer_step_pre_hook(_before)
    module.register_optimizer_step_post_hook(_after)


def _before(optimizer: Any, _args: Any, _kwargs: Any) -> None:
    if not (thread.waiting or thread.fetching or inside(OPTIMIZER)):
        thread.optimizers[id(optimizer)] = begin(OPTIMIZER)


def _after(optimizer: Any, _args: Any, _kwargs: Any) -> None:
    token = thread.optimizers.pop(id(optimizer), 0)
    if token:
        end(token)
    _loops.optimizer_stepped(optimizer)
