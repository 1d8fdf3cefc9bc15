"""A long recorded run, made by SQL instead of training: one file for each process.

Each step has 12 intervals in the training process and 8 in the worker that made its
batch; steps take 2 ms, fetches 14 ms. Batches come just in time: a step waits 0.1 ms.
"""

import sqlite3
from pathlib import Path

PROJECT = Path(__file__).resolve().parents[2]
MAIN_INTERVALS, WORKER_INTERVALS = 12, 8  # of each step
STEP_NS = 2_000_000
STEPS_PER_EPOCH = 10_000

# name, begin after that of the turn, duration, depth; in the order of their ends
_MAIN = (
    ("sampler", 6_000, 4_000, 2),
    ("put_index", 5_000, 20_000, 1),
    ("receive", 30_000, 60_000, 1),
    ("loader", 0, 100_000, 0),
    ("unpack", 110_000, 50_000, 1),
    ("h2d", 165_000, 30_000, 1),
    ("zero_grad", 196_000, 3_000, 1),
    ("forward", 200_000, 500_000, 1),
    ("loss", 705_000, 50_000, 1),
    ("backward", 760_000, 800_000, 1),
    ("optimizer", 1_570_000, 300_000, 1),
    ("step", 105_000, 1_890_000, 0),
)
# The same of a worker: its main thread, and its queue's thread.
_WORKER = (
    ("worker_idle", -15_970_000, 1_980_000, 0),
    ("dataset", -13_970_000, 8_000_000, 1),
    ("group_and_join", -5_960_000, 1_000_000, 2),
    ("transforms", -4_950_000, 2_000_000, 2),
    ("serialize", -2_900_000, 2_500_000, 2),
    ("collate", -5_970_000, 5_900_000, 1),
    ("fetch", -13_980_000, 14_000_000, 0),
)
_SENDER = (("send", 22_000, 6_000, 0),)

_INTERVALS = """
WITH RECURSIVE steps (n) AS (
    SELECT :first UNION ALL SELECT n + :every FROM steps WHERE n + :every < :steps
)
INSERT INTO interval (track_id, stage_id, start_ns, dur_ns, depth, step, iterator_id,
                      batch, cpu_ns)
SELECT :track, stage.id, n * :step_ns + start_ns + n * 7919 % 997, dur_ns, depth,
       iif(:is_main, n, NULL), n / :per_epoch + 1,
       n % :per_epoch + iif(kind.name IN ('put_index', 'sampler'), :ahead, 0),
       iif(:is_main, NULL, dur_ns * 9 / 10)
FROM steps CROSS JOIN kind CROSS JOIN stage USING (name)  -- rows in this order
WHERE kind.track = :track
"""


def make_run(path: Path, steps: int, workers: int = 8) -> int:
    """
    Make the files of a run.

    :param path: of the training process's file; the workers' are in `PATH.d`.
    :param steps: of the training, in epochs of 10,000 with workers that persist.
    :param workers: how many.
    :return: intervals in all files.
    """
    _make_file(path, steps, None, workers)
    folder = Path(f"{path}.d")
    folder.mkdir()
    for worker in range(workers):
        _make_file(folder / f"rank0-w{worker:02}.db", steps, worker, workers)
    return steps * (MAIN_INTERVALS + WORKER_INTERVALS)


def _make_file(path: Path, steps: int, worker: int | None, workers: int) -> None:
    database = sqlite3.connect(path)
    database.execute("PRAGMA synchronous = OFF")
    database.execute("PRAGMA automatic_index = OFF")  # it would order the rows
    for migration in sorted((PROJECT / "schema" / "migrations").glob("*.sql")):
        database.executescript(migration.read_text())
    for view in (PROJECT / "schema" / "views.txt").read_text().split():
        database.executescript(
            (PROJECT / "schema" / "views" / f"{view}.sql").read_text()
        )
    _add_process(database, steps, worker, workers)
    database.execute("CREATE TEMP TABLE kind (track, name, start_ns, dur_ns, depth)")
    tracks = [_MAIN] if worker is None else [_WORKER, _SENDER]
    for track, rows in enumerate(tracks, start=1):
        name = "MainThread" if track == 1 else "QueueFeederThread"
        database.execute(
            "INSERT INTO track (id, process_id, tid, name) VALUES (?, 1, ?, ?)",
            (track, track, name),
        )
        database.executemany(
            "INSERT INTO kind VALUES (?, ?, ?, ?, ?)", [(track, *row) for row in rows]
        )
        database.executemany(
            "INSERT INTO stage (name) VALUES (?)", [(row[0],) for row in rows]
        )
        database.execute(
            _INTERVALS,
            {
                "track": track,
                "first": worker or 0,
                "every": workers if worker is not None else 1,
                "steps": steps,
                "step_ns": STEP_NS,
                "per_epoch": STEPS_PER_EPOCH,
                "is_main": worker is None,
                "ahead": 2 * workers,
            },
        )
    database.commit()
    database.close()


def _add_process(
    database: sqlite3.Connection, steps: int, worker: int | None, workers: int
) -> None:
    ended_ns = steps * STEP_NS
    database.execute(
        "INSERT INTO run VALUES (1, 'run', 'job', 1, 0, 'train', '/', 'host')"
    )
    database.execute(
        "INSERT INTO process VALUES (1, 1, ?, ?, ?, 0, 1, ?, NULL, ?, 'fork', 'host',"
        " 'boot', -20000000, ?, 'clean', 0, 0)",
        ("main", None, "main", None, 1, ended_ns)
        if worker is None
        else (f"worker {worker}", "main", "worker", worker, worker + 2, ended_ns),
    )
    database.execute(
        "INSERT INTO loader VALUES (1, 1, 1, 'train.py:1', 'train.py:1', 'Data', ?, 8,"
        " 2, 1, 0, 1, 'fork', 'RandomSampler')",
        (workers,),
    )
    if worker is not None:
        database.execute("UPDATE process SET loader_id = 1")
    epochs = range(-(-steps // STEPS_PER_EPOCH))
    database.executemany(
        "INSERT INTO iterator VALUES (?, 1, ?, ?, 'train', ?, ?, ?, 1)",
        [
            (
                epoch + 1,
                epoch + 1,
                epoch,
                epoch * STEPS_PER_EPOCH * STEP_NS,
                epoch * STEPS_PER_EPOCH * STEP_NS if worker is None else None,
                (epoch + 1) * STEPS_PER_EPOCH * STEP_NS if worker is None else None,
            )
            for epoch in epochs
        ],
    )
