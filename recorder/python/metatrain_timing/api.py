"""What metatrain's timing module has no name for: counters, phases, flush, health."""

import contextlib
from collections.abc import Iterator
from typing import Any

from . import _native, _session, _startup
from ._loops import thread
from ._native import StepTracker

__all__ = ["StepTracker", "count", "flush", "health", "phase"]

if _startup.is_requested():
    _session.start()

_counters: dict[str, int] = {}


def count(name: str, value: float = 1) -> None:
    """
    Add to a counter; reports show its total and its rate.

    :param name: of the counter, e.g. "structures".
    :param value: how much.
    """
    number = _counters.get(name)
    if number is None:
        text = name.encode("utf-8", "replace").decode()
        number = _counters[name] = _native.counter(text)
    _native.count(number, value)


@contextlib.contextmanager
def phase(name: str) -> Iterator[None]:
    """
    Name what a stretch of the training is for.

    Passes over loaders that this thread waits for in the block belong to this phase in
    reports, whatever happens in them; the stretch itself is the stage `phase/<name>`.

    :param name: e.g. "warm-up"; "train" and "evaluation" are those of every report.
        An empty one names nothing.
    """
    if not name:
        yield
        return
    thread.phases.append(name)
    try:
        with _native.timed(f"phase/{name}"):
            yield
    finally:
        thread.phases.pop()


def flush() -> None:
    """Write what was recorded so far, and return when it is in the file."""
    _native.flush()


def health() -> dict[str, Any]:
    """
    What recording has to say about itself.

    :return: `file`, `recorded_count`, `dropped_count` (not there one by one: a
        buffer was full), `unsummed_count` (of these: not in the sums either),
        `degraded`, `last_problem`.
    """
    return _native.health()
