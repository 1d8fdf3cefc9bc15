"""How long a whole training takes, told from windows of it."""

import functools
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from . import _native
from ._native import BenchmarkPrediction, BenchmarkWindow
from .api import phase

WINDOW = _native.stage("window")
PHASE = "benchmark"
"""Phase of the passes over a loader that are benchmarked."""


class Benchmarker:
    """
    Runs windows of a training and tells from them what all of it takes.

        benchmarker = Benchmarker()
        for epoch in benchmarker.epochs(100):
            for batch in benchmarker.batches(loader):
                train(batch)          # `benchmarker.step` is the step of the epoch
            validate()
        print(benchmarker.summary())

    Only the epochs of `epoch_list` are visited, and in each only windows of `min_steps`
    steps that begin at each step of `step_list`; then epoch and step move on to the
    next window, so that what begins at some epoch or step is seen. Batches are the next
    ones of the loader. Parameters and extrapolation are those of the `Benchmarker` of
    Composer (MosaicML, 2022).

    An epoch that is visited takes what its windows tell (a step as much as one of the
    last window at or before it), its start and its end; one that is not counts like the
    last visited one before it. Starts (workers, first batch) and ends (validation,
    checkpoints) are kept out of the windows and added for each epoch. With several
    ranks samples are summed over torch.distributed.

    With recording on, windows are intervals of the run, passes have the phase
    `benchmark`, and `mt-analyze report` shows the prediction. Not thread-safe.
    """

    def __init__(
        self,
        min_steps: int = 50,
        epoch_list: Sequence[int] = (0, 1),
        step_list: Sequence[int] = (0, 50),
        all_epochs: bool = False,
        *,
        warmup_steps: int = 3,
        steps_per_epoch: int | None = None,
        samples: Callable[[Any], float] | None = None,
    ) -> None:
        """
        Plan what is run.

        :param min_steps: steps of a window.
        :param epoch_list: epochs to visit; 0 must be among them.
        :param step_list: first steps of windows; 0 must be among them.
        :param all_epochs: visit all epochs, whatever the list says.
        :param warmup_steps: steps at the begin of each pass over the loader that are
            run and not counted.
        :param steps_per_epoch: of the training; None: the length of the loader.
        :param samples: how many a batch has on this rank; None: the first dimension of
            its first tensor, else its length, else 1.
        :raises ValueError: a list is empty or lacks 0, a number is too small.
        """
        self._make = functools.partial(
            _native.Benchmark,
            min_steps=min_steps,
            epoch_list=list(epoch_list),
            step_list=list(step_list),
            all_epochs=all_epochs,
            warmup_steps=warmup_steps,
        )
        self._make(1)  # what is wrong is said here
        self._steps_per_epoch = steps_per_epoch
        self._samples = samples or _count_samples
        self._benchmark: _native.Benchmark | None = None
        self._epochs = 0
        self.epoch = 0
        """The epoch that is being run."""
        self.step = 0
        """The step of the epoch that is being run."""

    def epochs(self, total: int) -> Iterator[int]:
        """
        The epochs to run.

        :param total: epochs of the whole training.
        :raises ValueError: there is none.
        """
        self._epochs = total
        benchmark = self._benchmark = self._make(total)
        while (epoch := benchmark.begin_epoch(_native.now_ns())) is not None:
            self.epoch = epoch
            yield epoch
        self._note()
        print(
            "metatrain-timing: only parts of the training were run, to tell how long it"
            " takes: the model is not trained",
            file=sys.stderr,
        )

    def batches(self, loader: Iterable[Any]) -> Iterator[Any]:
        """
        The batches of the windows of this epoch.

        :param loader: a DataLoader, or whatever gives batches; it is iterated over
            again where it has fewer than the windows need.
        :raises RuntimeError: outside of a loop over `epochs()`, or for a loader without
            batches.
        """
        benchmark = self._benchmark
        if benchmark is None:
            raise RuntimeError("batches() belongs into a loop over epochs()")
        with phase(PHASE):
            while benchmark.begin_step() is not None:
                delivered = False
                benchmark.begin_pass(_native.now_ns(), self._length_of(loader))
                for batch in loader:
                    step = benchmark.begin_step()
                    if step is None:
                        break
                    delivered = True
                    benchmark.batch_delivered(_native.now_ns())
                    self.step = step
                    yield batch
                    if benchmark.end_step(_native.now_ns(), self._samples(batch)):
                        self._finish_window(benchmark)
                        if benchmark.begin_step() is None:
                            return
                else:
                    benchmark.end_pass(_native.now_ns())
                if not delivered:
                    raise RuntimeError("the loader has no batches")

    @property
    def windows(self) -> list[BenchmarkWindow]:
        """What was measured, in the order of time."""
        return [] if self._benchmark is None else self._benchmark.windows()

    @property
    def prediction(self) -> BenchmarkPrediction | None:
        """
        How long the whole training takes.

        None before the first window is complete, and where the length of an epoch is
        not known.
        """
        return None if self._benchmark is None else self._benchmark.prediction()

    @property
    def wall_clock_train(self) -> float | None:
        """The same, in seconds."""
        prediction = self.prediction
        return None if prediction is None else prediction.total_ns / 1e9

    def summary(self) -> str:
        """What was found, for people: a line for each window, and the prediction."""
        lines = [
            f"epoch {window.epoch}, steps {window.first_step} to"
            f" {window.first_step + window.steps - 1}: {_of_window(window)}"
            for window in self.windows
        ]
        prediction = self.prediction
        if prediction is not None:
            lines.append(f"{self._epochs} epochs take {_of_prediction(prediction)}")
        return "\n".join(lines)

    def _length_of(self, loader: Iterable[Any]) -> int | None:
        if self._steps_per_epoch is not None:
            return self._steps_per_epoch
        try:
            return len(loader)  # type: ignore[arg-type]
        except TypeError:
            return None

    def _finish_window(self, benchmark: _native.Benchmark) -> None:
        window = benchmark.windows()[-1]
        end_ns = _native.now_ns()
        benchmark.set_samples(_sum_over_ranks(window.samples))
        if _native.recording():
            # Windows cut across waits and bodies: they have a track of their own.
            thread = threading.Thread(
                target=_native.add,
                args=(WINDOW, end_ns - window.total_ns, end_ns, -1, -1, self.step),
                name=PHASE,
            )
            thread.start()
            thread.join()
        self._note()

    def _note(self) -> None:
        """Keep in the run what is known so far."""
        if not _native.recording():
            return
        for window in self.windows:
            key = f"benchmark.epoch{window.epoch}.step{window.first_step}"
            _native.set_fact(key, _of_window(window))
        prediction = self.prediction
        if prediction is not None:
            _native.set_fact("benchmark.epochs", str(self._epochs))
            _native.set_fact("benchmark.prediction", _of_prediction(prediction))
            predicted_s = prediction.total_ns / 1e9
            _native.set_fact("benchmark.predicted_s", f"{predicted_s:.6g}")


