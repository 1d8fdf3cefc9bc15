"""A small training over a DataLoader, recorded where METATRAIN_TIMING_DB is set.

usage: real_loop.py STEPS WORKERS SLEEP_MS

SLEEP_MS: what one of the transforms of each batch sleeps.
"""

import sys
import time

import torch
from torch.utils.data import DataLoader

from metatrain_timing import timed

SIZE = 64
BATCH = 16
PASSES = 40  # through the network a step, so that it takes some milliseconds


class Collate:
    """Two transforms, one of which may sleep."""

    def __init__(self, sleep_s: float) -> None:
        self.sleep_s = sleep_s

    def __call__(self, numbers: list[int]) -> torch.Tensor:
        with timed("transforms/features"):
            batch = torch.tensor(numbers, dtype=torch.float32).reshape(-1, 1)
            batch = torch.sin(batch * torch.arange(SIZE) / SIZE)
        with timed("transforms/neighbors"):
            if self.sleep_s > 0:
                time.sleep(self.sleep_s)
            return batch + 0.01 * torch.cos(batch)


def main() -> None:
    """Train."""
    steps, workers, sleep_ms = (float(argument) for argument in sys.argv[1:4])
    torch.manual_seed(0)
    torch.set_num_threads(1)
    model = torch.nn.Sequential(
        torch.nn.Linear(SIZE, SIZE), torch.nn.Tanh(), torch.nn.Linear(SIZE, SIZE)
    )
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    loader: DataLoader[torch.Tensor] = DataLoader(
        range(BATCH * int(steps)),  # type: ignore[arg-type]
        batch_size=BATCH,
        collate_fn=Collate(sleep_ms / 1000),
        num_workers=int(workers),
        multiprocessing_context="fork" if workers else None,
    )
    for batch in loader:
        with timed("forward"):
            loss = torch.zeros(())
            for _ in range(PASSES):
                loss = loss + model(batch).square().mean()
        optimizer.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        optimizer.step()


if __name__ == "__main__":
    main()
