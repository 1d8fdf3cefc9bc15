"""A training that is small in every respect but its loops: see the options."""

import argparse
import hashlib
import os
import random
import signal
import time
from collections.abc import Iterator
from typing import Any

import numpy as np
import torch
from torch.utils.data import DataLoader, Dataset, IterableDataset, get_worker_info


class Numbers(Dataset[torch.Tensor]):
    """Tensors of random numbers, drawn when they are read."""

    def __init__(self, count: int, options: argparse.Namespace) -> None:
        self.count = count
        self.fails_at = options.fails_at
        self.sleep_s = options.sleep_sample
        self.slow_worker = options.slow_worker

    def __len__(self) -> int:
        return self.count

    def __getitem__(self, index: int) -> torch.Tensor:
        if index == self.fails_at:
            raise RuntimeError(f"sample {index} is broken")
        info = get_worker_info()
        slow = self.slow_worker and info is not None and info.id == 1
        time.sleep(0.05 if slow else self.sleep_s)
        return torch.randn(4) + random.random() + float(np.random.random())


class NumberStream(IterableDataset[torch.Tensor]):
    """The same as a stream, split among workers."""

    def __init__(self, count: int) -> None:
        self.count = count

    def __iter__(self) -> Iterator[torch.Tensor]:
        info = get_worker_info()
        workers, worker = (1, 0) if info is None else (info.num_workers, info.id)
        for _ in range(worker, self.count, workers):
            yield torch.randn(4) + random.random()


def collate(samples: list[torch.Tensor]) -> torch.Tensor:
    """A collate function of the user's own."""
    return torch.stack(samples)


def sleep_at_start(_worker: int) -> None:
    """A worker's own set-up."""
    time.sleep(0.2)


def make_loader(options: argparse.Namespace, batches: int) -> DataLoader[torch.Tensor]:
    """A loader as the options ask for it."""
    count = batches * options.batch_size
    dataset: Any = NumberStream(count) if options.iterable else Numbers(count, options)
    with_workers: dict[str, Any] = {}
    if options.workers:
        with_workers = {
            "multiprocessing_context": options.start_method,
            "persistent_workers": options.persistent,
            "worker_init_fn": sleep_at_start if options.sleep_start else None,
            "in_order": not options.any_order,
        }
    return DataLoader(
        dataset,
        batch_size=options.batch_size,
        num_workers=options.workers,
        collate_fn=collate,
        shuffle=options.shuffle,
        pin_memory=options.pin,
        **with_workers,
    )


def digest(model: torch.nn.Module, losses: list[float]) -> str:
    """All that a training's result is: losses, weights, states of the generators."""
    numbers = hashlib.sha256()
    numbers.update(repr(losses).encode())
    for parameter in model.parameters():
        numbers.update(parameter.detach().numpy().tobytes())
    numbers.update(torch.get_rng_state().numpy().tobytes())
    numbers.update(repr(random.getstate()).encode())
    numbers.update(repr(np.random.get_state()).encode())
    return numbers.hexdigest()


def read_options() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--workers", type=int, default=0)
    parser.add_argument("--start-method", default="fork")
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--batches", type=int, default=5)
    parser.add_argument("--batch-size", type=int, default=2)
    parser.add_argument("--validation", type=int, default=0, help="batches")
    parser.add_argument("--iterable", action="store_true")
    parser.add_argument("--persistent", action="store_true")
    parser.add_argument("--shuffle", action="store_true")
    parser.add_argument("--any-order", action="store_true")
    parser.add_argument("--slow-worker", action="store_true")
    parser.add_argument("--pin", action="store_true")
    parser.add_argument("--sleep-start", action="store_true")
    parser.add_argument("--sleep-sample", type=float, default=0.0)
    parser.add_argument("--sleep-step", type=float, default=0.0)
    parser.add_argument("--fails-at", type=int, default=-1, help="sample")
    parser.add_argument("--forward-fails", action="store_true")
    parser.add_argument("--signal-at", type=int, default=-1, help="step")
    parser.add_argument("--signal", default="SIGINT")
    parser.add_argument("--chdir", default="")
    parser.add_argument("--micro-batches", type=int, default=1)
    return parser.parse_args()


def main() -> None:
    """Train."""
    options = read_options()
    if options.chdir:
        os.chdir(options.chdir)
    torch.manual_seed(7)
    random.seed(7)
    np.random.seed(7)
    model = torch.nn.Sequential(
        torch.nn.Linear(4, 8), torch.nn.Dropout(), torch.nn.Linear(8, 1)
    )
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    loader = make_loader(options, options.batches)
    validation = make_loader(options, options.validation) if options.validation else ()
    losses = []
    turn = 0
    for _ in range(options.epochs):
        for batch in loader:
            if turn == options.signal_at:
                os.kill(os.getpid(), getattr(signal, options.signal))
                time.sleep(5)
            if options.forward_fails:
                raise RuntimeError("forward failed")
            loss = model(batch).square().mean()
            loss.backward()
            time.sleep(options.sleep_step)
            turn += 1
            if turn % options.micro_batches == 0:
                optimizer.step()
                optimizer.zero_grad()
            losses.append(loss.item())
        with torch.no_grad():
            losses.extend(model(batch).square().mean().item() for batch in validation)
    print(digest(model, losses))


if __name__ == "__main__":
    main()
