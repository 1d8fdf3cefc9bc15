"""How fast intervals get from rings into SQLite, beside other ways to fill its table.

usage: python benchmarks/python/drain_bench.py [--long] [--build FOLDER]

The rivals write the same rows into the same table under the same pragmas, by Python's
`executemany` from a list in memory, and by SQLite's own INSERT ... SELECT from another
database. All times are until the file is closed and journal mode DELETE again.
"""

import argparse
import contextlib
import json
import sqlite3
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

ROWS = 2_000_000
ROWS_PER_TRANSACTION = 20_000
SECONDS = 5
LONG_SECONDS = 60
PACED_RATE = 1_000_000
USUAL_RATE = 10_000
USUAL_SECONDS = 10

ONE = "rings to SQLite, 1 thread"
FOUR = "rings to SQLite, 4 threads"
EXECUTEMANY = "Python executemany"
SELECT = "INSERT ... SELECT"

COLUMNS = (
    "track_id, stage_id, start_ns, dur_ns, depth, step, iterator_id, batch, cpu_ns"
)
INSERT = f"INSERT INTO interval ({COLUMNS})"

Found = dict[str, Any]


def open_like(source: Path, target: Path) -> sqlite3.Connection:
    """
    A new database with the tables and pragmas of a recorded one.

    :param source: the recorded one; attached as `source`.
    :param target: the new one.
    """
    database = sqlite3.connect(target, isolation_level=None)
    database.execute("ATTACH ? AS source", [f"{source}"])
    page_size = database.execute("PRAGMA source.page_size").fetchone()[0]
    database.execute(f"PRAGMA page_size = {page_size}")
    tables = database.execute(
        "SELECT sql FROM source.sqlite_schema WHERE type = 'table' AND sql IS NOT NULL"
    ).fetchall()
    database.execute("PRAGMA journal_mode = WAL")
    database.execute("PRAGMA synchronous = NORMAL")
    for (sql,) in tables:
        database.execute(sql)
    return database


def write_by_executemany(database: sqlite3.Connection) -> float:
    """
    Seconds that inserting all rows takes; the list of them is there before.

    :param database: from `open_like`.
    """
    rows = database.execute(f"SELECT {COLUMNS} FROM source.interval").fetchall()
    statement = f"{INSERT} VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)"
    start = time.perf_counter()
    for first in range(0, len(rows), ROWS_PER_TRANSACTION):
        database.execute("BEGIN")
        database.executemany(statement, rows[first : first + ROWS_PER_TRANSACTION])
        database.execute("COMMIT")
    return time.perf_counter() - start


def write_by_select(database: sqlite3.Connection) -> float:
    """
    Seconds that copying all rows takes.

    :param database: from `open_like`.
    """
    last = database.execute("SELECT max(id) FROM source.interval").fetchone()[0]
    start = time.perf_counter()
    for first in range(0, last, ROWS_PER_TRANSACTION):
        database.execute(
            f"{INSERT} SELECT {COLUMNS} FROM source.interval WHERE id > ? AND id <= ?",
            [first, first + ROWS_PER_TRANSACTION],
        )
    return time.perf_counter() - start


def write(way: str, source: Path, target: Path) -> Found:
    """
    Fill a new database from a recorded one, in this process.

    :param way: EXECUTEMANY or SELECT.
    :param source: the recorded one.
    :param target: the new one.
    """
    writers = {EXECUTEMANY: write_by_executemany, SELECT: write_by_select}
    database = open_like(source, target)
    seconds = writers[way](database)
    rows = database.execute("SELECT count(*) FROM interval").fetchone()[0]
    start = time.perf_counter()
    database.execute("DETACH source")
    database.execute("PRAGMA journal_mode = DELETE")
    database.close()
    seconds += time.perf_counter() - start
    return {"rows": rows, "closed_s": seconds, "bytes": target.stat().st_size}


def record(program: Path, database: Path, *options: object) -> Found:
    """
    What the C++ program finds; its rows are counted in the file too.

    :param program: drain_bench of the build folder.
    :param database: a new file.
    :param options: of the program.
    """
    from comparison import output_of

    found: Found = json.loads(output_of(program, database, *options))
    with contextlib.closing(sqlite3.connect(database)) as file:
        rows = file.execute("SELECT count(*) FROM interval").fetchone()[0]
    if rows != found["rows"]:
        raise RuntimeError(f"{found['rows']} rows were written, {rows} are there")
    return found


def new_file_for(run: Any) -> Found:
    """
    Run something that writes a database, and remove that.

    :param run: gets the path.
    """
    with tempfile.TemporaryDirectory() as folder:
        found: Found = run(Path(folder) / "run.db")
        return found


