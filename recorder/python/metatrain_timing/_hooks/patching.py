"""Replacing functions by name, with a check that they are what was expected."""

import functools
import importlib
import inspect
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from .. import _session
from .._loops import thread
from .._native import begin, end, inside

MARK = "__metatrain_timing__"


@dataclass(frozen=True)
class Point:
    """A function that a hook replaces."""

    module: str
    """Module it lives in."""
    name: str
    """Name in the module, dotted for a method."""
    parameters: tuple[str, ...] | None
    """How its parameters begin; None: not checked (it has no readable signature)."""
    gives: str
    """What a report misses without it."""


def replace(point: Point, make: Callable[[Any], Any], everywhere: bool = False) -> bool:
    """
    Replace the function at a point, or say in one line why not.

    :param point: what to replace.
    :param make: gets the original, returns the replacement.
    :param everywhere: also where modules of its package have bound it by name, which
        they have if they were imported before us.
    :return: whether the function is replaced (now or earlier).
    """
    try:
        owner, name = _find_owner(point)
        original = vars(owner)[name]
    except (ImportError, AttributeError, KeyError):
        warn(point, "is not there")
        return False
    if getattr(original, MARK, False):
        return True
    if not _looks_as_expected(original, point.parameters):
        warn(point, "takes other arguments than expected")
        return False
    replacement = make(original)
    setattr(replacement, MARK, True)
    setattr(owner, name, replacement)
    if everywhere:
        _replace_imported(original, replacement, point.module.partition(".")[0])
    return True


def timed_call(function: Callable[..., Any], stage: int) -> Callable[..., Any]:
    """
    A function that is recorded as a stage.

    Not in a fetch, where the transform that calls it is what has a name, and not where
    the program names the stage itself.

    :param function: the function.
    :param stage: number of the stage.
    """

    @functools.wraps(function)
    def timed_function(*args: Any, **kwargs: Any) -> Any:
        # What is compiled must not call what the compiler cannot follow.
        if _is_compiling() or thread.fetching or inside(stage):
            return function(*args, **kwargs)
        token = begin(stage)
        try:
            return function(*args, **kwargs)
        finally:
            end(token)

    return timed_function


def _is_compiling() -> bool:
    import torch

    return bool(torch.compiler.is_compiling())


def _replace_imported(original: object, replacement: object, package: str) -> None:
    for module_name, module in list(sys.modules.items()):
        if not module_name.startswith(package + "."):
            continue
        for name, value in list(vars(module).items()):
            if value is original:
                setattr(module, name, replacement)


def _find_owner(point: Point) -> tuple[Any, str]:
    owner: Any = importlib.import_module(point.module)
    *path, name = point.name.split(".")
    for part in path:
        owner = getattr(owner, part)
    return owner, name


def _looks_as_expected(function: object, expected: tuple[str, ...] | None) -> bool:
    if expected is None:
        return callable(function)
    if not callable(function):
        return False
    try:
        parameters = tuple(inspect.signature(function).parameters)
    except (TypeError, ValueError):
        return False
    return parameters[: len(expected)] == expected


def warn(point: Point, what: str) -> None:
    """
    Say in one line what is missing, and what a report misses for it.

    :param point: what was to be replaced.
    :param what: what is wrong with it.
    """
    package = point.module.partition(".")[0]
    version = getattr(sys.modules.get(package), "__version__", "of unknown version")
    _session.warn(
        f"unknown_{package}",
        f"{package} {version}: {point.module}.{point.name} {what}; "
        f"not recorded: {point.gives}",
    )
