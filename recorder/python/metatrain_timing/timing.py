"""metatrain's timing module, under the same names, recorded by us.

Off unless METATRAIN_TIMING_DB or METATRAIN_TIMING is set or `enable()` is called. What
it adds: stages that DataLoader workers recorded are in `report()` too.
"""

import contextlib
import sys
import weakref
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Union

from . import _loops, _native, _report, _session, _startup
from ._loops import thread
from ._native import begin, cancel, end, set_context, timed
from .api import count

__all__ = [
    "COLLATE_STAGES",
    "ENABLED",
    "STEP_BREAKDOWN",
    "TOP_STAGES",
    "TRANSFORM_PREFIX",
    "count_systems",
    "enable",
    "report",
    "reset",
    "timed",
    "timed_iter",
    "timed_transform",
]

TOP_STAGES = ("loader", "step")
STEP_BREAKDOWN = ("unpack", "h2d", "forward", "loss", "backward", "optimizer")
COLLATE_STAGES = ("group_and_join", "transforms", "serialize")
TRANSFORM_PREFIX = "transforms/"

ENABLED = _native.recording()
"""Whether this process records; `enable()` sets it."""


def enable() -> None:
    """Record from now on in this process, and in the workers that it starts."""
    global ENABLED  # noqa: PLW0603
    _session.start()
    _startup.activate()
    ENABLED = _native.recording()


def reset() -> None:
    """Forget the totals, calls and counters that `report()` shows."""
    _native.reset_totals()
    _session.note_reset()


def timed_transform(
    transform: Callable[..., Any],
) -> Union[timed, "contextlib.nullcontext[None]"]:
    """
    Record one transform of a collate function, as `transforms/<its name>`.

    :param transform: the callable.
    """
    if not _native.recording():
        return contextlib.nullcontext()
    name = getattr(transform, "__name__", None) or type(transform).__name__
    return timed(TRANSFORM_PREFIX + name)


def timed_iter(iterable: Iterable[Any], stage: str, body: str) -> Iterator[Any]:
    """
    Iterate, and record the time to get each item and the time it is used.

    The request that finds no more items is not recorded; the last use is, also when the
    consumer leaves early or raises.

    :param iterable: what to iterate over; workers start now, not at the first item.
    :param stage: stage of getting an item.
    :param body: stage of using it.
    """
    if not _native.recording():
        return iter(iterable)
    return _TimedIterator(iterable, stage, body, sys._getframe(1))


def count_systems(systems: Iterable[Any]) -> None:
    """
    Count structures and their atoms.

    :param systems: sized objects, one for each structure.
    """
    if not _native.recording():
        return
    sizes = [len(system) for system in systems]
    count("structures", len(sizes))
    count("atoms", sum(sizes))


def report() -> str:
    """
    The table of stages so far, those of workers included.

    Only training counts where there is any: loops that evaluate are left out.
    """
    return _report.table(TOP_STAGES, STEP_BREAKDOWN, COLLATE_STAGES, TRANSFORM_PREFIX)


class _TimedIterator:
    """Iterates as `timed_iter` promises.

    Over a loader that is instrumented anyway, its own waits and bodies are the stages
    `loader` and `step`, and are not recorded a second time.
    """

    def __init__(
        self, iterable: Iterable[Any], stage: str, body: str, frame: Any
    ) -> None:
        self._items = iter(iterable)
        self._stage = 0 if stage == "loader" else _native.stage(stage)
        self._wait_stage = _native.stage(stage)
        self._body = body
        self._body_stage = _native.stage(body)
        self._instrumented = _is_instrumented(self._items)
        self._batches = 0
        self._asker = _loops.Asker()
        if not self._instrumented:
            from ._hooks import loaders

            kind = type(iterable).__qualname__
            self._asker = loaders.begin_plain_pass(kind, frame)
        # Its death tells that the loop was left.
        asker = self._asker
        self._reference = weakref.ref(self, lambda _: _loops.left(asker))

    def __iter__(self) -> "_TimedIterator":
        return self

    def __next__(self) -> Any:
        turn = _loops.begin_turn(self._asker, sys._getframe(1))
        if turn is None:  # in the wait of another loop
            return next(self._items)
        stage = self._stage if self._instrumented else self._wait_stage
        if not self._instrumented:
            self._begin_plain_wait()
        token = begin(stage) if stage else 0
        try:
            item = next(self._items)
        except StopIteration:
            cancel(token)
            _loops.end_turn(turn, False)
            _loops.exhausted(self._asker)
            raise
        except BaseException:
            end(token)
            _loops.end_turn(turn, False)
            raise
        if turn.served and not self._stage:
            cancel(token)  # the loader inside has recorded it
        else:
            end(token)
        if turn.served:
            self._instrumented = True
            turn.loop.extra_stage = 0 if self._body == "step" else self._body_stage
        else:
            self._name_plain_turn(turn)
        _loops.end_turn(turn, True)
        return item

    def _begin_plain_wait(self) -> None:
        assert isinstance(self._asker, _loops.Pass)
        _loops.note_wait(self._asker)
        set_context(self._asker.number, self._batches, _loops.steps_done())

    def _name_plain_turn(self, turn: _loops.Turn) -> None:
        assert isinstance(self._asker, _loops.Pass)
        turn.place = (self._asker, self._batches)
        turn.loop.passes.append(self._asker)
        turn.loop.body_stage = self._body_stage
        # Without torch there is no optimizer to tell steps: each body is one.
        counts = self._body == "step" and "torch" not in sys.modules
        if counts and not thread.phases:
            _loops.make_training(turn.loop)
        self._batches += 1


def _is_instrumented(iterator: object) -> bool:
    return any(
        hasattr(iterator, name)
        for name in ("_metatrain_timing_pass", "_metatrain_timing_asker")
    )


if _startup.is_requested():
    enable()
