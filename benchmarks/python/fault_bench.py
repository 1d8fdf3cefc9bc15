"""What recording adds to the steps of a training while its storage fails.

usage: python benchmarks/python/fault_bench.py [--long] [--workers N]

Trains as step_bench.py does, each time in a new process with the fault kit of
tests/faults loaded: without recording, with it, and with it under each fault.
"""

import contextlib
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

from comparison import output_of, parser, progress, run_rounds
from step_bench import (
    LOOP,
    ON,
    UNSET,
    Steps,
    Training,
    print_steps,
    products_for,
    steps_of,
    train,
)

KIT = Path(__file__).parents[2] / "tests" / "faults" / "fault_kit.cpp"
FAULTS = {
    "the disk is full": "write@run.db:1+:ENOSPC",
    "the disk breaks": "write@run.db:60+:EIO",
    "no locks, no rings": "fcntl@run.db:1+:ENOLCK fallocate@.ring:1+:EOPNOTSUPP",
    "the server is slow": "write@run.db:1+:sleep=1",
    "the server hangs": "write@run.db:60+:sleep=600",
}


@contextlib.contextmanager
def faults(library: Path, rules: str) -> Iterator[None]:
    """
    Programs that start meanwhile get the fault kit.

    :param library: the kit.
    :param rules: as in fault_kit.hpp.
    """
    os.environ.update({"LD_PRELOAD": str(library), "MT_FAULTS": rules})
    try:
        yield
    finally:
        del os.environ["LD_PRELOAD"], os.environ["MT_FAULTS"]


def train_under(library: Path, rules: str, training: Training) -> Steps:
    """
    Train in a new process.

    :param library: the kit.
    :param rules: as in fault_kit.hpp.
    :param training: what.
    """
    with faults(library, rules), tempfile.TemporaryDirectory() as folder:
        result, database = Path(folder) / "result.json", Path(folder) / "run.db"
        output_of(
            sys.executable, LOOP, result, *training.arguments(), database=database
        )
        return steps_of(result)


def train_without(library: Path, training: Training) -> Steps:
    """
    Train in a new process, nothing recorded.

    :param library: the kit.
    :param training: what.
    """
    with faults(library, ""):
        return train(training, recording=False)


def main() -> None:
    """Print the tables."""
    arguments = parser(__doc__)
    arguments.add_argument("--workers", type=int, default=2)
    options = arguments.parse_args()
    os.environ["OMP_NUM_THREADS"] = "1"
    progress("training under faults")
    with tempfile.TemporaryDirectory() as folder:
        library = Path(folder) / "libmt_faults.so"
        subprocess.run(
            [
                "c++",
                "-std=c++20",
                "-O2",
                "-fPIC",
                "-shared",
                "-o",
                library,
                KIT,
                "-ldl",
            ],
            check=True,
        )
        training = Training(
            2000 if options.long else 500,
            options.workers,
            products_for(options.workers),
        )
        parties: dict[str, Callable[[], Steps]] = {
            UNSET: lambda: train_without(library, training),
            ON: lambda: train_under(library, "", training),
        }
        for name, rules in FAULTS.items():
            parties[name] = lambda rules=rules: train_under(  # type: ignore[misc]
                library, rules, training
            )
        rounds = run_rounds(parties, 15 if options.long else 6)
    title = f"Training under faults, {options.workers} workers"
    means = {party: [run.mean for run in runs] for party, runs in rounds.items()}
    medians = {party: [run.median for run in runs] for party, runs in rounds.items()}
    print_steps(f"{title}: mean step of a process", means)
    print_steps("The same: median step of a process", medians)


if __name__ == "__main__":
    main()
