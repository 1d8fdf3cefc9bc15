"""What a `timed` block costs, beside what else a program could use.

usage: python benchmarks/python/timed_bench.py [--long]

Each party runs in processes of its own: whether recording is on is fixed when one
starts, and no tool shall be in another's way. Blocks are timed by the few thousand and
everything is drained in between, untimed: what is measured is recording, not dropping.
The empty loop around the block is taken off.
"""

import argparse
import contextlib
import json
import os
import statistics
import sys
import tempfile
import time
import timeit
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

BLOCKS = 2000  # a ring holds 8,192 records; the drain is called at half of it
REPEATS = 60
SETTLING_S = 0.3  # caches are warm then, and the drain thread has seen the clocks

ON = "timed, on"
OFF = "timed, off"
ON_KEPT = "timed, on, object kept"
NULLCONTEXT = "nullcontext"
RIVALS = (
    NULLCONTEXT,
    "pure-Python timer class",
    "contextlib generator timer",
    "nvtx.annotate",
    "VizTracer log_event",
    "torch record_function",
    "torch record_function, profiler on",
    "OpenTelemetry span",
)
PARTIES = (ON, ON_KEPT, OFF, *RIVALS)
# What each party is compared by.
CONTEXT = "with make('stage'): pass"
KEPT = "with make: pass"

Make = Callable[[str], Any]


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


@contextlib.contextmanager
def generator_timer(stage: str) -> Iterator[None]:
    """
    The shortest timer to write in Python.

    :param stage: its name.
    """
    start = time.perf_counter()
    try:
        yield
    finally:
        elapsed = time.perf_counter() - start
        PurePythonTimer.totals[stage] = PurePythonTimer.totals.get(stage, 0.0) + elapsed


@contextlib.contextmanager
def viztracer() -> Iterator[Make]:
    """VizTracer, told to trace nothing but the events it is given."""
    from viztracer import VizTracer

    tracer = VizTracer(log_sparse=True, verbose=0)
    tracer.start()
    yield tracer.log_event
    tracer.stop()


@contextlib.contextmanager
def torch_profiler() -> Iterator[Make]:
    """A record_function that somebody records."""
    from torch.profiler import ProfilerActivity, profile, record_function

    with profile(activities=[ProfilerActivity.CPU]):
        yield record_function


@contextlib.contextmanager
def party_maker(party: str) -> Iterator[Make]:
    """
    What makes the context managers of a party, ready to use.

    :param party: its name.
    """
    if party in (ON, OFF):
        from metatrain_timing import timed

        yield timed
    elif party == ON_KEPT:
        from metatrain_timing import timed

        yield timed("stage")
    elif party == NULLCONTEXT:
        yield contextlib.nullcontext
    elif party == "pure-Python timer class":
        yield PurePythonTimer
    elif party == "contextlib generator timer":
        yield generator_timer
    elif party == "nvtx.annotate":
        import nvtx

        yield nvtx.annotate
    elif party == "VizTracer log_event":
        with viztracer() as make:
            yield make
    elif party == "torch record_function":
        from torch.profiler import record_function

        yield record_function
    elif party == "torch record_function, profiler on":
        with torch_profiler() as make:
            yield make
    elif party == "OpenTelemetry span":
        from opentelemetry.sdk.trace import TracerProvider

        yield TracerProvider().get_tracer("bench").start_as_current_span
    else:
        raise ValueError(party)


def median_ns(statement: str, make: object, between: Callable[[], None]) -> float:
    """
    Nanoseconds of one statement, the loop around it included.

    :param statement: what is timed.
    :param make: what the statement calls by this name.
    :param between: called before each repeat, untimed.
    """
    names = {"make": make, "between": between}
    timer = timeit.Timer(statement, setup="between()", globals=names)
    start = time.perf_counter()
    while time.perf_counter() - start < SETTLING_S:
        timer.timeit(BLOCKS)
    return statistics.median(timer.repeat(REPEATS, BLOCKS)) / BLOCKS * 1e9


def measure(party: str) -> float:
    """
    Nanoseconds of a block, in this process.

    :param party: whose.
    """
    import metatrain_timing

    recording = party in (ON, ON_KEPT)
    between = metatrain_timing.flush if recording else (lambda: None)
    with party_maker(party) as make:
        statement = KEPT if party == ON_KEPT else CONTEXT
        block = median_ns(statement, make, between)
    if metatrain_timing.health()["dropped_count"] != 0:
        raise RuntimeError("records were dropped: nothing is measured")
    if recording != (metatrain_timing.health()["recorded_count"] > 0):
        raise RuntimeError(f"{party}: recording is not as it should be")
    return block - median_ns("pass", None, lambda: None)


def measure_in_a_process(party: str) -> float:
    """
    The same in a new process.

    :param party: whose.
    """
    from comparison import output_of

    with tempfile.TemporaryDirectory() as folder:
        database = os.path.join(folder, "run.db") if party in (ON, ON_KEPT) else ""
        found = output_of(
            sys.executable, __file__, "--measure", party, database=database
        )
    return float(json.loads(found))


def compare(rounds: int) -> None:
    """
    Print the table.

    :param rounds: how many.
    """
    from comparison import estimate, print_table, progress, ratio, run_rounds

    progress("Python blocks")
    found = run_rounds(
        {party: partial(measure_in_a_process, party) for party in PARTIES},
        rounds,
    )
    print_table(
        "Python: one `with` block, in ns",
        ["party", "median (95 %)", "of nullcontext", f"{ON} / it (95 %)"],
        [
            [
                party,
                estimate(values).text_with_interval(),
                ratio(values, found[NULLCONTEXT]).text(),
                ratio(found[ON], values).text_with_interval(),
            ]
            for party, values in found.items()
        ],
    )


def main() -> None:
    """Print the table, or measure one party."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--long", action="store_true", help="more rounds")
    parser.add_argument("--measure", choices=PARTIES, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.measure:
        json.dump(measure(options.measure), sys.stdout)
    else:
        compare(25 if options.long else 9)


if __name__ == "__main__":
    main()
