"""How many instructions an interval takes, counted by callgrind.

usage: python benchmarks/python/count_bench.py [--build FOLDER]

A count does not depend on how busy the machine is, so that two commits can be compared
by their tables. Each program runs with two numbers of intervals: the difference leaves
out what is done once.
"""

import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from comparison import parser, print_table, progress, say

FEW = 1000
MANY = 3000  # a ring holds 8,192 records; the drain is called at half of it
PARTIES = {
    "empty": "empty loop",
    "off": "interval off",
    "on": "interval on",
    "begin_end": "begin() and end() on",
    "count": "count() on",
}


def instruction_count(program: Path, party: str, intervals: int) -> int:
    """
    What `mt_counted` and all it calls executes.

    :param program: interval_count.
    :param party: its first argument.
    :param intervals: how many.
    """
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(
            [
                "valgrind",
                "--tool=callgrind",
                "--callgrind-out-file=/dev/null",
                "--toggle-collect=mt_counted",
                program,
                party,
                str(intervals),
                folder,
            ],
            check=True,
            capture_output=True,
            text=True,
        )
    collected = re.search(r"Collected : (\d+)", done.stderr)
    if collected is None:
        raise RuntimeError(f"callgrind counted nothing:\n{done.stderr}")
    return int(collected[1])


def main() -> int:
    """Print the table."""
    options = parser(__doc__).parse_args()
    program = options.build / "benchmarks" / "interval_count"
    if shutil.which("valgrind") is None:
        say("Without instruction counts: there is no valgrind (package valgrind).")
        return 0
    progress("instruction counts")
    per_interval = {
        party: (
            instruction_count(program, party, MANY)
            - instruction_count(program, party, FEW)
        )
        / (MANY - FEW)
        for party in PARTIES
    }
    print_table(
        "C++: instructions of one interval, by callgrind",
        ["party", "instructions", "over the loop"],
        [
            [name, f"{per_interval[party]:.1f}",
             f"{per_interval[party] - per_interval['empty']:.1f}"]
            for party, name in PARTIES.items()
        ],
    )  # fmt: skip
    return 0


if __name__ == "__main__":
    sys.exit(main())
