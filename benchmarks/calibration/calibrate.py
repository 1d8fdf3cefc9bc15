"""How often `mt-analyze diff` is right: verdicts on pairs of runs that are made up.

usage: python -m benchmarks.calibration [--pairs 1000] [--models ar-0.9] [--effects 0]

Pairs of runs of several noise models, with a difference of known size or none, are
written as files and compared. Prints how often each verdict was given, beside two tests
that take steps for independent; exits with 1 if a limit is broken.
"""

import argparse
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

from benchmarks.calibration.cells import (
    EFFECTS,
    RUNS,
    STEPS,
    Cell,
    all_designs,
    cells_of,
)
from benchmarks.calibration.limits import limit_of
from benchmarks.calibration.noise_models import NOISE_MODELS
from benchmarks.calibration.pairs import PairComparer
from benchmarks.calibration.program import Program
from benchmarks.calibration.tally import VERDICTS, Tally
from benchmarks.python.comparison import PROJECT, print_table, progress, say

HEAD = (
    "noise",
    "steps",
    "effect, %",
    "runs a side",
    "run noise",
    *(f"{verdict}, %" for verdict in VERDICTS),
    "interval holds, %",
    "Welch, %",
    "Mann-Whitney, %",
    "limit",
    "kept",
)
MEMORY = Path("/dev/shm")


def add_choice(
    parser: argparse.ArgumentParser,
    flag: str,
    kind: type,
    choices: Sequence[object],
    what: str,
) -> None:
    """
    Add an option that takes some of several values, and all if it is not given.

    :param parser: for the command line.
    :param flag: the option.
    :param kind: of a value.
    :param choices: the values.
    :param what: they are.
    """
    text = f"{what}: of {', '.join(map(str, choices))}"
    parser.add_argument(
        flag,
        nargs="+",
        type=kind,
        choices=choices,
        default=choices,
        metavar="X",
        help=text,
    )


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.calibration",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    names = [model.name for model in NOISE_MODELS]
    parser.add_argument("--pairs", type=int, default=1_000, help="of each cell")
    add_choice(parser, "--models", str, names, "noise models")
    add_choice(parser, "--steps", int, STEPS, "steps of a run")
    add_choice(parser, "--effects", float, EFFECTS, "parts of the step time")
    add_choice(parser, "--runs", int, RUNS, "runs of a side")
    parser.add_argument("--seed", type=int, default=0, help="of all that is random")
    parser.add_argument(
        "--jobs", type=int, choices=(1, 2), default=1, help="pairs at a time"
    )
    parser.add_argument(
        "--build",
        type=Path,
        default=PROJECT / "build" / "release",
        help="folder of the preset release",
    )
    return parser.parse_args()


def chosen_cells(options: argparse.Namespace) -> Iterator[list[Cell]]:
    """
    Those to try, design by design.

    :param options: as given.
    """
    for design in all_designs():
        cells = [cell for cell in cells_of(design) if cell.effect in options.effects]
        if (
            cells
            and design.model.name in options.models
            and design.steps in options.steps
            and design.runs in options.runs
        ):
            yield cells


def compare_pairs(
    comparer: PairComparer, cells: list[Cell], pairs: int, jobs: int
) -> dict[Cell, Tally]:
    """
    Count what becomes of the pairs of a design, cell by cell.

    :param comparer: makes and compares them.
    :param cells: of the design.
    :param pairs: how many.
    :param jobs: of these at a time.
    """
    started = time.monotonic()
    tallies: dict[Cell, Tally] = defaultdict(Tally)
    with ThreadPoolExecutor(jobs) as pool:
        for outcomes in pool.map(partial(comparer.compare, cells), range(pairs)):
            for cell, outcome in outcomes.items():
                tallies[cell].add(outcome)
    design = cells[0].design
    progress(
        f"{design.model.name}, {design.steps:,} steps, runs a side: {design.runs};"
        f" {pairs:,} pairs took {time.monotonic() - started:.0f} s"
    )
    return tallies


def row_of(cell: Cell, tally: Tally) -> list[str]:
    """
    A row of the table.

    :param cell: what was tried.
    :param tally: what became of it.
    """
    limit = limit_of(cell, tally.pairs)
    shares = [
        *(tally.verdicts[verdict] for verdict in VERDICTS),
        tally.hold_truth,
        tally.welch,
        tally.mann_whitney,
    ]
    return [
        cell.design.model.name,
        f"{cell.design.steps:,}",
        f"{100 * cell.effect:+.3g}" if cell.effect else "0",
        str(cell.design.runs),
        "assumed" if cell.run_noise is None else f"{100 * cell.run_noise:.3g} %",
        *(f"{100 * count / tally.pairs:.1f}" for count in shares),
        limit.text if limit else "",
        ("yes" if limit.holds(tally) else "NO") if limit else "",
    ]


def main() -> int:
    """
    Print the table.

    :return: 1 if a limit is broken, else 0.
    """
    options = parse_arguments()
    memory = MEMORY if MEMORY.is_dir() else None
    tallies: dict[Cell, Tally] = {}
    with tempfile.TemporaryDirectory(dir=memory) as folder:
        program = Program(options.build / "analyzer" / "mt-analyze")
        comparer = PairComparer(program, Path(folder), options.seed)
        for cells in chosen_cells(options):
            tallies |= compare_pairs(comparer, cells, options.pairs, options.jobs)
    rows = [row_of(cell, tally) for cell, tally in tallies.items()]
    print_table(f"Verdicts on {options.pairs:,} pairs a cell", HEAD, rows)
    broken = sum(row[-1] == "NO" for row in rows)
    say(
        "Interval holds: the interval of the step time has the effect in it. Welch,"
        " Mann-Whitney: finds a\ndifference at 1 %, of the right sign where there is"
        f" one. Seed {options.seed}. Limits broken: {broken}."
    )
    return 1 if broken else 0