def write_in_a_process(way: str, source: Path) -> Found:
    """
    `write` in a new process.

    :param way: EXECUTEMANY or SELECT.
    :param source: the recorded database.
    """
    from comparison import output_of

    def run(target: Path) -> Found:
        command = (sys.executable, __file__, "--write", way)
        found: Found = json.loads(output_of(*command, "--from", source, "--to", target))
        return found

    return new_file_for(run)


def total(runs: list[Found], key: str) -> float:
    """
    The sum over runs.

    :param runs: what they found.
    :param key: of what; a rival drops nothing.
    """
    return sum(float(run.get(key, 0)) for run in runs)


def make_source(program: Path, path: Path) -> None:
    """
    Record the rows that the rivals write.

    :param program: drain_bench.
    :param path: of the new database.
    """
    # Half of them a second are few for any machine: none is dropped.
    record(program, path, "--rate", ROWS / 8, "--seconds", 8)


def compare_rates(program: Path, rounds: int) -> None:
    """
    Print the table of rows per second.

    :param program: drain_bench.
    :param rounds: how many.
    """
    from comparison import estimate, print_table, ratio, run_rounds

    def recorded(threads: int) -> Found:
        options = ("--threads", threads, "--seconds", SECONDS)
        return new_file_for(lambda path: record(program, path, *options))

    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "source.db"
        make_source(program, source)
        found = run_rounds(
            {
                ONE: lambda: recorded(1),
                FOUR: lambda: recorded(4),
                EXECUTEMANY: lambda: write_in_a_process(EXECUTEMANY, source),
                SELECT: lambda: write_in_a_process(SELECT, source),
            },
            rounds,
        )
    rates = {
        party: [run["rows"] / run["closed_s"] / 1e6 for run in runs]
        for party, runs in found.items()
    }
    print_table(
        f"Rows into SQLite, in million a second ({SECONDS} s, {ROWS / 1e6:g} M rows)",
        ["party", "median (95 %)", "of executemany (95 %)", "of INSERT ... SELECT",
         "dropped", "bytes a row"],
        [
            [
                party,
                estimate(rates[party]).text_with_interval(),
                ratio(rates[party], rates[EXECUTEMANY]).text_with_interval(),
                ratio(rates[party], rates[SELECT]).text(),
                f"{total(runs, 'dropped'):,.0f}",
                f"{total(runs, 'bytes') / total(runs, 'rows'):.1f}",
            ]
            for party, runs in found.items()
        ],
    )  # fmt: skip


def show_long_stretches(program: Path, seconds: int) -> None:
    """
    Print the table of single runs: what is sustained, and what the drain thread takes.

    :param program: drain_bench.
    :param seconds: length of the runs at high rates.
    """
    from comparison import print_table, progress

    runs = {
        "4 threads, as fast as they can": ("--threads", 4, "--seconds", seconds),
        "4 threads, 1,000,000 a second": (
            "--threads", 4, "--seconds", seconds, "--rate", PACED_RATE),
        "1 thread, 10,000 a second": (
            "--threads", 1, "--seconds", USUAL_SECONDS, "--rate", USUAL_RATE),
    }  # fmt: skip
    rows = []
    for name, options in runs.items():
        progress(name)
        found = new_file_for(
            lambda path, options=options: record(program, path, *options)
        )
        rows.append(
            [
                name,
                f"{found['recording_s']:.1f}",
                f"{found['rows'] / found['recording_s']:,.0f}",
                f"{found['dropped']:,}",
                f"{found['drain_cpu_s'] / found['recording_s']:.2%}",
                f"{found['process_cpu_s'] / found['recording_s']:.2%}",
                f"{found['bytes'] / found['rows']:.1f}",
            ]
        )
    print_table(
        "Recording for longer (single runs)",
        ["producers", "s", "rows a second", "dropped", "drain thread, of a core",
         "process", "bytes a row"],
        rows,
    )  # fmt: skip


def main() -> None:
    """Print the tables, or write as a rival."""
    from comparison import parser, progress

    arguments = parser(__doc__)
    arguments.add_argument("--write", choices=(EXECUTEMANY, SELECT))
    arguments.add_argument("--from", dest="source", type=Path, help=argparse.SUPPRESS)
    arguments.add_argument("--to", type=Path, help=argparse.SUPPRESS)
    options = arguments.parse_args()
    if options.write:
        json.dump(write(options.write, options.source, options.to), sys.stdout)
        return
    program = options.build / "benchmarks" / "drain_bench"
    progress("rings to SQLite")
    compare_rates(program, 11 if options.long else 6)
    show_long_stretches(program, LONG_SECONDS if options.long else SECONDS)


if __name__ == "__main__":
    main()
