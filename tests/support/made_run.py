"""Recordings made by SQL: one training process, a loop without workers."""

import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
MS = 1_000_000
GAP_MS = 0.001  # so that a stage of no length is no part of the next


@dataclass(frozen=True)
class MadeRun:
    """A run whose step i takes `waits_ms[i]` and then each of `stages_ms[...][i]`."""

    uuid: str
    waits_ms: Sequence[float]
    stages_ms: Mapping[str, Sequence[float]]
    """Of the body, in this order; `backward` or `optimizer` make it a training."""
    environment: Mapping[str, str] = field(default_factory=dict)
    counted: Mapping[str, Sequence[float]] = field(default_factory=dict)
    batch_size: int = 8
    started_unix_ns: int = 1000
    rank: int = 0
    ranks: int = 1

    def write(self, path: Path) -> Path:
        """
        Make the database; gives its path.

        :param path: of a file that does not exist.
        """
        database = sqlite3.connect(path)
        for migration in sorted((ROOT / "schema" / "migrations").glob("*.sql")):
            database.executescript(migration.read_text())
        self._write_process(database)
        stages = ["loader", "step", *self.stages_ms]
        database.executemany("INSERT INTO stage VALUES (?, ?)", enumerate(stages, 1))
        counters = list(self.counted)
        database.executemany(
            "INSERT INTO counter_name VALUES (?, ?)", enumerate(counters, 1)
        )
        at = 0.0
        for step, wait_ms in enumerate(self.waits_ms):
            rows = [("loader", at, at + wait_ms, 0)]
            begin = end = at + wait_ms
            for stage, times_ms in self.stages_ms.items():
                end += GAP_MS
                rows.append((stage, end, end + times_ms[step], 1))
                end += times_ms[step]
            end += GAP_MS
            rows.append(("step", begin, end, 0))
            database.executemany(
                "INSERT INTO interval (track_id, stage_id, start_ns, dur_ns, depth,"
                " step, iterator_id, batch) VALUES (1, ?, ?, ?, ?, ?, 1, ?)",
                [
                    (
                        stages.index(stage) + 1,
                        round(first * MS),
                        round(last * MS) - round(first * MS),
                        depth,
                        step,
                        step,
                    )
                    for stage, first, last, depth in rows
                ],
            )
            database.executemany(
                "INSERT INTO counter (track_id, name_id, at_ns, value, step,"
                " iterator_id, batch) VALUES (1, ?, ?, ?, ?, 1, ?)",
                [
                    (
                        counters.index(name) + 1,
                        round(begin * MS),
                        values[step],
                        step,
                        step,
                    )
                    for name, values in self.counted.items()
                ],
            )
            at = end
        database.commit()
        database.close()
        return path

    def _write_process(self, database: sqlite3.Connection) -> None:
        database.execute(
            "INSERT INTO run VALUES (1, ?, 'job', 1, ?, 't.py', '/', 'host')",
            (self.uuid, self.started_unix_ns),
        )
        database.execute(
            "INSERT INTO process (id, run_id, uuid, role, rank, world_size, pid, host,"
            " boot_id, started_ns)"
            " VALUES (1, 1, ?, 'main', ?, ?, ?, 'host', 'boot', 0)",
            (f"main-{self.rank}", self.rank, self.ranks, 7 + self.rank),
        )
        database.executescript(
            """
            INSERT INTO clock VALUES (1, 1, 0, 1000);
            INSERT INTO track (id, process_id, tid, name)
            VALUES (1, 1, 7, 'MainThread');
            """
        )
        database.execute(
            "INSERT INTO loader (id, process_id, number, name, batch_size)"
            " VALUES (1, 1, 1, 'data', ?)",
            (self.batch_size,),
        )
        database.execute(
            "INSERT INTO iterator (id, loader_id, number, epoch, phase, started_ns,"
            " first_wait_ns, exhausted) VALUES (1, 1, 1, 0, 'train', 0, 0, 1)"
        )
        database.executemany(
            "INSERT INTO environment (process_id, key, value) VALUES (1, ?, ?)",
            self.environment.items(),
        )
