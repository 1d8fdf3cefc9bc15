"""How many instructions an interval takes, counted by callgrind.

usage: python benchmarks/python/count_bench.py [--build FOLDER]

A count does not depend on how busy the machine is, so that two commits can be compared
by their tables. Each program runs with two numbers of intervals: the difference leaves
out what is done once. Of Python's threads the first alone is counted.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path

from comparison import parser, print_table, progress, say

FEW = 1000
MANY = 3000  # a ring holds 8,192 records; the drain is called at half of it
PYTHON_PROGRAM = Path(__file__).with_name("timed_count.py")


def callgrind(folder: Path, recording: bool, *command: object) -> Path:
    """
    Run a program under callgrind.

    :param folder: for what it writes.
    :param recording: whether METATRAIN_TIMING_DB is set.
    :param command: options of callgrind, the program, its arguments.
    :return: the counts of the first thread.
    """
    database = str(folder / "run.db") if recording else ""
    done = subprocess.run(
        [
            "valgrind",
            "--tool=callgrind",
            "--separate-threads=yes",
            f"--callgrind-out-file={folder / 'counts'}",
            *map(str, command),
        ],
        env={**os.environ, "METATRAIN_TIMING_DB": database, "PYTHONHASHSEED": "0"},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        raise RuntimeError(f"valgrind failed:\n{done.stderr}")
    return folder / "counts-01"


def in_cpp(program: Path, party: str, count: int) -> int:
    """
    What the function `mt_counted` and all it calls executes.

    :param program: interval_count.
    :param party: its first argument.
    :param count: of intervals.
    """
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        counts = callgrind(
            folder, False, "--toggle-collect=mt_counted", program, party, count, folder
        )
        return total(counts)


def in_python(party: str, recording: bool, count: int) -> int:
    """
    What a whole Python executes.

    :param party: the first argument of timed_count.py.
    :param recording: whether to record.
    :param count: of blocks.
    """
    with tempfile.TemporaryDirectory() as name:
        command = (sys.executable, PYTHON_PROGRAM, party, count)
        return total(callgrind(Path(name), recording, *command))


def total(counts: Path) -> int:
    """
    Instructions in all.

    :param counts: a file of callgrind.
    """
    found = re.search(r"^totals: (\d+)", counts.read_text(), re.MULTILINE)
    if found is None:
        raise RuntimeError(f"{counts} has no total")
    return int(found[1])


def per_interval(instructions: Callable[[int], int]) -> float:
    """
    Instructions of one interval, with the loop around it.

    :param instructions: those of so many intervals.
    """
    return (instructions(MANY) - instructions(FEW)) / (MANY - FEW)


def print_counts(title: str, parties: dict[str, Callable[[int], int]]) -> None:
    """
    Print a table.

    :param title: above it.
    :param parties: the first is the empty loop.
    """
    counts = {name: per_interval(party) for name, party in parties.items()}
    loop = next(iter(counts.values()))
    print_table(
        title,
        ["party", "instructions", "over the loop"],
        [[name, f"{n:,.0f}", f"{n - loop:,.0f}"] for name, n in counts.items()],
    )


def main() -> None:
    """Print the tables."""
    options = parser(__doc__).parse_args()
    program = options.build / "benchmarks" / "interval_count"
    if shutil.which("valgrind") is None:
        say("Without instruction counts: there is no valgrind (package valgrind).")
        return
    progress("instruction counts")
    print_counts(
        "C++: instructions of one interval, by callgrind",
        {
            "empty loop": partial(in_cpp, program, "empty"),
            "interval off": partial(in_cpp, program, "off"),
            "interval on": partial(in_cpp, program, "on"),
            "begin() and end() on": partial(in_cpp, program, "begin_end"),
            "count() on": partial(in_cpp, program, "count"),
        },
    )
    print_counts(
        "Python: instructions of one block, by callgrind",
        {
            "empty loop": partial(in_python, "empty", False),
            "nullcontext": partial(in_python, "nullcontext", False),
            "timed, off": partial(in_python, "timed", False),
            "timed, on": partial(in_python, "timed", True),
        },
    )


if __name__ == "__main__":
    main()
