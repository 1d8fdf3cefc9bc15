"""metatrain's functions in the body of a loop: `h2d`, `forward`, `loss` and others.

Methods of torch modules are not among them: TorchScript compiles those when metatrain
exports its model, and cannot compile a wrapper.
"""

import functools
from collections.abc import Callable
from types import ModuleType
from typing import Any

from .. import _native
from .._loops import thread
from .._native import begin, end, inside
from .patching import Point, replace


def _point(module: str, name: str, *parameters: str, gives: str) -> tuple[Point, str]:
    return Point(f"metatrain.{module}", name, parameters or None, gives), gives


# What is wrapped, and the stage that a call there is, by module.
POINTS = {
    # A TorchScript function: without a signature.
    "metatrain.utils.transfer": [_point("utils.transfer", "batch_to", gives="h2d")],
    "metatrain.utils.evaluate_model": [
        _point(
            "utils.evaluate_model",
            "evaluate_model",
            "model",
            "systems",
            gives="forward",
        )
    ],
    "metatrain.utils.loss": [
        _point(
            "utils.loss",
            "LossAggregator.compute",
            "self",
            "predictions",
            "targets",
            gives="loss",
        )
    ],
    "metatrain.utils.per_atom": [
        _point(
            "utils.per_atom",
            "average_by_num_atoms",
            "tensor_map_dict",
            "systems",
            gives="per_atom",
        )
    ],
    "metatrain.utils.metrics": [
        _point(
            "utils.metrics", f"{name}.update", "self", "predictions", gives="metrics"
        )
        for name in ("RMSEAccumulator", "MAEAccumulator")
    ],
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
