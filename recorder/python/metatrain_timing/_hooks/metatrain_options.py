"""metatrain's options that a report should name."""

import functools
from collections.abc import Callable, Mapping
from types import ModuleType
from typing import Any

from .. import _native
from .patching import Point, replace

_OF_TRAINER = (
    "batch_size",
    "distributed",
    "learning_rate",
    "max_atoms_per_batch",
    "num_epochs",
    "num_workers",
)
_OF_RUN = ("base_precision", "device", "seed")

_POINTS = {
    "metatrain.utils.abc": Point(
        "metatrain.utils.abc",
        "TrainerInterface.__init__",
        ("self", "hypers"),
        "options of the training",
    ),
    "metatrain.cli.train": Point(
        "metatrain.cli.train", "train_model", ("options",), "options of the run"
    ),
}
_noted: set[str] = set()


def install(module: ModuleType) -> None:
    """
    Instrument one of the modules.

    :param module: where options pass through.
    """
    point = _POINTS[module.__name__]
    replace(
        point,
        _trainer_init if point.name == "TrainerInterface.__init__" else _train_model,
        everywhere=True,
    )


def _trainer_init(original: Callable[..., None]) -> Callable[..., None]:
    @functools.wraps(original)
    def __init__(self: Any, hypers: Any, *args: Any, **kwargs: Any) -> None:
        original(self, hypers, *args, **kwargs)
        # The first trainer is the run's; others fit baselines and scales for it.
        if "trainer" not in _noted:
            _noted.add("trainer")
            _note(hypers, _OF_TRAINER)

    return __init__


def _train_model(original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def train_model(options: Any, *args: Any, **kwargs: Any) -> Any:
        _note(options, _OF_RUN)
        architecture = _get(options, "architecture")
        _note(architecture, ("name",), "metatrain.architecture.")
        return original(options, *args, **kwargs)

    return train_model


def _note(options: Any, names: tuple[str, ...], prefix: str = "metatrain.") -> None:
    for name in names:
        value = _get(options, name)
        if isinstance(value, (str, int, float)):
            _native.set_fact(prefix + name, str(value))


def _get(options: Any, name: str) -> Any:
    """An option as written; None if it is not, or cannot be read."""
    if not isinstance(options, Mapping) and not hasattr(options, "get"):
        return None
    try:
        return options.get(name)
    except Exception:
        return None
