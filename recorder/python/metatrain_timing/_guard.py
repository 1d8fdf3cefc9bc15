"""The error boundary: what goes wrong in our own code never reaches the training."""

import functools
from collections.abc import Callable
from typing import Any, TypeVar

from . import _session

_F = TypeVar("_F", bound=Callable[..., Any])


def guarded(function: _F) -> _F:
    """
    Let a function of ours return None where it would raise; the first time it says so.

    :param function: called from the training's own calls.
    """

    @functools.wraps(function)
    def guarded_function(*args: Any, **kwargs: Any) -> Any:
        try:
            return function(*args, **kwargs)
        except Exception as error:
            _session.warn(
                "internal_error",
                f"internal error in {function.__name__} "
                f"({type(error).__name__}: {error}); something is not recorded",
            )
            return None

    return guarded_function  # type: ignore[return-value]
