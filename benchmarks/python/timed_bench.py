"""What a `timed` block costs, beside what else a program could use.

usage: python benchmarks/python/timed_bench.py

Runs itself once for each state of recording, since that is fixed when a process starts.
Numbers are the best of several repeats: the machine's noise only ever adds.
"""

import contextlib
import json
import os
import subprocess
import sys
import tempfile
import time
import timeit
from collections.abc import Callable
from typing import Any

BLOCKS = 100_000
REPEATS = 7


class PurePythonTimer:
    """The least that a timer written in Python does."""

    totals: dict[str, float] = {}  # noqa: RUF012

    def __init__(self, stage: str) -> None:
        self.stage = stage

    def __enter__(self) -> None:
        self.start = time.perf_counter()

    def __exit__(self, *_: object) -> None:
        elapsed = time.perf_counter() - self.start
        self.totals[self.stage] = self.totals.get(self.stage, 0.0) + elapsed


def cost_ns(make: Callable[[str], Any]) -> float:
    """
    Nanoseconds of one `with make("stage"): pass`, the loop around it left out.

    :param make: makes the context manager.
    """
    block = timeit.Timer("with make('stage'): pass", globals={"make": make})
    loop = timeit.Timer("pass")
    best = min(block.repeat(REPEATS, BLOCKS)) - min(loop.repeat(REPEATS, BLOCKS))
    return best / BLOCKS * 1e9


def measure() -> dict[str, float]:
    """All costs in this process."""
    from metatrain_timing import timed

    found = {
        "timed": cost_ns(timed),
        "nullcontext": cost_ns(contextlib.nullcontext),
        "pure-Python timer": cost_ns(PurePythonTimer),
    }
    try:
        from torch.autograd.profiler import record_function
    except ImportError:
        pass
    else:
        found["torch's record_function"] = cost_ns(record_function)
    return found


def measure_in_a_process(database: str) -> dict[str, float]:
    """
    All costs in a new process.

    :param database: where to record to; empty: recording is off.
    """
    environment = {**os.environ, "METATRAIN_TIMING_DB": database}
    done = subprocess.run(
        [sys.executable, __file__, "--measure"],
        env=environment,
        check=True,
        capture_output=True,
        text=True,
    )
    costs: dict[str, float] = json.loads(done.stdout)
    return costs


def main() -> None:
    """Print the table."""
    if "--measure" in sys.argv:
        json.dump(measure(), sys.stdout)
        return
    with tempfile.TemporaryDirectory() as folder:
        on = measure_in_a_process(os.path.join(folder, "run.db"))
    off = measure_in_a_process("")
    rows = [("timed, on", on["timed"]), ("timed, off", off["timed"])]
    rows += [(name, cost) for name, cost in off.items() if name != "timed"]
    print(f"{'block':<26} {'ns':>8} {'of nullcontext':>15}")
    for name, cost in rows:
        print(f"{name:<26} {cost:>8.0f} {cost / off['nullcontext']:>15.2f}")


if __name__ == "__main__":
    main()
