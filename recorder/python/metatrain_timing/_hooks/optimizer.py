"""`optimizer`: each optimizer's step, by torch's global hooks; and `zero_grad`."""

import functools
import sys
from types import ModuleType
from typing import Any

from .. import _loops, _native, _session
from .._loops import thread
from .._native import begin, end, inside
from .patching import Point, replace, timed_call

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
    missing = [name for name in _HOOKS if not hasattr(module, name)]
    if missing:
        version = getattr(sys.modules.get("torch"), "__version__", "of unknown version")
        _session.warn(
            "unknown_torch",
            f"torch {version}: torch.optim.optimizer.{missing[0]} is not there; "
            "not recorded: optimizer, steps",
        )
        return
    module.register_optimizer_step_pre_hook(_before)
    module.register_optimizer_step_post_hook(_after)
    replace(
        Point(module.__name__, "Optimizer.zero_grad", ("self",), "zero_grad"),
        functools.partial(timed_call, stage=_native.stage("zero_grad")),
    )
    _installed = True


def _before(optimizer: Any, _args: Any, _kwargs: Any) -> None:
    if not (thread.waiting or thread.fetching or inside(OPTIMIZER)):
        thread.optimizers[id(optimizer)] = begin(OPTIMIZER)


def _after(optimizer: Any, _args: Any, _kwargs: Any) -> None:
    end(thread.optimizers.pop(id(optimizer), 0))
    _loops.optimizer_stepped(optimizer)