def _of_window(window: BenchmarkWindow) -> str:
    error = window.step_error_ns
    return (
        f"{window.steps} steps of {window.step_ns / 1e6:.3g}"
        + (f" +- {2 * error / 1e6:.2g}" if error is not None else "")
        + f" ms, {window.samples_per_s:.4g} samples/s"
    )


def _of_prediction(prediction: BenchmarkPrediction) -> str:
    parts = (
        ("steps", prediction.steps_ns),
        ("starts of epochs", prediction.epoch_starts_ns),
        ("ends of epochs", prediction.epoch_ends_ns),
    )
    return (
        f"{prediction.total_ns / 1e9:.4g} s ({prediction.low_ns / 1e9:.4g} to"
        f" {prediction.high_ns / 1e9:.4g}): "
        + ", ".join(f"{name} {ns / 1e9:.3g} s" for name, ns in parts)
    )


def _count_samples(batch: Any) -> float:
    shape = getattr(batch, "shape", None)
    if shape is not None:
        return float(shape[0]) if len(shape) > 0 else 1.0
    if isinstance(batch, dict):
        return _count_samples(next(iter(batch.values()))) if batch else 1.0
    if isinstance(batch, (tuple, list)) and batch and hasattr(batch[0], "shape"):
        return _count_samples(batch[0])
    try:
        return float(len(batch))
    except TypeError:
        return 1.0


def _sum_over_ranks(samples: float) -> float:
    distributed: Any = getattr(sys.modules.get("torch"), "distributed", None)
    if (
        distributed is None
        or not distributed.is_available()
        or not distributed.is_initialized()
    ):
        return samples
    of_ranks: list[float] = [0.0] * distributed.get_world_size()
    distributed.all_gather_object(of_ranks, samples)
    return sum(of_ranks)
