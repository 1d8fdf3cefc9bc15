"""What recording adds to the steps of a whole training, beside traceml-ai.

usage: python benchmarks/python/step_bench.py [--long] [--workers N]

Trains a small model (step_loop.py) in a new process each time: with recording unset,
unset once more (what differs between these two is noise), on, and under traceml-ai.
"""

import contextlib
import json
import os
import socket
import sqlite3
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from comparison import (
    Estimate,
    difference,
    estimate,
    output_of,
    parser,
    print_table,
    progress,
    ratio,
    run_rounds,
    say,
    significant,
)

LOOP = Path(__file__).with_name("step_loop.py")
STEP_S = 2e-3
WARM_UP = 0.1  # of the steps are left out

UNSET = "recording unset"
AGAIN = "unset once more"
ON = "recording on"
TRACEML = "traceml-ai"


@dataclass(frozen=True)
class Steps:
    """The steps of one process, in microseconds, and what it recorded."""

    mean: float
    median: float
    intervals_per_step: float = 0


@dataclass(frozen=True)
class Training:
    """What all processes have in common."""

    steps: int
    workers: int
    products: int

    def arguments(self) -> list[str]:
        """Those of step_loop.py."""
        return [
            "--steps", str(self.steps), "--workers", str(self.workers),
            "--products", str(self.products),
        ]  # fmt: skip


def steps_of(result: Path) -> Steps:
    """
    Read what a training found.

    :param result: the file it wrote.
    """
    times = json.loads(result.read_text())["step_s"]
    times = times[int(len(times) * WARM_UP) :]
    return Steps(statistics.mean(times) * 1e6, statistics.median(times) * 1e6)


def run_loop(
    training: Training,
    result: Path,
    database: Path | str,
    environment: Mapping[str, str] | None = None,
) -> Steps:
    """
    Train in a new process.

    :param training: what.
    :param result: the file that it is to write.
    :param database: METATRAIN_TIMING_DB; empty: recording is off.
    :param environment: further variables.
    """
    output_of(
        sys.executable, LOOP, result, *training.arguments(),
        database=database, environment=environment,
    )  # fmt: skip
    return steps_of(result)


def train(training: Training, recording: bool) -> Steps:
    """
    Train in a new process, and see that it recorded, or did not.

    :param training: what.
    :param recording: whether to record.
    """
    with tempfile.TemporaryDirectory() as folder:
        result, database = Path(folder) / "result.json", Path(folder) / "run.db"
        steps = run_loop(training, result, database if recording else "")
        if recording:
            return Steps(steps.mean, steps.median, intervals(database) / training.steps)
        if database.exists():
            raise RuntimeError("recording was to be off")
        return steps


def intervals(database: Path) -> int:
    """
    Intervals of a run, those of its workers too.

    :param database: of the training process.
    """
    count = 0
    for path in (database, *database.with_name("run.db.d").glob("*.db")):
        with contextlib.closing(sqlite3.connect(path)) as file:
            count += file.execute("SELECT count(*) FROM interval").fetchone()[0]
    return count


