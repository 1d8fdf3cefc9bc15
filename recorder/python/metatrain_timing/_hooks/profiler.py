"""torch's profiler announces steps too: `prof.step()`."""

import functools
from collections.abc import Callable
from types import ModuleType
from typing import Any

from .. import _native
from .._loops import STEPS
from .patching import Point, replace

PROFILER = "profiler"
"""Requester of steps that profilers count; one that starts begins with what is done."""


def install(module: ModuleType) -> None:
    """
    Count the steps of profilers.

    :param module: torch.profiler.profiler.
    """
    for name, then in (("start", _begin), ("step", _count)):
        point = Point(module.__name__, f"profile.{name}", ("self",), "profiler steps")
        replace(point, functools.partial(_followed_by, then=then))


def _followed_by(
    original: Callable[..., Any], then: Callable[[], None]
) -> Callable[..., Any]:
    @functools.wraps(original)
    def followed(*args: Any, **kwargs: Any) -> Any:
        result = original(*args, **kwargs)
        then()
        return result

    return followed


def _begin() -> None:
    STEPS.init_step_count(PROFILER)


def _count() -> None:
    STEPS.increment_step(PROFILER)
    _native.turn_ended()
