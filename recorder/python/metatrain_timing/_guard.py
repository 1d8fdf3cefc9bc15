"""The error boundary: what goes wrong in our own code never reaches the training."""

import contextlib
import functools
import signal
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


def _is_of_signal_handler(error: Exception) -> bool:
    """Whether a handler that the program installed raised: a time-out, a preemption."""
    codes = set()
    for number in signal.valid_signals():
        handler: Any = signal.getsignal(number)
        handler = getattr(handler, "func", handler)  # of functools.partial
        handler = getattr(handler, "__func__", handler)  # of a method
        if callable(handler) and not hasattr(handler, "__code__"):
            handler = type(handler).__call__
        codes.add(getattr(handler, "__code__", None))
    traceback = error.__traceback__
    while traceback is not None:
        if traceback.tb_frame.f_code in codes:
            return True
        traceback = traceback.tb_next
    return False


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
            if _is_of_signal_handler(error):
                raise  # the program's own, which only happened to come up here
            _complain(function.__name__, error)
            return None

    return guarded_function  # type: ignore[return-value]
