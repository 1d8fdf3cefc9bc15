"""
Many short passes of many workers, on a busy machine, with and without recording.

Prints one line of JSON: what was recorded too little or too often, how often a program
hung, and how the time to stop the workers compares.
"""

import argparse
import json
import os
import sqlite3
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

PROGRAM = """
import sys, time, torch
from torch.utils.data import DataLoader
passes, workers = map(int, sys.argv[1:])
loader = DataLoader(torch.arange(2), num_workers=workers)
for _ in range(passes):
    batches = iter(loader)
    next(batches), next(batches)
    began = time.perf_counter()
    assert next(batches, None) is None
    print(time.perf_counter() - began)
"""
BUSY = "while True: pass"
HANGS_S = 1800


def run(folder: Path, passes: int, workers: int, recorded: bool) -> list[float] | None:
    """
    One program.

    :param folder: where its database lies.
    :param passes: over the loader.
    :param workers: of each pass.
    :param recorded: whether METATRAIN_TIMING_DB is set.
    :return: seconds that it took to stop the workers, for each pass; None: it hung.
    """
    environment = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith("METATRAIN_TIMING")
    }
    environment["OMP_NUM_THREADS"] = "1"
    environment["PYTHONWARNINGS"] = "ignore"  # torch: more workers than CPUs
    if recorded:
        environment["METATRAIN_TIMING_DB"] = str(folder / "run.db")
    try:
        done = subprocess.run(
            [sys.executable, "-c", PROGRAM, str(passes), str(workers)],
            env=environment,
            capture_output=True,
            text=True,
            timeout=HANGS_S,
            check=True,
        )
    except subprocess.TimeoutExpired:
        return None
    assert done.stderr == "", done.stderr
    return [float(line) for line in done.stdout.split()]


def count(folder: Path, query: str) -> int:
    """
    Sum of a number over all databases of a run.

    :param folder: that of run.db.
    :param query: a SELECT of one number.
    """
    total = 0
    for path in [folder / "run.db", *(folder / "run.db.d").glob("*.db")]:
        connection = sqlite3.connect(path)
        total += int(connection.execute(query).fetchone()[0])
        connection.close()
    return total


def main() -> None:
    """Run in turns, compare."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--passes", type=int, default=300)
    parser.add_argument("--workers", type=int, default=8)
    parser.add_argument("--turns", type=int, default=3)
    options = parser.parse_args()
    lives = options.passes * options.workers
    row = {"rounds": 0, "records": 0, "lost": 0, "twice": 0, "unsound": 0, "hung": 0}
    stops: dict[bool, list[float]] = {False: [], True: []}
    busy = subprocess.Popen([sys.executable, "-c", BUSY])
    try:
        for turn in range(2 * options.turns):
            recorded = turn % 4 in {1, 2}  # off on on off off on
            with tempfile.TemporaryDirectory() as name:
                folder = Path(name)
                seconds = run(folder, options.passes, options.workers, recorded)
                if seconds is None:
                    row["hung"] += 1
                    continue
                stops[recorded] += seconds
                if not recorded:
                    continue
                row["rounds"] += lives
                for expected, query in (
                    (2 * options.passes, "stage = 'fetch'"),
                    (lives, "stage = 'worker_start' AND role = 'worker'"),
                ):
                    found = count(
                        folder, f"SELECT count(*) FROM v_interval WHERE {query}"
                    )
                    row["records"] += found
                    row["lost"] += max(0, expected - found)
                    row["twice"] += max(0, found - expected)
                row["unsound"] += count(
                    folder, "SELECT integrity_check <> 'ok' FROM pragma_integrity_check"
                )
    finally:
        busy.kill()
    off, on = (statistics.median(stops[recorded]) for recorded in (False, True))
    note = f"stopping the workers takes {1e3 * on:.1f} ms, {1e3 * off:.1f} without"
    name = f"{options.passes} passes of {options.workers} workers, busy machine"
    print(json.dumps({"name": name, **row, "note": note}))


if __name__ == "__main__":
    main()