def free_port() -> int:
    """A port nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def train_with_traceml(training: Training) -> Steps:
    """
    Train in a new process under traceml-ai, by its command and with its defaults.

    :param training: what.
    """
    with tempfile.TemporaryDirectory() as folder:
        result = Path(folder) / "result.json"
        output_of(
            Path(sys.executable).with_name("traceml"), "run", LOOP,
            "--mode", "summary", "--logs-dir", folder, "--run-name", "bench",
            "--aggregator-port", free_port(),
            "--args", result, "--traceml", *training.arguments(),
            folder=Path(folder),
        )  # fmt: skip
        if not list(Path(folder).glob("bench/**/final_summary.json")):
            raise RuntimeError("traceml-ai wrote no summary: it did not record")
        return steps_of(result)


def why_no_traceml(training: Training) -> str:
    """
    Why traceml-ai cannot take part; empty: it can.

    :param training: a short one.
    """
    try:
        train_with_traceml(training)
    except (OSError, RuntimeError) as error:
        return str(error)
    return ""


def products_for(workers: int) -> int:
    """
    How many products of matrices make a step last 2 ms.

    :param workers: of the loader.
    """
    few, many = 10, 60
    times = [
        train(Training(300, workers, count), recording=False).median / 1e6
        for count in (few, many)
    ]
    each = (times[1] - times[0]) / (many - few)
    return max(1, round(few + (STEP_S - times[0]) / each))


def start_up_ms(recording: bool) -> float:
    """
    Milliseconds of a Python that does nothing, the median of a few.

    :param recording: whether METATRAIN_TIMING_DB is set.
    """
    times = []
    with tempfile.TemporaryDirectory() as folder:
        database = os.path.join(folder, "run.db") if recording else ""
        for _ in range(10):
            start = time.perf_counter()
            output_of(sys.executable, "-c", "pass", database=database)
            times.append(time.perf_counter() - start)
    return statistics.median(times) * 1e3


def print_steps(title: str, times: dict[str, list[float]]) -> None:
    """
    Print the table of one way to look at the steps.

    :param title: above it.
    :param times: microseconds by party, one of each round.
    """

    def row(party: str) -> list[str]:
        added = difference(times[party], times[UNSET])
        share = ratio(times[party], times[UNSET])
        percent = Estimate(*((part - 1) * 100 for part in vars(share).values()))
        return [
            party,
            estimate(times[party]).text_with_interval(4),
            "" if party == UNSET else added.text_with_interval(2),
            "" if party == UNSET else percent.text_with_interval(2),
        ]

    head = ["party", "step, us (95 %)", "added, us (95 %)", "added, % (95 %)"]
    print_table(title, head, map(row, times))


def print_rounds(title: str, rounds: Mapping[str, list[Steps]]) -> None:
    """
    Print the tables of the mean and of the median steps.

    :param title: above the first one.
    :param rounds: what each party found, round by round.
    """
    means = {party: [run.mean for run in runs] for party, runs in rounds.items()}
    medians = {party: [run.median for run in runs] for party, runs in rounds.items()}
    print_steps(f"{title}: mean step of a process", means)
    print_steps("The same: median step of a process", medians)


def main() -> None:
    """Print the tables."""
    arguments = parser(__doc__)
    arguments.add_argument("--workers", type=int, default=2)
    options = arguments.parse_args()
    os.environ["OMP_NUM_THREADS"] = "1"
    progress("whole training")
    products = products_for(options.workers)
    steps = 2000 if options.long else 500
    training = Training(steps, options.workers, products)
    parties: dict[str, Callable[[], Steps]] = {
        UNSET: lambda: train(training, recording=False),
        AGAIN: lambda: train(training, recording=False),
        ON: lambda: train(training, recording=True),
    }
    no_traceml = why_no_traceml(Training(50, options.workers, products))
    if not no_traceml:
        parties[TRACEML] = lambda: train_with_traceml(training)
    rounds = run_rounds(parties, 15 if options.long else 6)
    title = f"Training, {options.workers} workers, {steps} steps"
    print_rounds(title, rounds)
    recorded = statistics.median(run.intervals_per_step for run in rounds[ON])
    say(f"Recorded: {significant(recorded)} intervals a step, workers included.")
    if no_traceml:
        say(f"Without traceml-ai: {no_traceml}")
    else:
        added = [
            (on.mean - unset.mean) / (rival.mean - unset.mean)
            for on, rival, unset in zip(
                rounds[ON], rounds[TRACEML], rounds[UNSET], strict=True
            )
        ]
        text = estimate(added).text_with_interval(2)
        say(f"Added by recording / added by traceml-ai: {text}")

    found = run_rounds(
        {UNSET: lambda: start_up_ms(False), ON: lambda: start_up_ms(True)}, 6
    )
    print_table(
        "python -c pass, in ms",
        ["party", "median (95 %)", "of unset (95 %)"],
        [
            [
                party,
                estimate(values).text_with_interval(),
                ratio(values, found[UNSET]).text_with_interval(),
            ]
            for party, values in found.items()
        ],
    )


if __name__ == "__main__":
    main()
