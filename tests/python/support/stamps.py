"""What a loop waited for, by its own clock: workloads/oracle.py writes it."""

import json
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path

from tests.python.support.oracle import Waits


@dataclass(frozen=True)
class Stamp:
    """Something of a batch that took time, in milliseconds."""

    worker: int  # -1: the training process
    what: str  # a stage, `sampler`, `wait` or `body`
    batch: int
    begin: float
    end: float

    def within(self, begin: float, end: float) -> float:
        """How much of it lies between two times."""
        return max(0.0, min(self.end, end) - max(self.begin, begin))


@dataclass
class Loop:
    """The stamps of one loop."""

    stamps: list[Stamp] = field(default_factory=list)

    def of(self, what: str) -> list[Stamp]:
        """Those of one kind, in the order of their times."""
        found = (stamp for stamp in self.stamps if stamp.what == what)
        return sorted(found, key=lambda stamp: stamp.begin)

    def lengths(self) -> dict[tuple[str, int], float]:
        """Of all but the waits; of bodies by their place in the loop."""
        result = {
            (stamp.what, stamp.batch): stamp.end - stamp.begin
            for stamp in self.stamps
            if stamp.what not in ("wait", "body")
        }
        for place, stamp in enumerate(self.of("body")):
            result["body", place] = stamp.end - stamp.begin
        return result

    def starts(self) -> list[float]:
        """When each worker began with its first batch, after the first wait began."""
        first: dict[int, float] = {}
        for stamp in self.stamps:
            if stamp.worker >= 0:
                first.setdefault(stamp.worker, stamp.begin - self.of("wait")[0].begin)
        return [begin for _, begin in sorted(first.items())]

    def waits(self) -> Waits:
        """What its workers did meanwhile; nothing of ours is `worker_idle`."""
        waits, starts = Waits(), self.starts()
        zero = self.of("wait")[0].begin
        made_by = {stamp.batch: stamp.worker for stamp in self.of("dataset")}
        for wait in self.of("wait"):
            length, worker = wait.end - wait.begin, made_by[wait.batch]
            waits.total_ms += length
            parts: dict[tuple[str, str], float] = defaultdict(float)
            inside = [
                stamp
                for stamp in self.stamps
                if stamp.worker == -1 and wait.begin <= stamp.begin < wait.end
            ]
            for stamp in inside:
                if stamp.what not in ("wait", "body"):
                    parts["main", stamp.what] += stamp.within(wait.begin, wait.end)
            # The next index is drawn once the batch is there, whatever its worker does.
            drawing = [stamp.begin for stamp in inside if stamp.what == "sampler"]
            until = min(drawing, default=wait.end)
            for stamp in self.stamps:
                if stamp.worker == worker >= 0:
                    cause = "fetch" if stamp.batch == wait.batch else "earlier_batch"
                    parts[cause, stamp.what] += stamp.within(wait.begin, until)
            if worker >= 0:
                start = Stamp(worker, "worker_start", -1, zero, zero + starts[worker])
                parts["worker_start", start.what] += start.within(wait.begin, until)
            parts["worker_idle", "worker_idle"] += length - sum(parts.values())
            for key, ms in parts.items():
                waits.causes[key] += ms
        return waits


def read_stamps(path: Path) -> list[Loop]:
    """Of each loop of a program, in the order of its list."""
    loops: dict[int, Loop] = defaultdict(Loop)
    for line in path.read_text().splitlines():
        number, *row = json.loads(line)
        loops[number].stamps.append(Stamp(*row))
    return [loop for _, loop in sorted(loops.items())]
