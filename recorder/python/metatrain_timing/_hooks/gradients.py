"""`clip_grad`: limiting the norm of gradients."""

import functools
from types import ModuleType

from .. import _native, _session
from .patching import Point, replace, timed_call


def install(module: ModuleType) -> None:
    """
    Instrument the function; torch.nn.utils takes it from here.

    :param module: torch.nn.utils.clip_grad.
    """
    _session.start()
    replace(
        Point(module.__name__, "clip_grad_norm_", ("parameters",), "clip_grad"),
        functools.partial(timed_call, stage=_native.stage("clip_grad")),
        everywhere=True,
    )
