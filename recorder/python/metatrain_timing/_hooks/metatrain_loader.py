"""metatrain's CombinedDataLoader: one turn of its loop, whichever loader it asks.

It makes the iterators of all its loaders when it is made and again in the request that
ends an epoch; what that costs is `loader_end`.
"""

import functools
import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any

from .. import _loops
from .._native import begin, cancel, context, end, set_context
from .dataloader import LOADER_END, pass_of
from .patching import Point, replace

_ATTRIBUTE = "_metatrain_timing_asker"


class _Combined(_loops.Asker):
    """A pass over all loaders of a CombinedDataLoader."""

    __slots__ = ("last",)

    def __init__(self) -> None:
        super().__init__()
        self.last = -1
        """Number of the pass that was waited for last."""


def install(module: ModuleType) -> None:
    """
    Instrument the class.

    :param module: metatrain.utils.data.combine_dataloaders.
    """
    replace(
        Point(module.__name__, "CombinedDataLoader.__next__", ("self",), "loader_end"),
        _next,
    )


def _next(original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def __next__(self: Any) -> Any:
        asker = self.__dict__.get(_ATTRIBUTE)
        if asker is None or asker.ended:
            asker = self.__dict__[_ATTRIBUTE] = _Combined()
        turn = _loops.begin_turn(asker, sys._getframe(1))
        over = _is_over(self)
        token = 0
        before = context()
        if over:
            _note_exhausted(self)
            set_context(asker.last, -1, before[2])
            token = begin(LOADER_END)
        delivered = False
        try:
            item = original(self)
            delivered = True
            return item
        except BaseException as error:
            if over and not isinstance(error, StopIteration):
                cancel(token)
            raise
        finally:
            end(token)
            if turn is not None:
                if turn.place is not None:
                    asker.last = turn.place[0].number
                _loops.end_turn(turn, delivered)
            if over:
                set_context(*before)
                _loops.exhausted(asker)

    return __next__


def _is_over(combined: Any) -> bool:
    try:
        return bool(combined.current_index >= len(combined.indices))
    except (AttributeError, TypeError):
        return False  # its StopIteration is then recorded as nothing


def _note_exhausted(combined: Any) -> None:
    """Its passes have delivered all they have, though nobody asked for one more."""
    for pass_ in [pass_of(it) for it in getattr(combined, "dataloader_iterators", ())]:
        if pass_ is not None:
            _loops.exhausted(pass_)
