"""The C++ parts: recorder and analyzer.

Names and meaning are those of the C++ headers
`metatrain_timing/recorder/{recorder,interval}.hpp` and `metatrain_timing/analyzer/...`.
"""

import os
from collections.abc import Callable
from typing import Any, TypeVar

_F = TypeVar("_F", bound=Callable[..., Any])

# --- recorder: life cycle -------------------------------------------------------------
def start(
    database: str | bytes | os.PathLike[str] = "",
    command: str = "",
    continues_previous: bool = False,
) -> bool: ...
def recording() -> bool: ...
def fix_identity() -> dict[str, str]:
    """
    Fix the run's identity for the children to come.

    :return: the environment variables that tell them, already set; empty when off.
    """

def run_uuid() -> str: ...
def process_uuid() -> str: ...
def set_process(
    role: str,
    worker_id: int | None = None,
    loader: int = -1,
    start_method: str = "",
    started_ns: int = -1,
) -> None: ...
def set_fact(key: str, value: str) -> None: ...
def note_problem(code: str, text: str) -> None: ...
def flush() -> None: ...
def stop() -> None: ...
def save_children() -> None: ...
def stop_after_children() -> None: ...
def health() -> dict[str, Any]: ...
def totals() -> list[tuple[str, int, int]]: ...
def counter_totals() -> list[tuple[str, float]]: ...
def reset_totals() -> None: ...
def now_ns() -> int: ...

# --- recorder: loaders and passes -----------------------------------------------------
def define_loader(
    name: str,
    *,
    created_at: str = "",
    dataset_class: str = "",
    num_workers: int = 0,
    batch_size: int | None = None,
    prefetch_factor: int | None = None,
    persistent_workers: bool = False,
    pin_memory: bool = False,
    in_order: bool = True,
    start_method: str = "",
    sampler_class: str = "",
    number: int = -1,
) -> int: ...
def define_iterator(loader: int, epoch: int, number: int = -1) -> int: ...
def iterator_first_wait(iterator: int) -> None: ...
def iterator_phase(iterator: int, phase: str) -> None: ...
def iterator_ended(iterator: int, exhausted: bool) -> None: ...

# --- recorder: hot path ---------------------------------------------------------------
def stage(name: str) -> int:
    """Intern a stage name."""

def counter(name: str) -> int: ...
def begin(stage: int, cpu: bool = False, /) -> int:
    """Open an interval; the token is for `end` or `cancel`. 0 when recording is off."""

def end(token: int, /) -> None: ...
def cancel(token: int, /) -> None: ...
def add(
    stage: int,
    start_ns: int,
    end_ns: int,
    iterator: int = -1,
    batch: int = -1,
    step: int = -1,
    /,
) -> None: ...
def count(counter: int, value: float, /) -> None: ...
def set_context(iterator: int = -1, batch: int = -1, step: int = -1, /) -> None: ...
def context() -> tuple[int, int, int]: ...
def turn_ended() -> None: ...
def inside(stage: int, /) -> bool:
    """Whether this thread is in a `timed` block of this stage."""

def forget_entered() -> None:
    """Forget the `timed` blocks of the parent; for a child after a fork."""

class timed:
    """`with timed(stage): ...` or `@timed(stage)`; also recorded when the block raises.

    There is one object for each stage, usable by any thread, also within itself. Off:
    enters and leaves without reading a clock.
    """

    stage: str

    def __init__(self, stage: str) -> None: ...
    def __enter__(self) -> timed: ...
    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: Any,
    ) -> None: ...
    def __call__(self, function: _F) -> _F: ...

# --- recorder: steps ------------------------------------------------------------------
class StepTracker:
    """
    One count of training steps, though several parties announce them.

    Each *requester* (an optimizer, a loop, a profiler, the program) counts for itself,
    and the step is the greatest of their counts: a step that three of them announce is
    one. Methods are those of torch.autograd.profiler.KinetoStepTracker, of which there
    is one; of this one there may be any number. Any thread may call them.
    """

    def __init__(self, on_step: Callable[[int], object] | None = None) -> None:
        """
        :param on_step: called with each step as it is reached, in order, one at a time.
            What it raises comes out of `increment_step`; the step is counted then.
        """

    @staticmethod
    def of_process() -> StepTracker:
        """The one of this process, whose step its records carry."""

    def init_step_count(self, requester: str) -> None:
        """Let a requester begin, also anew, with the current step."""

    def erase_step_count(self, requester: str) -> bool:
        """
        Forget a requester; that lowers no step.

        :return: whether it was known.
        """

    def increment_step(self, requester: str) -> int:
        """
        Count a step of a requester, which begins with the current step if it is new.

        :return: the current step.
        """

    def current_step(self) -> int: ...
    def step_counts(self) -> dict[str, int]:
        """The count of each requester that is not erased."""

# --- recorder: benchmarks -------------------------------------------------------------
class BenchmarkWindow:
    """What was measured of some steps of one epoch."""

    @property
    def epoch(self) -> int: ...
    @property
    def first_step(self) -> int: ...
    @property
    def steps(self) -> int:
        """Fewer than planned where the epoch ended before."""

    @property
    def total_ns(self) -> int: ...
    @property
    def samples(self) -> float:
        """Of all ranks."""

    @property
    def step_ns(self) -> float:
        """Mean."""

    @property
    def step_error_ns(self) -> float | None:
        """Standard error of the mean, by blocks of steps; None below 20 steps."""

    @property
    def samples_per_s(self) -> float: ...

class BenchmarkPrediction:
    """How long a training takes as a whole, at 95 %, and of what that is the sum."""

    @property
    def total_ns(self) -> float: ...
    @property
    def low_ns(self) -> float: ...
    @property
    def high_ns(self) -> float: ...
    @property
    def steps_ns(self) -> float: ...
    @property
    def epoch_starts_ns(self) -> float:
        """Making iterators and workers, first batches."""

    @property
    def epoch_ends_ns(self) -> float:
        """All between the last step of an epoch and the next epoch."""

class Benchmark:
    """Which epoch and step comes next, and what was measured; see benchmark.hpp."""

    def __init__(
        self,
        epochs: int,
        *,
        min_steps: int,
        epoch_list: list[int],
        step_list: list[int],
        all_epochs: bool,
        warmup_steps: int,
    ) -> None: ...
    def begin_epoch(self, now_ns: int) -> int | None: ...
    def begin_pass(self, now_ns: int, steps: int | None) -> None: ...
    def begin_step(self) -> int | None: ...
    def batch_delivered(self, now_ns: int) -> None: ...
    def end_step(self, now_ns: int, samples: float) -> bool: ...
    def end_pass(self, now_ns: int) -> None: ...
    def set_samples(self, samples: float) -> None: ...
    def windows(self) -> list[BenchmarkWindow]: ...
    def prediction(self) -> BenchmarkPrediction | None: ...

# --- analyzer -------------------------------------------------------------------------
def analyze(path: str, command: str, options: dict[str, str]) -> str:
    """Run `report`, `runs` or `sql` of mt-analyze and return its JSON as text.

    :raises AnalyzerError: with the one-line message of the command.
    """

class AnalyzerError(RuntimeError): ...
