"""The error boundary: what goes wrong in our own code never reaches the training."""

import contextlib
import functools
from collections.abc import Callable
from typing import Any, TypeVar

from . import _session

_F = TypeVar("_F", bound=Callable[..., Any])


def _complain(name: str, error: Exception) -> None:
    # At the end of an interpreter anything may be gone that a warning needs.
    with contextlib.suppress(Exception):
        _session.warn(
            "internal_error",
            f"internal error in {name} ({type(error).__name__}: {error}); "
            "something is not recorded",
        )


def guarded(function: _F) -> _F:
    """
    Let a function of ours return None where it would raise; the first time it says so.

    :param function: called from the training's own calls.
    """

    @functools.wraps(function)
    def guarded_function(*args: Any) -> Any:  # no keywords: some calls are frequent
        try:
            return function(*args)
        except Exception as error:
            _complain(function.__name__, error)
            return None

    return guarded_function  # type: ignore[return-value]
