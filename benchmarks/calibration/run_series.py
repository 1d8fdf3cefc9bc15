"""Step times of many runs, one after the other: noise of known kinds, with or without a
change of level.

Runs scatter by 3 % around 40 ms: more than the least change told, 2 %, so that it is
not what keeps false ones away.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.signal import lfilter

STEP_NS = 40_000_000
RUN_SD = 0.03
RUNS = (20, 50, 100, 200)

Floats = NDArray[np.float64]


def _independent(random: np.random.Generator, runs: int) -> Floats:
    return random.standard_normal(runs)


def _heavy_tails(random: np.random.Generator, runs: int) -> Floats:
    """Student's t with 3 degrees of freedom, scaled to variance 1."""
    return random.standard_t(3, size=runs) / math.sqrt(3)


def _autoregressive(random: np.random.Generator, runs: int) -> Floats:
    """AR(1) with 0.3, of variance 1."""
    rho = 0.3
    innovations = math.sqrt(1 - rho**2) * random.standard_normal(runs)
    innovations[0] /= math.sqrt(1 - rho**2)
    return np.asarray(lfilter([1], [1, -rho], innovations))


NOISES: dict[str, Callable[[np.random.Generator, int], Floats]] = {
    "independent": _independent,
    "heavy-tails": _heavy_tails,
    "ar-0.3": _autoregressive,
}


@dataclass(frozen=True)
class SeriesCell:
    """A kind of series."""

    noise: str
    runs: int
    shift: float = 0  # of the level, in standard deviations of a run
    last: int = 0  # runs after the shift

    @property
    def at(self) -> int:
        """The first run after the shift."""
        return self.runs - self.last

    def series_ns(self, random: np.random.Generator) -> Floats:
        """
        One of its kind.

        :param random: two of the same state give the same series.
        """
        noise = RUN_SD * NOISES[self.noise](random, self.runs)
        noise[self.at :] += self.shift * RUN_SD
        return STEP_NS * np.exp(noise)


def all_cells() -> list[SeriesCell]:
    """Without a shift in each length; then shifts in the middle, and near the end."""
    without = [SeriesCell(noise, runs) for noise in NOISES for runs in RUNS]
    middle = [
        SeriesCell(noise, 50, shift, 25) for noise in NOISES for shift in (2, 3, 5)
    ]
    late = [SeriesCell(noise, 50, shift, 5) for noise in NOISES for shift in (3, 5)]
    return without + middle + late
