"""A loop whose stages sleep, so that the right answer is known beforehand.

usage: sleeps.py WORKERS STEPS
"""

import sys
import time
from typing import Any

from torch.utils.data import DataLoader, Dataset

import metatrain_timing
from metatrain_timing import timed, timing


class Slow(Dataset[int]):
    """Each sample takes 3 ms."""

    def __init__(self, count: int) -> None:
        self.count = count

    def __len__(self) -> int:
        return self.count

    def __getitem__(self, index: int) -> int:
        time.sleep(0.003)
        return index


def transform(samples: list[int]) -> list[int]:
    """Takes 10 ms."""
    time.sleep(0.010)
    return samples


def collate(samples: list[int]) -> list[int]:
    """Stages of 5, 10 and 8 ms."""
    with timed("group_and_join"):
        time.sleep(0.005)
    with timed("transforms"), timing.timed_transform(transform):
        samples = transform(samples)
    with timed("serialize"):
        time.sleep(0.008)
    return samples


def main() -> None:
    """Train by sleeping 15 ms a step."""
    workers, steps = map(int, sys.argv[1:])
    options: dict[str, Any] = {"multiprocessing_context": "fork"} if workers else {}
    loader = DataLoader(
        Slow(4 * steps),
        batch_size=4,
        num_workers=workers,
        collate_fn=collate,
        **options,
    )
    with metatrain_timing.phase("train"):
        for _ in loader:
            with timed("forward"):
                time.sleep(0.015)
    print(timing.report())


if __name__ == "__main__":
    main()
