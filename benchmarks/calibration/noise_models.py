"""How step times of a training scatter: series that are known to the last detail.

A model gives the times of a run's steps, in nanoseconds around 40 ms, from a generator
of random numbers alone. Relative standard deviations are those of the logarithm.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.signal import lfilter

STEP_NS = 40_000_000

Floats = NDArray[np.float64]
Noise = Callable[[np.random.Generator, int], Floats]


@dataclass(frozen=True)
class NoiseModel:
    """Noise of the steps, times one factor for the whole run."""

    name: str
    log_noise: Noise  # of the steps: logarithms of their factors
    memory: int = 1  # steps over which they depend on each other
    run_sd: float = 0  # of the logarithm of the run's factor

    def step_times_ns(self, random: np.random.Generator, steps: int) -> Floats:
        """
        The steps of one run, in their order.

        :param random: two of the same state give the same series.
        :param steps: how many.
        """
        of_run = self.run_sd * random.standard_normal()
        return STEP_NS * np.exp(self.log_noise(random, steps) + of_run)


def _independent(sd: float) -> Noise:
    return lambda random, steps: sd * random.standard_normal(steps)


def _autoregressive(rho: float, sd: float) -> Noise:
    """
    AR(1): each step depends on the one before.

    :param rho: correlation of neighbours.
    :param sd: of the steps, not of the innovations; the series is stationary.
    """

    def log_noise(random: np.random.Generator, steps: int) -> Floats:
        innovations = sd * math.sqrt(1 - rho**2) * random.standard_normal(steps)
        innovations[0] /= math.sqrt(1 - rho**2)
        return np.asarray(lfilter([1], [1, -rho], innovations))

    return log_noise


def _saw_tooth(random: np.random.Generator, steps: int) -> Floats:
    """Four workers that cannot keep up, and now and then a batch from a cold disk."""
    factors = np.ones(steps)
    factors[3::4] = 1.3
    factors[random.random(steps) < 0.01] *= 3
    return np.log(factors) + 0.02 * random.standard_normal(steps)


def _clock_states(random: np.random.Generator, steps: int) -> Floats:
    """A processor 2 % slower or faster, for 100 steps on average, exponentially."""
    sojourns = random.exponential(100, size=steps // 10 + 10)
    while sojourns.sum() < steps:
        sojourns = np.concatenate([sojourns, random.exponential(100, size=steps)])
    state = np.searchsorted(np.cumsum(sojourns), np.arange(steps), side="right")
    first = random.integers(2)
    levels = np.log1p(np.where((state + first) % 2 == 0, 0.02, -0.02))
    return levels + 0.02 * random.standard_normal(steps)


def _heavy_tails(random: np.random.Generator, steps: int) -> Floats:
    """Student's t with 3 degrees of freedom, whose variance is 3, scaled to 5 %."""
    return 0.05 / math.sqrt(3) * random.standard_t(3, size=steps)


INDEPENDENT = _independent(0.05)

NOISE_MODELS = (
    NoiseModel("independent", INDEPENDENT),
    NoiseModel("ar-0.5", _autoregressive(0.5, 0.05), memory=2),
    NoiseModel("ar-0.9", _autoregressive(0.9, 0.05), memory=10),
    NoiseModel("saw-tooth", _saw_tooth, memory=4),
    NoiseModel("clock-states", _clock_states, memory=100),
    NoiseModel("heavy-tails", _heavy_tails),
    NoiseModel("runs-0.01", INDEPENDENT, run_sd=0.01),
    NoiseModel("runs-0.02", INDEPENDENT, run_sd=0.02),
)
