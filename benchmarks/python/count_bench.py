"""How many instructions an interval takes, counted by callgrind.

usage: python benchmarks/python/count_bench.py [--build FOLDER]

A count does not depend on how busy the machine is, so that two commits can be compared
by their tables. Each program runs with two numbers of intervals: the difference leaves
out what is done once. Of the threads the first alone is counted. Where recording is
on the least of a few tries counts: under callgrind the drain thread may come too
late to compare the clocks, and the slower one is read instead.
"""

import re
import shutil
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from comparison import output_of, parser, print_table, progress, say

FEW = 1000
MANY = 3000  # a ring holds 8,192 records; the drain is called at half of it
TRIES = 3
PYTHON_PROGRAM = Path(__file__).with_name("timed_count.py")


@dataclass(frozen=True)
class Party:
    """How to count the instructions of a number of intervals."""

    instructions: Callable[[int], int]
    tries: int = 1

    def per_interval(self) -> float:
        """Instructions of one interval, with the loop around it."""
        few, many = (
            min(self.instructions(count) for _ in range(self.tries))
            for count in (FEW, MANY)
        )
        return (many - few) / (MANY - FEW)


def callgrind(folder: Path, recording: bool, *command: object) -> Path:
    """
    Run a program under callgrind.

    :param folder: for what it writes.
    :param recording: whether METATRAIN_TIMING_DB is set.
    :param command: options of callgrind, the program, its arguments.
    :return: the counts of the first thread.
    """
    output_of(
        "env",
        "PYTHONHASHSEED=0",
        "valgrind",
        "--tool=callgrind",
        "--separate-threads=yes",
        "--fair-sched=yes",
        f"--callgrind-out-file={folder / 'counts'}",
        *command,
        database=folder / "run.db" if recording else "",
    )
    return folder / "counts-01"


def in_cpp(build: Path, party: str, count: int) -> int:
    """
    Instructions of so many intervals: what `mt_counted` and all it calls executes.

    :param build: folder of the benchmarks.
    :param party: the first argument of interval_count.
    :param count: of intervals.
    """
    with tempfile.TemporaryDirectory() as name:
        command = ("--toggle-collect=mt_counted", build / "interval_count", party)
        return total(callgrind(Path(name), False, *command, count, name))


def in_python(party: str, recording: bool, count: int) -> int:
    """
    Instructions of a whole Python with so many blocks.

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


def print_counts(title: str, parties: dict[str, Party]) -> None:
    """
    Print a table.

    :param title: above it.
    :param parties: the first is the empty loop.
    """
    counts = {name: party.per_interval() for name, party in parties.items()}
    loop = next(iter(counts.values()))
    print_table(
        title,
        ["party", "instructions", "over the loop"],
        [[name, f"{n:,.0f}", f"{n - loop:,.0f}"] for name, n in counts.items()],
    )


def main() -> None:
    """Print the tables."""
    options = parser(__doc__).parse_args()
    build = options.build / "benchmarks"
    if shutil.which("valgrind") is None:
        say("Without instruction counts: there is no valgrind (package valgrind).")
        return
    progress("instruction counts")
    print_counts(
        "C++: instructions of one interval, by callgrind",
        {
            "empty loop": Party(partial(in_cpp, build, "empty")),
            "interval off": Party(partial(in_cpp, build, "off")),
            "interval on": Party(partial(in_cpp, build, "on"), TRIES),
            "begin() and end() on": Party(partial(in_cpp, build, "begin_end"), TRIES),
            "count() on": Party(partial(in_cpp, build, "count"), TRIES),
        },
    )
    print_counts(
        "Python: instructions of one block, by callgrind",
        {
            "empty loop": Party(partial(in_python, "empty", False)),
            "nullcontext": Party(partial(in_python, "nullcontext", False)),
            "timed, off": Party(partial(in_python, "timed", False)),
            "timed, on": Party(partial(in_python, "timed", True), TRIES),
        },
    )


if __name__ == "__main__":
    main()
