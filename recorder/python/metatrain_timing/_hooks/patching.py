"""Replacing functions by name, with a check that they are what was expected."""

import functools
import importlib
import inspect
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Optional

from .. import _session

MARK = "__metatrain_timing__"


@dataclass(frozen=True)
class Point:
    """A function that a hook replaces."""

    module: str
    """Module it lives in."""
    name: str
    """Name in the module, dotted for a method."""
    parameters: Optional[tuple[str, ...]]
    """How its parameters begin; None: not checked (it has no readable signature)."""
    gives: str
    """What a report misses without it."""


def replace(point: Point, make: Callable[[Any], Any]) -> bool:
    """
    Replace the function at a point, or say in one line why not.

    :param point: what to replace.
    :param make: gets the original, returns the replacement.
    :return: whether the function is replaced (now or earlier).
    """
    try:
        owner, name = _find_owner(point)
        original = vars(owner)[name]
    except (ImportError, AttributeError, KeyError):
        _warn(point, "is not there")
        return False
    if getattr(original, MARK, False):
        return True
    if not _looks_as_expected(original, point.parameters):
        _warn(point, "takes other arguments than expected")
        return False
    replacement = make(original)
    setattr(replacement, MARK, True)
    setattr(owner, name, replacement)
    return True


def wraps(original: Callable[..., Any]) -> Callable[[Any], Any]:
    """
    Like `functools.wraps`, for what may lack some of the copied attributes.

    :param original: the function that is replaced.
    """
    return functools.wraps(original)


def replace_imported(original: object, replacement: object, package: str) -> None:
    """
    Replace an object in the modules that imported it by name before we came.

    :param original: object to look for.
    :param replacement: what to put in its place.
    :param package: look in this package's modules only.
    """
    prefix = package + "."
    for module_name, module in list(sys.modules.items()):
        if not module_name.startswith(prefix):
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


def _looks_as_expected(
    function: object, expected: Optional[tuple[str, ...]]
) -> bool:
    if expected is None:
        return callable(function)
    if not callable(function):
        return False
    try:
        parameters = tuple(inspect.signature(function).parameters)
    except (TypeError, ValueError):
        return False
    return parameters[: len(expected)] == expected


def _warn(point: Point, what: str) -> None:
    package = point.module.partition(".")[0]
    version = getattr(sys.modules.get(package), "__version__", "of unknown version")
    _session.warn(
        f"unknown_{package}",
        f"{package} {version}: {point.module}.{point.name} {what}; "
        f"not recorded: {point.gives}",
    )
