"""
A run many times as large as its limit: how large its files are, and what is exact.

Prints one line of JSON: intervals that the report counts too few or too many of, as the
process itself counted them, and totals that differ by a nanosecond or more.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

PROGRAM = Path(__file__).parents[1] / "python" / "workloads" / "turns.py"
STAGES_OF_A_TURN = 5


def record(database: Path, turns: int, limit_mb: int) -> dict[str, list[int]]:
    """
    Record the run.

    :param database: where.
    :param turns: of its loop.
    :param limit_mb: METATRAIN_TIMING_MAX_SIZE.
    :return: calls and nanoseconds of each stage, as the process counted them.
    """
    environment = os.environ | {
        "METATRAIN_TIMING_DB": str(database),
        "METATRAIN_TIMING_MAX_SIZE": f"{limit_mb}MB",
    }
    done = subprocess.run(
        [sys.executable, str(PROGRAM), str(turns)],
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    if done.stderr:
        raise RuntimeError(done.stderr)
    return dict(json.loads(done.stdout)["stages"])


def read(database: Path) -> tuple[dict[str, Any], float]:
    """
    The training phase as `mt-analyze report` shows it.

    :param database: the run.
    :return: the phase, and the seconds it took.
    """
    began = time.perf_counter()
    done = subprocess.run(
        ["mt-analyze", "report", str(database), "--format", "json"],
        capture_output=True,
        text=True,
        check=True,
    )
    (phase,) = json.loads(done.stdout)["phases"]
    return phase, time.perf_counter() - began


def main() -> None:
    """Entry point."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--turns", type=int, default=4_000_000)
    parser.add_argument("--limit-mb", type=int, default=100)
    arguments = parser.parse_args()

    with tempfile.TemporaryDirectory() as folder:
        database = Path(folder) / "run.db"
        counted = record(database, arguments.turns, arguments.limit_mb)
        megabytes = database.stat().st_size / 1e6
        phase, seconds = read(database)
    rows = {row["stage"]: row for row in phase["stages"] if row["calls"] > 0}
    missing = {
        stage: calls - rows[stage]["calls"] for stage, (calls, _) in counted.items()
    }
    wrong = [
        stage
        for stage, (_, total_ns) in counted.items()
        if abs(rows[stage]["total_s"] * 1e9 - total_ns) > 1
    ]
    records = sum(calls for calls, _ in counted.values())
    too_large = megabytes > 1.1 * arguments.limit_mb
    result = {
        "name": "A run beyond its size limit",
        "rounds": 1,
        "records": records,
        "lost": sum(max(0, calls) for calls in missing.values()),
        "twice": sum(max(0, -calls) for calls in missing.values()),
        "unsound": len(wrong) + int(phase["steps"] != arguments.turns),
        "failed": too_large or records != STAGES_OF_A_TURN * arguments.turns,
        "note": f"{megabytes:.0f} MB at a limit of {arguments.limit_mb}, report in "
        f"{seconds:.1f} s, {phase['micro_steps'] - phase['summed_turns']} turns on "
        f"record one by one",
    }
    print(json.dumps(result))
    sys.exit(bool(result["failed"]))


if __name__ == "__main__":
    main()
