"""What has to hold of a cell: few false verdicts, and large effects found."""

from collections.abc import Callable
from dataclasses import dataclass

from scipy.stats import binom

from benchmarks.calibration.cells import REPLICATES, SMALL_RUN_NOISE, Cell
from benchmarks.calibration.tally import Tally

FALSE_VERDICTS = 0.01  # that a program may give in the long run, as a part
FEWEST_FOR_NOISE = 10  # memories of the noise in a run that tells of it
FEWEST_FOR_POWER = 40  # and that finds what is large
CERTAINTY = 0.999  # that one with as many is not said to have more


@dataclass(frozen=True)
class Limit:
    """A bound on a cell's verdicts."""

    text: str
    holds: Callable[[Tally], bool]


def most_false(pairs: int) -> int:
    """
    False verdicts that a program with 1 % of them hardly ever exceeds.

    :param pairs: 21 of 1,000.
    """
    return int(binom.ppf(CERTAINTY, pairs, FALSE_VERDICTS))


def limit_of(cell: Cell, pairs: int) -> Limit | None:
    """
    The bound for a cell, if there is one.

    :param cell: with an effect of 0: false verdicts; with a large one: found ones.
    :param pairs: compared in the cell.
    """
    design = cell.design
    is_known = cell.run_noise == SMALL_RUN_NOISE
    memories = design.steps // design.model.memory
    if is_known and memories < FEWEST_FOR_NOISE:
        return None  # runs differ by which states they meet: that noise is not small
    if cell.effect == 0:
        most = most_false(pairs)
        return Limit(f"false <= {most}", lambda tally: tally.decided() <= most)
    if cell.effect == 0.005:
        most = pairs // 20
        return Limit(
            "regressed <= 5 %", lambda tally: tally.verdicts["regressed"] <= most
        )
    is_long = design.steps >= 1_000 and memories >= FEWEST_FOR_POWER
    if design.runs == 1 and is_long and cell.effect == 0.05 and is_known:
        return _found(0.95)
    if design.runs == REPLICATES and cell.effect == 0.04:
        return _found(0.8)
    return None


def _found(least: float) -> Limit:
    return Limit(
        f"regressed >= {100 * least:.0f} %",
        lambda tally: tally.share("regressed") >= least,
    )
