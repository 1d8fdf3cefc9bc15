"""How often `mt-analyze history` is right: changes found in series that are made up.

usage: python -m benchmarks.calibration.history [--series 300] [--otava PYTHON]

Series of step times of 20 to 200 runs of three kinds of noise, with a change of level
of known size or none. Prints how often one was said to be there, beside Apache Otava
where a Python that has it is given; exits with 1 if a limit is broken.
"""

import argparse
import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from benchmarks.calibration.run_series import SeriesCell, all_cells
from benchmarks.python.comparison import PROJECT, print_table, progress, say

HEAD = (
    "noise",
    "runs",
    "shift, sd",
    "runs after it",
    "found, %",
    "false, %",
    "Otava found, %",
    "Otava false, %",
    "limit",
    "kept",
)
NEAR = 2  # runs that a change may be off
MOST_FALSE = 0.03
LEAST_FOUND = 0.9
OTAVA = Path(__file__).with_name("otava_changes.py")

Changes = list[list[int]]


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.calibration.history",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--series", type=int, default=300, help="of each kind")
    parser.add_argument("--seed", type=int, default=0, help="of all that is random")
    parser.add_argument("--otava", help="a Python that has apache-otava")
    parser.add_argument(
        "--build",
        type=Path,
        default=PROJECT / "build" / "release",
        help="folder of the preset release",
    )
    return parser.parse_args()


def answers(command: Sequence[str], lines: str) -> list[str]:
    """
    Lines that a program makes of lines.

    :param command: reads standard input.
    :param lines: for it.
    """
    done = subprocess.run(
        command, input=lines, capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        raise RuntimeError(f"{command[0]} failed:\n{done.stderr}")
    return done.stdout.splitlines()


def is_found(cell: SeriesCell, changes: list[int]) -> bool:
    return any(abs(change - cell.at) <= NEAR for change in changes)


def is_false(cell: SeriesCell, changes: list[int]) -> bool:
    """
    Whether one is said to be where there is none.

    :param cell: the series is of this kind.
    :param changes: that were found.
    """
    if cell.shift == 0:
        return bool(changes)
    return any(abs(change - cell.at) > NEAR for change in changes)


def percent(flags: Sequence[bool]) -> str:
    return f"{100 * sum(flags) / len(flags):.1f}"


def shares(cell: SeriesCell, found: Changes | None) -> list[str]:
    """
    Found and false ones, in percent.

    :param cell: the series are of this kind.
    :param found: in each; None: nobody looked.
    """
    if found is None:
        return ["", ""]
    hits = percent([is_found(cell, changes) for changes in found]) if cell.shift else ""
    return [hits, percent([is_false(cell, changes) for changes in found])]


def limit_of(cell: SeriesCell, found: Changes) -> list[str]:
    """
    The bound for a cell, and whether it is kept.

    :param cell: without a shift: false ones; with three deviations five runs before the
        end: found ones. Of noise that no method is told of.
    :param found: in each series.
    """
    if cell.shift == 0:
        share = sum(is_false(cell, changes) for changes in found) / len(found)
        return [f"false <= {100 * MOST_FALSE:.0f} %", verdict(share <= MOST_FALSE)]
    if (cell.noise, cell.shift, cell.last) == ("independent", 3, 5):
        share = sum(is_found(cell, changes) for changes in found) / len(found)
        return [f"found >= {100 * LEAST_FOUND:.0f} %", verdict(share >= LEAST_FOUND)]
    return ["", ""]


def verdict(kept: bool) -> str:
    return "yes" if kept else "NO"


def main() -> int:
    """
    Print the table.

    :return: 1 if a limit is broken, else 0.
    """
    options = parse_arguments()
    ours = [str(options.build / "benchmarks" / "series_history")]
    rows = []
    for number, cell in enumerate(all_cells()):
        random = np.random.default_rng((options.seed, number))
        series = [cell.series_ns(random) for _ in range(options.series)]
        lines = "".join(json.dumps(one.tolist()) + "\n" for one in series)
        found = [json.loads(line)["changes"] for line in answers(ours, lines)]
        others: Changes | None = None
        if options.otava:
            command = [options.otava, str(OTAVA)]
            others = [json.loads(line) for line in answers(command, lines)]
        rows.append(
            [
                cell.noise,
                str(cell.runs),
                f"{cell.shift:g}",
                str(cell.last) if cell.shift else "",
                *shares(cell, found),
                *shares(cell, others),
                *limit_of(cell, found),
            ]
        )
        progress(" ".join(rows[-1]))
    print_table(f"Changes in {options.series:,} series of each kind", HEAD, rows)
    broken = sum(row[-1] == "NO" for row in rows)
    say(
        f"Found: a change at most {NEAR} runs from where it is. False: another one, or"
        " any where there is none.\nA shift is in standard deviations of a run, which"
        f" are 3 %. Otava as it is: p 0.001. Seed {options.seed}. Limits broken:"
        f" {broken}."
    )
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
