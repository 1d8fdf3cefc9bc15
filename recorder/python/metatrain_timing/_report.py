"""The table that `timing.report()` returns, from this run's files.

Stages are read back from the database rather than from totals in memory: only there it
is known which of them belong to training, and what the workers did.
"""

import os
import sqlite3
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from . import _native, _session, _startup

_WIDTH = 30

# Passes of the process that owns them, and whether they count. `number` is what ties
# the rows of workers to them.
_PASSES = """
SELECT iterator.number, iterator.phase
FROM iterator
JOIN loader ON loader.id = iterator.loader_id
JOIN process ON process.id = loader.process_id
WHERE process.uuid = :process
"""

_RANK = "SELECT rank FROM process WHERE uuid = :process"

# What a run that passed its size limit has only sums of counts where all of it came
# after the reset.
_STAGES = """
SELECT stage.name, iterator.number, sum(calls), sum(total_ns)
FROM (
    SELECT stage_id, track_id, iterator_id, 1 AS calls, dur_ns AS total_ns, start_ns
    FROM interval
    UNION ALL
    SELECT stage_id, track_id, iterator_id, calls, total_ns, first_ns
    FROM interval_total
    WHERE calls > 0
) AS part
JOIN stage ON stage.id = stage_id
JOIN track ON track.id = track_id
JOIN process ON process.id = track.process_id
JOIN run ON run.id = process.run_id
LEFT JOIN iterator ON iterator.id = iterator_id
WHERE run.uuid = :run
  AND part.start_ns >= :since_ns
  AND process.rank = :rank
  AND (process.uuid = :process OR process.role <> 'main')
GROUP BY stage.name, iterator.number
"""

_COUNTERS = """
SELECT counter_name.name, iterator.number, sum(part.value)
FROM (
    SELECT name_id, track_id, iterator_id, value, at_ns FROM counter
    UNION ALL
    SELECT name_id, track_id, iterator_id, value, iterator.started_ns
    FROM counter_total
    LEFT JOIN iterator ON iterator.id = iterator_id
) AS part
JOIN counter_name ON counter_name.id = name_id
JOIN track ON track.id = track_id
JOIN process ON process.id = track.process_id
JOIN run ON run.id = process.run_id
LEFT JOIN iterator ON iterator.id = iterator_id
WHERE run.uuid = :run
  AND coalesce(part.at_ns, process.started_ns) >= :since_ns
  AND process.rank = :rank
  AND (process.uuid = :process OR process.role <> 'main')
GROUP BY counter_name.name, iterator.number
"""


@dataclass
class _Totals:
    stages: dict[str, tuple[int, int]] = field(default_factory=dict)
    """Stage -> calls and nanoseconds."""
    counters: dict[str, float] = field(default_factory=dict)

    def add_stage(self, name: str, calls: int, total_ns: int) -> None:
        before = self.stages.get(name, (0, 0))
        self.stages[name] = (before[0] + calls, before[1] + total_ns)

    def add_counter(self, name: str, value: float) -> None:
        self.counters[name] = self.counters.get(name, 0.0) + value


def table(
    top: Sequence[str],
    step_breakdown: Sequence[str],
    collate: Sequence[str],
    transform_prefix: str,
) -> str:
    """
    The table of everything recorded since the last reset.

    :param top: the halves of a step, whose sum is 100 %.
    :param step_breakdown: stages of `step`, in order.
    :param collate: stages of the collate function, in order.
    :param transform_prefix: how the names of transforms begin.
    """
    totals = _gather()
    if not totals.stages:
        return (
            "no timings recorded; set METATRAIN_TIMING=1 or call "
            "metatrain_timing.timing.enable() before the training"
        )
    whole_ns = sum(totals.stages.get(name, (0, 0))[1] for name in top)
    lines = [f"{'stage':<{_WIDTH}} {'calls':>8} {'ms/call':>10} {'% of step':>10}"]

    def add_rows(names: Sequence[str], indent: int = 0) -> None:
        for name in names:
            calls, total_ns = totals.stages[name]
            share = f"{100 * total_ns / whole_ns:.1f}" if whole_ns else "-"
            shown = " " * indent + name
            lines.append(
                f"{shown:<{_WIDTH}} {calls:>8} {total_ns / calls / 1e6:>10.2f} "
                f"{share:>10}"
            )

    def recorded(names: Sequence[str]) -> list[str]:
        return [name for name in names if name in totals.stages]

    add_rows(recorded(top))
    if recorded(step_breakdown):
        lines.append("breakdown of `step`:")
        add_rows(recorded(step_breakdown), 2)
    transforms = sorted(n for n in totals.stages if n.startswith(transform_prefix))
    if recorded(collate) or transforms:
        lines.append("collate function (inside the loader wait, or in workers):")
        for name in collate:
            add_rows(recorded([name]), 2)
            if name == "transforms":
                add_rows(transforms, 4)
    shown_names = {*top, *step_breakdown, *collate, *transforms}
    others = sorted(set(totals.stages) - shown_names)
    if others:
        lines.append("other:")
        add_rows(others, 2)
    if whole_ns:
        for name, value in sorted(totals.counters.items()):
            lines.append(f"{name + '/s':<{_WIDTH}} {value / whole_ns * 1e9:>8.1f}")
    return "\n".join(lines)


def _gather() -> _Totals:
    if not _native.recording():
        return _in_memory()
    _native.flush()
    file = str(_native.health()["file"])
    if not file:
        return _in_memory()
    identity: dict[str, object] = {
        "run": _native.run_uuid(),
        "process": _native.process_uuid(),
        "since_ns": _session.reset_ns(),
    }
    totals = _Totals()
    try:
        passes: dict[int, str | None] = dict(_rows(Path(file), _PASSES, identity))
        identity["rank"] = _rows(Path(file), _RANK, identity)[0][0]
    except (sqlite3.Error, IndexError):
        return _in_memory()
    trains = "train" in passes.values()

    def counts(number: int | None) -> bool:
        return number is None or not trains or passes.get(number) == "train"

    for path in _run_files(Path(file)):
        try:
            for name, number, calls, total_ns in _rows(path, _STAGES, identity):
                if counts(number):
                    totals.add_stage(name, calls, total_ns)
            for name, number, value in _rows(path, _COUNTERS, identity):
                if counts(number):
                    totals.add_counter(name, value)
        except sqlite3.Error:  # no database, or busy: what can be read is shown
            continue
    return totals


def _in_memory() -> _Totals:
    """What this process alone knows; where nothing can be written."""
    totals = _Totals()
    for name, calls, total_ns in _native.totals():
        totals.add_stage(name, calls, total_ns)
    for name, value in _native.counter_totals():
        totals.add_counter(name, value)
    return totals


def _run_files(own: Path) -> Iterator[Path]:
    yield own
    folder = Path(os.environ.get(_startup.DATABASE, "") + ".d")
    if folder.is_dir():
        yield from (path for path in sorted(folder.glob("*.db")) if path != own)


def _rows(path: Path, query: str, values: dict[str, object]) -> list[Any]:
    connection = sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)
    try:
        return connection.execute(query, values).fetchall()
    finally:
        connection.close()
