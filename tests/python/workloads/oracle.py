"""Loops whose stages sleep, one after the other, each in a phase of its own.

usage: oracle.py CONFIGS.json

The file has a list of tests.python.support.oracle.Config; the phases are c00, c01, ...
What each wait and each stage took by this program's own clock, in each process, goes
line by line to CONFIGS.stamps, see tests.python.support.stamps.
"""

import json
import os
import sys
import time
from collections.abc import Iterator, Sized
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from torch.utils.data import DataLoader, Dataset, Sampler, get_worker_info

import metatrain_timing
from metatrain_timing import timed


def sleep_ms(ms: float) -> None:
    if ms > 0:
        time.sleep(ms / 1000)


class Clock:
    """Writes what was when, each line at once, whichever process writes it."""

    def __init__(self, path: Path, number: int) -> None:
        self.file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
        self.number = number

    def stamp(self, what: str, batch: int, began: int) -> int:
        """`what` of a batch, from `began` until now; gives now."""
        info, now = get_worker_info(), time.monotonic_ns()
        worker = info.id if info else -1
        row = [self.number, worker, what, batch, began / 1e6, now / 1e6]
        os.write(self.file, (json.dumps(row) + "\n").encode())
        return now

    @contextmanager
    def stamped(self, what: str, batch: int) -> Iterator[None]:
        """The block as `what` of a batch."""
        began = time.monotonic_ns()
        yield
        self.stamp(what, batch, began)


class Batches(Dataset[tuple[int, float]]):
    """One item is one batch: its number, and the factor of its stages."""

    def __init__(self, config: dict[str, Any], clock: Clock) -> None:
        self.config = config
        self.clock = clock

    def __len__(self) -> int:
        return int(self.config["steps"])

    def __getitem__(self, batch: int) -> tuple[int, float]:
        info = get_worker_info()
        config, factor = self.config, 1.0
        if (info.id if info else 0) == config["workers"] - 1:
            factor = config["slow_worker"]
        every = config["slow_every"]
        if every and batch % every == every - 1:
            factor *= config["slow_batch"]
        with self.clock.stamped("dataset", batch):
            sleep_ms(factor * config["dataset_ms"])
        return batch, factor


class SlowSampler(Sampler[int]):
    """Takes its time for each index."""

    def __init__(self, data: Sized, ms: float, clock: Clock) -> None:
        self.data = data
        self.ms = ms
        self.clock = clock

    def __len__(self) -> int:
        return len(self.data)

    def __iter__(self) -> Iterator[int]:
        for index in range(len(self.data)):
            with self.clock.stamped("sampler", index):
                sleep_ms(self.ms)
            yield index


def run(config: dict[str, Any], clock: Clock) -> None:
    """One loop."""

    def collate(samples: list[tuple[int, float]]) -> int:
        ((batch, factor),) = samples
        for stage, ms in config["collate_ms"].items():
            with timed(stage), clock.stamped(stage, batch):
                sleep_ms(factor * ms)
        return batch

    data = Batches(config, clock)
    options: dict[str, Any] = {}
    if config["workers"]:
        options = {
            "prefetch_factor": config["prefetch"],
            "in_order": config["in_order"],
            "persistent_workers": config["persistent"],
            "multiprocessing_context": "fork",
        }
    loader = DataLoader(
        data,
        batch_size=1,
        sampler=SlowSampler(data, config["sampler_ms"], clock),
        collate_fn=collate,
        num_workers=config["workers"],
        **options,
    )
    batches = iter(loader)
    now = time.monotonic_ns()
    for batch in batches:
        now = clock.stamp("wait", batch, now)
        sleep_ms(config["step_ms"])
        now = clock.stamp("body", batch, now)


def main() -> None:
    path = Path(sys.argv[1])
    for number, config in enumerate(json.loads(path.read_text())):
        with metatrain_timing.phase(f"c{number:02}"):
            run(config, Clock(path.with_suffix(".stamps"), number))


if __name__ == "__main__":
    main()
