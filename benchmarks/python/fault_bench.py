"""What recording adds to the steps of a training while its storage fails.

usage: python benchmarks/python/fault_bench.py [--long] [--workers N]

Trains as step_bench.py does, each time in a new process with the fault kit of
tests/faults loaded: without recording, with it, and with it under each fault.
"""

import os
import subprocess
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path

from comparison import parser, progress, run_rounds
from step_bench import ON, UNSET, Steps, Training, print_rounds, products_for, run_loop

KIT = Path(__file__).parents[2] / "tests" / "faults" / "fault_kit.cpp"
FAULTS = {
    "the disk is full": "write@run.db:1+:ENOSPC",
    "the disk breaks": "write@run.db:60+:EIO",
    "no locks, no rings": "fcntl@run.db:1+:ENOLCK fallocate@.ring:1+:EOPNOTSUPP",
    "the server is slow": "write@run.db:1+:sleep=1",
    "the server hangs": "write@run.db:60+:sleep=600",
}


def train_under(
    rules: str, library: Path, training: Training, recording: bool = True
) -> Steps:
    """
    Train in a new process.

    :param rules: as in fault_kit.hpp; empty: nothing fails.
    :param library: the kit.
    :param training: what.
    :param recording: whether to record.
    """
    with tempfile.TemporaryDirectory() as folder:
        return run_loop(
            training,
            Path(folder) / "result.json",
            Path(folder) / "run.db" if recording else "",
            {"LD_PRELOAD": str(library), "MT_FAULTS": rules},
        )


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
            UNSET: partial(train_under, "", library, training, recording=False),
            ON: partial(train_under, "", library, training),
        }
        for name, rules in FAULTS.items():
            parties[name] = partial(train_under, rules, library, training)
        rounds = run_rounds(parties, 15 if options.long else 6)
    print_rounds(f"Training under faults, {options.workers} workers", rounds)


if __name__ == "__main__":
    main()
