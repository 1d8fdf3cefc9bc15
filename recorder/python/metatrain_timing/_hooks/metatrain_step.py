"""metatrain's functions in the body of a loop: `h2d`, `forward`, `loss` and others.

Methods of torch modules are not among them: TorchScript compiles those when metatrain
exports its model, and cannot compile a wrapper.
"""

import functools
from types import FunctionType, ModuleType
from typing import Any

from .. import _native
from .patching import Point, replace, timed_call


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
        make = functools.partial(_timed, stage=_native.stage(stage))
        replace(point, make, everywhere=True)


def _timed(function: Any, stage: int) -> Any:
    if isinstance(function, FunctionType):
        return timed_call(function, stage)
    return _TimedCall(function, stage)


class _TimedCall:
    """Something that is called and is no Python function: it keeps its attributes."""

    def __init__(self, function: Any, stage: int) -> None:
        self._function = function
        self._timed = timed_call(function, stage)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._timed(*args, **kwargs)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._function, name)
