"""How long `mt-analyze` takes for a long run, and in how much memory.

usage: python benchmarks/python/report_bench.py [--long] [--intervals N]

The run is of made_run.py: 9 processes, 8 of them workers, each with its own file. The
rivals do less: they read the same files and group all intervals by stage, for calls,
sum and median of each, without a report; SQLite's row is what reading the columns that
a report needs costs at least, in one thread. Every time is of a fresh process from its
start to its end.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from comparison import MIN_ROUNDS, estimate, parser, print_table, ratio, run_rounds, say
from made_run import MAIN_INTERVALS, WORKER_INTERVALS, make_run

INTERVALS = 12_000_000

REPORT = "mt-analyze report"
WHATIF = "mt-analyze whatif, 5 settings"
EXPORT = "mt-analyze export, to nowhere"
SQLITE = "SQLite, reading the columns alone"
PANDAS = "pandas, group by stage"
DUCKDB = "DuckDB, group by stage"

_SQLITE = """
import sqlite3, sys
columns = "track_id stage_id start_ns dur_ns depth step iterator_id batch cpu_ns"
total = " + ".join(f"ifnull({column}, 0)" for column in columns.split())
for file in sys.argv[1:]:
    query = f"SELECT count(*) FROM interval WHERE {total} > 0"
    sqlite3.connect(file).execute(query).fetchall()
"""
_PANDAS = """
import sqlite3, sys
import pandas
query = "SELECT name, dur_ns FROM interval JOIN stage ON stage.id = stage_id"
frames = [pandas.read_sql_query(query, sqlite3.connect(file)) for file in sys.argv[1:]]
stages = pandas.concat(frames).groupby("name").dur_ns
print(stages.agg(["count", "sum", "median"]).to_string())
"""
_DUCKDB = """
import pathlib, sys
import duckdb, duckdb_extension_sqlite_scanner as scanner
folder = pathlib.Path(scanner.__file__).parent
connection = duckdb.connect()
connection.execute(f"LOAD '{next(folder.rglob('*.duckdb_extension'))}'")
parts = []
for i, file in enumerate(sys.argv[1:]):
    connection.execute(f"ATTACH '{file}' AS file{i} (TYPE sqlite, READ_ONLY)")
    parts.append(f"SELECT name, dur_ns FROM file{i}.interval"
                 f" JOIN file{i}.stage ON stage.id = stage_id")
print(connection.sql("SELECT name, count(*), sum(dur_ns), median(dur_ns) FROM ("
                     + " UNION ALL ".join(parts) + ") GROUP BY name"))
"""


@dataclass(frozen=True)
class Cost:
    """Of one process."""

    seconds: float
    cpu_seconds: float
    peak_mb: float  # resident


def cost_of(*command: object) -> Cost:
    """
    Run a program.

    :param command: the program and its arguments.
    """
    before = time.perf_counter()
    process = subprocess.Popen(
        [str(word) for word in command],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        env={k: v for k, v in os.environ.items() if k != "METATRAIN_TIMING_DB"},
    )
    assert process.stderr is not None
    errors = process.stderr.read()
    _, status, usage = os.wait4(process.pid, 0)
    seconds = time.perf_counter() - before
    if status != 0:
        raise RuntimeError(f"{command[0]} failed:\n{errors.decode()}")
    return Cost(seconds, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1000)


def check(mt_analyze: Path, run: Path, steps: int, workers: int) -> None:
    """
    See that the report has every interval: what is fast but wrong is of no use.

    :param mt_analyze: the program.
    :param run: path of the run.
    :param steps: that it has.
    :param workers: that it has.
    """
    out = subprocess.run(
        [mt_analyze, "report", "--format", "json", run], capture_output=True, check=True
    )
    (phase,) = json.loads(out.stdout)["phases"]
    assert phase["steps"] == steps
    assert len(phase["workers"]) == workers
    calls = {row["stage"]: row["calls"] for row in phase["stages"]}
    assert calls["serialize"] == calls["backward"] == steps


def main() -> None:
    """Print the table."""
    arguments = parser(__doc__)
    arguments.add_argument("--intervals", type=int, default=INTERVALS)
    options = arguments.parse_args()
    workers = 8
    steps = options.intervals // (MAIN_INTERVALS + WORKER_INTERVALS)
    mt_analyze = options.build / "analyzer" / "mt-analyze"
    with tempfile.TemporaryDirectory() as folder:
        run = Path(folder) / "run.db"
        intervals = make_run(run, steps, workers)
        files = [run, *sorted(Path(f"{run}.d").glob("*.db"))]
        size_mb = sum(file.stat().st_size for file in files) / 1e6
        check(mt_analyze, run, steps, workers)
        parties: dict[str, Callable[[], Cost]] = {
            REPORT: lambda: cost_of(mt_analyze, "report", run),
            WHATIF: lambda: cost_of(
                mt_analyze, "whatif", run, "--num-workers", "0,1,2,4,8"
            ),
            EXPORT: lambda: cost_of(mt_analyze, "export", run, "-o", "-"),
            SQLITE: lambda: cost_of(sys.executable, "-c", _SQLITE, *files),
            PANDAS: lambda: cost_of(sys.executable, "-c", _PANDAS, *files),
            DUCKDB: lambda: cost_of(sys.executable, "-c", _DUCKDB, *files),
        }
        rounds = 3 * MIN_ROUNDS if options.long else MIN_ROUNDS
        costs = run_rounds(parties, rounds)
    seconds = {name: [cost.seconds for cost in own] for name, own in costs.items()}
    print_table(
        f"A run of {intervals / 1e6:.3g} million intervals in {len(files)} files",
        ("party", "s (95 %)", "of the report", "CPU s", "peak MB"),
        [
            (
                name,
                estimate(seconds[name]).text_with_interval(),
                ratio(seconds[name], seconds[REPORT]).text_with_interval(),
                estimate([cost.cpu_seconds for cost in own]).text(),
                estimate([cost.peak_mb for cost in own]).text(),
            )
            for name, own in costs.items()
        ],
    )
    say(f"{size_mb:.0f} MB of files, read before.")


if __name__ == "__main__":
    main()
