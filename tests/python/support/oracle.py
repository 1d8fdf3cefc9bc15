"""What a loop over a DataLoader waits for, worked out without the analyzer.

A loop whose stages sleep is simple: a worker makes its batches one after the other,
each begun when the worker is free and its index is there; the loop takes them in order,
or as they come. So every wait, and what its worker did meanwhile, follows by
arithmetic.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

Lengths = Mapping[tuple[str, int], float]
"""Milliseconds that a stage, `sampler` or `body` of a batch took."""


@dataclass(frozen=True)
class Config:
    """
    A loop; times in milliseconds.

    What stages of a batch take is multiplied by its worker's and its own factor.
    """

    workers: int
    prefetch: int = 2
    in_order: bool = True
    persistent: bool = False
    steps: int = 24
    step_ms: float = 12
    dataset_ms: float = 6
    collate_ms: dict[str, float] = field(default_factory=lambda: {"join": 8, "pack": 5})
    sampler_ms: float = 0
    slow_worker: float = 1  # of the last worker
    slow_every: int = 0  # every so many batches is slow
    slow_batch: float = 1  # such a one

    def stages_ms(self, batch: int, worker: int) -> dict[str, float]:
        """What the stages of a batch take."""
        factor = self.slow_worker if worker == self.workers - 1 else 1
        if self.slow_every and batch % self.slow_every == self.slow_every - 1:
            factor *= self.slow_batch
        stages = {"dataset": self.dataset_ms, **self.collate_ms}
        return {stage: factor * ms for stage, ms in stages.items()}

    def as_json(self) -> dict[str, Any]:
        """For the workload."""
        return asdict(self)


@dataclass
class Waits:
    """All waits of a loop."""

    total_ms: float = 0
    turns_ms: list[float] = field(default_factory=list)  # wait and body of each
    head_of_line_ms: float = 0  # while a later batch lay ready
    causes: dict[tuple[str, str], float] = field(
        default_factory=lambda: defaultdict(float)
    )
    """By cause and stage, as in mt.report/1, workers put together."""


@dataclass(frozen=True)
class _Stretch:
    """What a worker did."""

    batch: int
    stage: str
    start: float
    end: float


class _Loop:
    """Simulates one pass; the first wait begins at 0."""

    def __init__(
        self, config: Config, starts: Sequence[float], lengths: Lengths
    ) -> None:
        self.config = config
        self.starts = starts
        self.lengths = lengths
        first = range(config.prefetch * config.workers)
        self.now = -sum(
            self.length("sampler", batch, config.sampler_ms) for batch in first
        )
        self.waits = Waits()
        self.put_count = 0
        self.turn = 0  # of the workers
        self.free = list(starts)
        self.done: list[list[_Stretch]] = [[] for _ in range(config.workers)]
        self.outstanding: dict[int, tuple[int, float]] = {}  # batch: worker, when made

    def run(self) -> Waits:
        for _ in range(self.config.prefetch * self.config.workers):
            self.put()
        for step in range(self.config.steps):
            began = self.now
            if self.config.workers:
                self.wait_for_worker(step)
                self.waits.causes["main", "sampler"] += self.put()
            else:
                self.make()
            self.waits.total_ms += self.now - began
            self.now += self.length("body", step, self.config.step_ms)
            self.waits.turns_ms.append(self.now - began)
        return self.waits

    def length(self, what: str, batch: int, nominal_ms: float) -> float:
        return self.lengths.get((what, batch), nominal_ms)

    def make(self) -> None:
        """A batch, without workers."""
        batch = self.put_count
        self.put_count += 1
        parts = {"sampler": self.config.sampler_ms, **self.config.stages_ms(batch, 0)}
        for stage, nominal_ms in parts.items():
            ms = self.length(stage, batch, nominal_ms)
            self.waits.causes["main", stage] += ms
            self.now += ms

    def put(self) -> float:
        """The next index; what drawing it took."""
        if self.put_count == self.config.steps:
            return 0
        batch, worker = self.put_count, self.choose_worker()
        drawing_ms = self.length("sampler", batch, self.config.sampler_ms)
        self.now += drawing_ms
        self.put_count += 1
        at = max(self.now, self.free[worker])
        for stage, nominal_ms in self.config.stages_ms(batch, worker).items():
            end = at + self.length(stage, batch, nominal_ms)
            self.done[worker].append(_Stretch(batch, stage, at, end))
            at = end
        self.free[worker] = at
        self.outstanding[batch] = (worker, at)
        return drawing_ms

    def choose_worker(self) -> int:
        """In turn; out of order, one that has fewer than prefetch batches."""
        for _ in range(self.config.workers):
            worker = self.turn
            self.turn = (self.turn + 1) % self.config.workers
            held = sum(1 for owner, _ in self.outstanding.values() if owner == worker)
            if self.config.in_order or held < self.config.prefetch:
                break
        return worker

    def wait_for_worker(self, step: int) -> None:
        if self.config.in_order:
            batch = step
        else:
            batch = min(self.outstanding, key=lambda one: self.outstanding[one][1])
        worker, made = self.outstanding.pop(batch)
        until = max(self.now, made)
        known = 0.0
        for one in self.done[worker]:
            length = min(one.end, until) - max(one.start, self.now)
            if length > 0:
                cause = "fetch" if one.batch == batch else "earlier_batch"
                self.waits.causes[cause, one.stage] += length
                known += length
        starting = max(0.0, min(until, self.starts[worker]) - self.now)
        self.waits.causes["worker_start", "worker_start"] += starting
        self.waits.causes["worker_idle", "worker_idle"] += (
            until - self.now - known - starting
        )
        if self.config.in_order and self.outstanding:
            ready = min(made for _, made in self.outstanding.values())
            self.waits.head_of_line_ms += max(0.0, until - max(ready, self.now))
        self.now = until


def work_out(
    config: Config,
    starts: Sequence[float] | None = None,
    lengths: Lengths | None = None,
) -> Waits:
    """
    The waits of a loop, exactly.

    :param config: the loop.
    :param starts: when each worker begins with its first batch, in milliseconds after
        the begin of the first wait; None: at once.
    :param lengths: what took another time than the loop asks for.
    """
    return _Loop(config, starts or [0.0] * config.workers, lengths or {}).run()
