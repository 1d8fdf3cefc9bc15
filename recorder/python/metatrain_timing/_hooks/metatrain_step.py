"""metatrain's functions in the body of a loop: `h2d`, `forward`, `loss` and others."""

import functools
from collections.abc import Callable
from types import ModuleType
from typing import Any

from .. import _native
from .._loops import thread
from .._native import begin, end, inside
from .patching import Point, replace

_SYSTEMS = ("systems",)
_UPDATE = ("self", "predictions", "targets")

# Where, and the stage that a call there is.
POINTS = {
    "metatrain.utils.transfer": (
        # A TorchScript function: without a signature, and trainers bind it by name.
        (Point("metatrain.utils.transfer", "batch_to", None, "h2d"), "h2d"),
    ),
    "metatrain.utils.evaluate_model": (
        (
            Point(
                "metatrain.utils.evaluate_model",
                "evaluate_model",
                ("model", "systems"),
                "forward",
            ),
            "forward",
        ),
    ),
    "metatrain.utils.loss": (
        (
            Point(
                "metatrain.utils.loss",
                "LossAggregator.compute",
                ("self", "predictions", "targets"),
                "loss",
            ),
            "loss",
        ),
    ),
}


def install(module: ModuleType) -> None:
    """
    Instrument one of the modules.

    :param module: a module of `POINTS`.
    """
    for point, stage in POINTS[module.__name__]:
        make = functools.partial(_TimedCall, stage=_native.stage(stage))
        replace(point, make, everywhere=True)


class _TimedCall:
    """A function that is recorded as a stage; else it is that function.

    Not in a fetch: collate functions call some of these too, and there it is their
    transform that is named.
    """

    def __init__(self, function: Callable[..., Any], stage: int) -> None:
        self._function = function
        self._stage = stage
        functools.update_wrapper(self, function, updated=())

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if thread.fetching or inside(self._stage):
            return self._function(*args, **kwargs)
        token = begin(self._stage)
        try:
            return self._function(*args, **kwargs)
        finally:
            end(token)

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        return self if instance is None else functools.partial(self, instance)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._function, name)
