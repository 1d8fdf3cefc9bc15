"""Runs a program with recording on, and reads all files that it left as one."""

import os
import sqlite3
import subprocess
import sys
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

WORKLOADS = Path(__file__).parents[1] / "workloads"

_INTERVALS = """
SELECT stage.name AS stage, process.uuid AS process, run.uuid AS run, process.role,
       process.rank, process.worker_id AS worker, track.tid, track.name AS track,
       interval.start_ns, interval.dur_ns, interval.depth, interval.step,
       iterator.number AS iterator, loader.number AS loader, interval.batch,
       interval.cpu_ns
FROM interval
JOIN stage ON stage.id = interval.stage_id
JOIN track ON track.id = interval.track_id
JOIN process ON process.id = track.process_id
JOIN run ON run.id = process.run_id
LEFT JOIN iterator ON iterator.id = interval.iterator_id
LEFT JOIN loader ON loader.id = iterator.loader_id
"""

_ITERATORS = """
SELECT iterator.number, loader.number AS loader, iterator.epoch, iterator.phase,
       iterator.first_wait_ns, iterator.ended_ns, iterator.exhausted, process.role,
       process.rank, process.uuid AS process, run.uuid AS run
FROM iterator
JOIN loader ON loader.id = iterator.loader_id
JOIN process ON process.id = loader.process_id
JOIN run ON run.id = process.run_id
"""

_PROCESSES = (
    "SELECT process.*, run.uuid AS run FROM process JOIN run ON run.id = run_id"
)
_LOADERS = (
    "SELECT loader.*, process.role FROM loader JOIN process ON process.id = process_id"
)
_OPEN = """
SELECT stage.name AS stage, open_interval.*
FROM open_interval JOIN stage ON stage.id = stage_id
"""
_COUNTERS = """
SELECT counter_name.name, counter.value, iterator.number AS iterator
FROM counter
JOIN counter_name ON counter_name.id = counter.name_id
LEFT JOIN iterator ON iterator.id = counter.iterator_id
"""


class Row(dict[str, Any]):
    """A row whose columns are attributes."""

    def __getattr__(self, name: str) -> Any:
        try:
            return self[name]
        except KeyError:
            raise AttributeError(name) from None

    @property
    def end_ns(self) -> int:
        """Where an interval ends."""
        return int(self.start_ns + self.dur_ns)


@dataclass
class Recording:
    """What the files of one path hold, workers and ranks together."""

    files: list[Path]
    intervals: list[Row] = field(default_factory=list)
    iterators: list[Row] = field(default_factory=list)
    processes: list[Row] = field(default_factory=list)
    loaders: list[Row] = field(default_factory=list)
    open_intervals: list[Row] = field(default_factory=list)
    counters: list[Row] = field(default_factory=list)
    runs: list[Row] = field(default_factory=list)
    facts: dict[str, str] = field(default_factory=dict)
    problems: list[Row] = field(default_factory=list)

    def __post_init__(self) -> None:
        for file in self.files:
            self._read(file)
        phases = {
            (row.run, row.rank, row.number): row.phase
            for row in self.iterators
            if row.role != "worker"
        }
        for interval in self.intervals:
            key = (interval.run, interval.rank, interval.iterator)
            interval["phase"] = phases.get(key)

    def of(self, stage: str, **wanted: Any) -> list[Row]:
        """
        Intervals of a stage, in order of their begin.

        :param stage: name of the stage.
        :param wanted: columns and the values they must have.
        """
        found = [
            row
            for row in self.intervals
            if row.stage == stage
            and all(row[column] == value for column, value in wanted.items())
        ]
        return sorted(found, key=lambda row: row.start_ns)

    def count(self, stage: str, **wanted: Any) -> int:
        """
        Number of intervals of a stage.

        :param stage: name of the stage.
        :param wanted: columns and the values they must have.
        """
        return len(self.of(stage, **wanted))

    def stages(self, **wanted: Any) -> Counter[str]:
        """
        Stages and how often they occur.

        :param wanted: columns and the values they must have.
        """
        return Counter(
            row.stage
            for row in self.intervals
            if all(row[column] == value for column, value in wanted.items())
        )

    def parent(self, interval: Row) -> Row | None:
        """
        The interval that encloses another on its track.

        :param interval: the inner one.
        """
        around = [
            row
            for row in self.intervals
            if row.process == interval.process
            and row.tid == interval.tid
            and row.depth == interval.depth - 1
            and row.start_ns <= interval.start_ns
            and row.end_ns >= interval.end_ns
        ]
        return around[0] if around else None

    def _read(self, file: Path) -> None:
        # As people open it: what a process that was killed in the middle of a
        # transaction left in its journal is rolled back, which reading alone cannot.
        connection = sqlite3.connect(file)
        connection.row_factory = sqlite3.Row
        try:
            assert connection.execute("PRAGMA integrity_check").fetchone()[0] == "ok"

            def rows(query: str) -> list[Row]:
                found = connection.execute(query).fetchall()
                return [Row(dict(row), file=file) for row in found]

            self.intervals += rows(_INTERVALS)
            self.iterators += rows(_ITERATORS)
            self.processes += rows(_PROCESSES)
            self.loaders += rows(_LOADERS)
            self.open_intervals += rows(_OPEN)
            self.counters += rows(_COUNTERS)
            self.problems += rows("SELECT * FROM health")
            self.runs += rows("SELECT * FROM run")
            self.facts |= {r.key: r.value for r in rows("SELECT * FROM environment")}
        finally:
            connection.close()


@dataclass
class Outcome:
    """A program that ended."""

    folder: Path
    code: int
    out: str
    err: str
    database: Path

    @property
    def files(self) -> list[Path]:
        """All databases of the run."""
        folder = Path(f"{self.database}.d")
        own = [self.database] if self.database.exists() else []
        return own + sorted(folder.glob("*.db"))

    @property
    def recording(self) -> Recording:
        """What it recorded."""
        return Recording(self.files)

    @property
    def warnings(self) -> list[str]:
        """Lines on stderr that are ours."""
        return [line for line in self.err.splitlines() if "metatrain-timing" in line]


def run_recorded(
    folder: Path,
    *command: Any,
    database: str | None = "run.db",
    environment: dict[str, str] | None = None,
    timeout_s: float = 300,
    check: bool = True,
) -> Outcome:
    """
    Run a Python program to its end.

    :param folder: working folder.
    :param command: script and arguments; the name of a workload is enough.
    :param database: METATRAIN_TIMING_DB; None: not set.
    :param environment: further variables.
    :param timeout_s: when to give up.
    :param check: whether the program must succeed.
    """
    arguments = [str(part) for part in command]
    if (WORKLOADS / arguments[0]).is_file():
        arguments[0] = str(WORKLOADS / arguments[0])
    done = subprocess.run(
        [sys.executable, *arguments],
        cwd=folder,
        env=environment_for(database, environment),
        capture_output=True,
        text=True,
        timeout=timeout_s,
        check=False,
    )
    if check:
        assert done.returncode == 0, done.stdout + done.stderr
    return Outcome(
        folder, done.returncode, done.stdout, done.stderr, folder / (database or "none")
    )


def environment_for(
    database: str | None, more: dict[str, str] | None = None
) -> dict[str, str]:
    """
    The environment of a program to record, without what this process may have.

    :param database: METATRAIN_TIMING_DB; None: not set.
    :param more: further variables.
    """
    environment = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith("METATRAIN_TIMING")
    }
    environment["OMP_NUM_THREADS"] = "1"
    if database is not None:
        environment["METATRAIN_TIMING_DB"] = database
    return environment | (more or {})
