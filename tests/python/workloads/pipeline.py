"""A training with an optimizer whose parts take the times it is told, by sleeping."""

import argparse
import time
from typing import Any

import torch
from torch.utils.data import DataLoader, Dataset

from metatrain_timing import timed


class Molecules(Dataset[int]):
    """Samples that take their time."""

    def __init__(self, count: int, sample_s: float) -> None:
        self.count = count
        self.sample_s = sample_s

    def __len__(self) -> int:
        return self.count

    def __getitem__(self, index: int) -> int:
        time.sleep(self.sample_s)
        return index


class Parts:
    """A collate function, and what a worker does first."""

    def __init__(self, collate_s: list[float], start_s: float) -> None:
        self.collate_s = collate_s
        self.start_s = start_s

    def collate(self, samples: list[int]) -> torch.Tensor:
        """Collate in three stages."""
        stages = ("group_and_join", "transforms", "serialize")
        for stage, seconds in zip(stages, self.collate_s, strict=True):
            with timed(stage):
                time.sleep(seconds)
        return torch.tensor(samples, dtype=torch.float32)

    def start(self, worker: int) -> None:
        """Begin a worker's life."""
        time.sleep(self.start_s)


def main() -> None:
    """Train for some epochs."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--workers", type=int, default=0)
    parser.add_argument("--persistent", action="store_true")
    parser.add_argument("--epochs", type=int, default=1)
    parser.add_argument("--batches", type=int, default=20)
    parser.add_argument("--batch-size", type=int, default=4)
    parser.add_argument("--sample-ms", type=float, default=0)
    parser.add_argument("--collate-ms", type=float, nargs=3, default=[0, 0, 0])
    parser.add_argument("--start-ms", type=float, default=0)
    parser.add_argument("--step-ms", type=float, default=0)
    options = parser.parse_args()

    parts = Parts([ms / 1e3 for ms in options.collate_ms], options.start_ms / 1e3)
    with_workers: dict[str, Any] = {}
    if options.workers:
        with_workers = {
            "num_workers": options.workers,
            "persistent_workers": options.persistent,
            "worker_init_fn": parts.start,
            "multiprocessing_context": "fork",
        }
    loader = DataLoader(
        Molecules(options.batches * options.batch_size, options.sample_ms / 1e3),
        batch_size=options.batch_size,
        collate_fn=parts.collate,
        **with_workers,
    )
    weight = torch.ones(1, requires_grad=True)
    optimizer = torch.optim.SGD([weight], lr=0.001)
    for _ in range(options.epochs):
        for batch in loader:
            optimizer.zero_grad()
            with timed("forward"):
                time.sleep(options.step_ms / 1e3)
            (weight * batch).sum().backward()
            optimizer.step()


if __name__ == "__main__":
    main()
