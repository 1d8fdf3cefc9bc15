"""`@timed(stage)` for functions and coroutine functions."""

import functools
import inspect
from collections.abc import Callable
from typing import Any

from ._native import timed


def decorate(block: timed, function: Callable[..., Any]) -> Callable[..., Any]:
    """
    Record each call of a function as an interval.

    A coroutine function is recorded from its first step to its last, waits included.

    :param block: the stage.
    :param function: function to wrap.
    :return: the wrapped function.
    """
    if inspect.iscoroutinefunction(function):

        @functools.wraps(function)
        async def timed_coroutine(*args: Any, **kwargs: Any) -> Any:
            with block:
                return await function(*args, **kwargs)

        return timed_coroutine

    @functools.wraps(function)
    def timed_function(*args: Any, **kwargs: Any) -> Any:
        with block:
            return function(*args, **kwargs)

    return timed_function
