"""What the benchmarks share: rounds of fresh processes, medians, intervals, tables.

A round runs every party once, in an order drawn anew, so that what the machine does
meanwhile falls on all of them. A ratio is taken within a round; the median of the
rounds and its interval are printed.
"""

import argparse
import math
import os
import random
import statistics
import subprocess
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from scipy.stats import quantile_test

PROJECT = Path(__file__).resolve().parents[2]
CONFIDENCE = 0.95
MIN_ROUNDS = 6  # with fewer no two of the values enclose the median at 95 %

_Result = TypeVar("_Result")


@dataclass(frozen=True)
class Estimate:
    """A median of rounds and the interval that holds the true one at 95 %."""

    median: float
    low: float
    high: float

    def text(self, digits: int = 3) -> str:
        """
        The median alone.

        :param digits: significant ones.
        """
        return significant(self.median, digits)

    def text_with_interval(self, digits: int = 3) -> str:
        """
        The median and, in brackets, its interval.

        :param digits: significant ones.
        """
        bounds = f"{significant(self.low, digits)} to {significant(self.high, digits)}"
        return f"{significant(self.median, digits)} ({bounds})"


def estimate(values: Sequence[float]) -> Estimate:
    """
    Median with the interval between two order statistics: no distribution is assumed.

    :param values: one of each round.
    """
    interval = quantile_test(values, p=0.5).confidence_interval(CONFIDENCE)
    return Estimate(
        statistics.median(values), float(interval.low), float(interval.high)
    )


def ratio(above: Sequence[float], below: Sequence[float]) -> Estimate:
    """
    How many times as large.

    :param above: one value of each round.
    :param below: of the same rounds.
    """
    return estimate([a / b for a, b in zip(above, below, strict=True)])


def difference(left: Sequence[float], right: Sequence[float]) -> Estimate:
    """
    How much more.

    :param left: one value of each round.
    :param right: of the same rounds.
    """
    return estimate([a - b for a, b in zip(left, right, strict=True)])


def significant(value: float, digits: int = 3) -> str:
    """
    A number as text, large ones not in powers of ten.

    :param value: the number; not finite: unknown.
    :param digits: significant ones.
    """
    if not math.isfinite(value):
        return "-"
    if value == 0:
        return "0"
    decimals = digits - 1 - math.floor(math.log10(abs(value)))
    return f"{round(value, decimals):,.{max(decimals, 0)}f}"


def output_of(
    *command: object,
    database: str | Path = "",
    folder: Path | None = None,
    environment: Mapping[str, str] | None = None,
) -> str:
    """
    What a program prints; if it fails, an error with all it printed.

    :param command: the program and its arguments.
    :param database: METATRAIN_TIMING_DB; empty: recording is off.
    :param folder: where it runs.
    :param environment: further variables.
    """
    words = [str(word) for word in command]
    done = subprocess.run(
        words,
        env={
            **os.environ,
            "METATRAIN_TIMING_DB": str(database),
            **(environment or {}),
        },
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(words)} failed:\n{done.stdout}{done.stderr}")
    return done.stdout


def run_rounds(
    parties: Mapping[str, Callable[[], _Result]], rounds: int
) -> dict[str, list[_Result]]:
    """
    Run all parties in turn.

    :param parties: each runs a fresh process and gives what that found.
    :param rounds: how often.
    :return: the results of each party, round by round.
    """
    shuffle = random.Random(0).sample
    results: dict[str, list[_Result]] = {name: [] for name in parties}
    for number in range(rounds):
        progress(f"round {number + 1} of {rounds}")
        for name in shuffle(list(parties), len(parties)):
            results[name].append(parties[name]())
    return results


def print_table(title: str, head: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """
    Print a table in Markdown that is one for the eye too.

    :param title: above it.
    :param head: names of the columns; all but the first are numbers.
    :param rows: the cells.
    """
    table = [list(head), *(list(row) for row in rows)]
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    rule = ["-" * widths[0], *("-" * (width - 1) + ":" for width in widths[1:])]
    table.insert(1, rule)
    print(f"\n### {title}\n")
    for first, *others in table:
        aligned = [
            cell.rjust(width) for cell, width in zip(others, widths[1:], strict=True)
        ]
        print(f"| {' | '.join([first.ljust(widths[0]), *aligned])} |")
    sys.stdout.flush()


def say(text: str) -> None:
    """
    Print a remark below a table.

    :param text: a line or several.
    """
    print(f"\n{text}", flush=True)


def progress(text: str) -> None:
    """
    Tell who waits what is being done, on stderr.

    :param text: a line.
    """
    print(f"   {text}", file=sys.stderr, flush=True)


def parser(description: str | None) -> argparse.ArgumentParser:
    """
    The arguments that all have.

    :param description: for --help.
    """
    made = argparse.ArgumentParser(description=description)
    made.add_argument("--long", action="store_true", help="more and longer rounds")
    made.add_argument(
        "--build",
        type=Path,
        default=PROJECT / "build" / "release",
        help="folder of the preset release",
    )
    return made
