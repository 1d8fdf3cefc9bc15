"""A loop whose work is known: what whatif_bench.py runs in each of its processes.

usage: python benchmarks/python/whatif_loop.py KIND [--num-workers N] ...

KIND is `sleep` (stages sleep: they need no CPU) or `cpu` (stages compute until the
thread has used so much CPU time). Prints the mean of the steps after the first ones.
"""

import argparse
import json
import time
from collections.abc import Callable, Sequence

import numpy as np
import torch
from torch.utils.data import DataLoader, Dataset

from metatrain_timing import timed

FETCH_MS = 30.0
STEP_MS = 20.0
SPREAD = 0.4  # of the logarithm of what batches take
WARM_UP = 20


def sleep_ms(ms: float) -> None:
    """Take time without a CPU."""
    time.sleep(ms / 1000)


def compute_ms(ms: float) -> None:
    """Use CPU time, however long that takes."""
    until = time.thread_time() + ms / 1000
    while time.thread_time() < until:
        sum(range(500))


WORK = {"sleep": sleep_ms, "cpu": compute_ms}


class Numbers(Dataset[int]):
    """Each item is its index."""

    def __init__(self, count: int) -> None:
        self.count = count

    def __len__(self) -> int:
        return self.count

    def __getitem__(self, index: int) -> int:
        return index


class Collate:
    """Takes a time of its own for each batch, the same in every run."""

    def __init__(self, work: Callable[[float], None], steps: int) -> None:
        spread = np.random.default_rng(0).lognormal(0, SPREAD, steps)
        self.ms = FETCH_MS * spread / spread.mean()
        self.work = work

    def __call__(self, items: Sequence[int]) -> torch.Tensor:
        with timed("serialize"):
            self.work(self.ms[items[0]])
        return torch.zeros(1000)


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("kind", choices=WORK)
    arguments.add_argument("--steps", type=int, default=150)
    arguments.add_argument("--num-workers", type=int, default=0)
    arguments.add_argument("--prefetch-factor", type=int, default=2)
    arguments.add_argument("--out-of-order", action="store_true")
    given = arguments.parse_args()
    torch.set_num_threads(1)
    work = WORK[given.kind]
    with_workers = {
        "prefetch_factor": given.prefetch_factor,
        "in_order": not given.out_of_order,
    }
    loader = DataLoader(
        Numbers(given.steps),
        batch_size=1,
        collate_fn=Collate(work, given.steps),
        num_workers=given.num_workers,
        multiprocessing_context="fork" if given.num_workers else None,
        **(with_workers if given.num_workers else {}),
    )
    weight = torch.nn.Parameter(torch.zeros(1))
    optimizer = torch.optim.SGD([weight], lr=0.1)
    ends = []
    for _ in loader:
        work(STEP_MS)
        optimizer.step()
        ends.append(time.perf_counter())
    step_s = (ends[-1] - ends[WARM_UP - 1]) / (len(ends) - WARM_UP)
    print(json.dumps({"step_s": step_s}))


if __name__ == "__main__":
    main()
