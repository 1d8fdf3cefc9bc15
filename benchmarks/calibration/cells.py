"""What is tried: noise models, lengths, effects, and what the program is told."""

from dataclasses import dataclass

from benchmarks.calibration.noise_models import NOISE_MODELS, NoiseModel

STEPS = (200, 1_000, 4_000)
SINGLE_EFFECTS = (0.0, 0.005, 0.03, 0.05)
REPLICATE_EFFECTS = (0.0, 0.04)
EFFECTS = tuple(sorted({*SINGLE_EFFECTS, *REPLICATE_EFFECTS}))
REPLICATES = 3
RUNS = (1, REPLICATES)
SMALL_RUN_NOISE = 0.001


@dataclass(frozen=True)
class Design:
    """Which series are made: all that two cells of it share."""

    model: NoiseModel
    steps: int
    runs: int  # of a side


@dataclass(frozen=True)
class Cell:
    """A design, how much longer the second side's steps are, and what is known."""

    design: Design
    effect: float  # as a part of the step time
    run_noise: float | None  # given to the program as a part; None: it has to assume


def all_designs() -> list[Design]:
    """Single pairs of all models and lengths, and replicates where runs differ."""
    single = [Design(model, steps, 1) for model in NOISE_MODELS for steps in STEPS]
    replicates = [
        Design(model, 1_000, REPLICATES)
        for model in NOISE_MODELS
        if model.run_sd == 0.01
    ]
    return single + replicates


def cells_of(design: Design) -> list[Cell]:
    """
    Its cells, those of one effect together.

    :param design: where nothing differs from run to run, the program is told so in half
        of the cells.
    """
    effects = SINGLE_EFFECTS if design.runs == 1 else REPLICATE_EFFECTS
    known = (SMALL_RUN_NOISE, None) if design.model.run_sd == 0 else (None,)
    return [Cell(design, effect, noise) for effect in effects for noise in known]
