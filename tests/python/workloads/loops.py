"""Loops of all shapes over small loaders, each in a stage `scenario/<name>`."""

import itertools
import queue
import sys
import threading
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch.utils.data import DataLoader

import metatrain_timing
from metatrain_timing import timing

SCENARIOS: dict[str, Callable[[], None]] = {}

weight = torch.ones(1, requires_grad=True)
optimizer = torch.optim.SGD([weight], lr=0.1)


def scenario(function: Callable[[], None]) -> Callable[[], None]:
    """Register a scenario under its function's name."""
    SCENARIOS[function.__name__] = function
    return function


def loader(batches: int, **options: Any) -> DataLoader[Any]:
    """A loader of single numbers."""
    return DataLoader(torch.arange(batches), batch_size=1, **options)


def train(batch: torch.Tensor) -> None:
    """A training step."""
    (weight * batch).sum().backward()
    optimizer.step()


@scenario
def zipped() -> None:
    """Two loaders make one turn."""
    for one, two in zip(loader(4), loader(6), strict=False):
        train(one + two)


@scenario
def nested_validation() -> None:
    """A validation loop in the body of a training loop."""
    for index, batch in enumerate(loader(4)):
        train(batch)
        if index % 2:
            for _ in loader(3):
                pass


@scenario
def nested_validation_left_early() -> None:
    """Its validation loop breaks, and the iterator lives on."""
    kept = []
    for batch in loader(3):
        checks = iter(loader(5))
        kept.append(checks)
        for _ in checks:
            break
        train(batch)


@scenario
def break_out() -> None:
    """Leave a loop early."""
    for index, batch in enumerate(loader(9)):
        train(batch)
        if index == 2:
            break
    threading.Event().wait(0.05)  # not part of any body


@scenario
def break_out_of_persistent() -> None:
    """Leave a loop whose iterator belongs to the loader, then validate and go on."""
    batches = loader(9, num_workers=1, persistent_workers=True)
    for _ in range(2):
        for index, batch in enumerate(batches):
            train(batch)
            if index == 2:
                break
        for _ in loader(2):
            pass


@scenario
def exception() -> None:
    """A body raises."""
    try:
        for index, batch in enumerate(loader(9)):
            if index == 2:
                raise ValueError("stop")
            train(batch)
    except ValueError:
        pass


def cycle(batches: DataLoader[Any]) -> Iterator[Any]:
    """Batches without end."""
    while True:
        yield from batches


@scenario
def generator() -> None:
    """The loader hides behind a generator, for two epochs and a half."""
    batches = cycle(loader(4))
    for _ in range(10):
        train(next(batches))


@scenario
def zipped_generators() -> None:
    """Two generators, one turn."""
    for one, two, _ in zip(cycle(loader(9)), cycle(loader(9)), range(4), strict=False):
        train(one + two)


class Trainer:
    """Asks for batches in a method."""

    def __init__(self) -> None:
        self.batches = iter(loader(4))

    def step(self) -> None:
        """One training step."""
        train(next(self.batches))


@scenario
def next_in_a_method() -> None:
    """Each request comes from a new frame."""
    trainer = Trainer()
    for _ in range(4):
        trainer.step()


@scenario
def next_in_a_loop_then_for() -> None:
    """A loop by `next` for warming up, then another over the same loader."""
    batches = loader(4)
    endless = itertools.cycle(batches)
    for _ in range(3):
        next(endless)
    threading.Event().wait(0.05)  # still part of the last turn
    for batch in batches:
        train(batch)


@scenario
def next_in_a_for() -> None:
    """A second loader is asked in the body of the first one's loop."""
    unlabelled = iter(loader(9))
    for batch in loader(4):
        train(batch + next(unlabelled))


@scenario
def two_next_in_a_while() -> None:
    """Two loaders are asked in turn, by a loop over neither."""
    ones, twos = iter(loader(4)), iter(loader(4))
    done = 0
    while done < 3:
        one = next(ones)
        two = next(twos)
        train(one + two)
        done += 1


@scenario
def next_in_a_while() -> None:
    """Validate after a loop that was left."""
    endless = itertools.cycle(loader(9))
    done = 0
    while done < 4:
        train(next(endless))
        done += 1
    for _ in loader(2):
        pass


@scenario
def prefetching_thread() -> None:
    """A thread asks, the main thread trains."""
    batches: queue.Queue[Any] = queue.Queue(2)

    def prefetch() -> None:
        for batch in loader(4):
            batches.put(batch)
        batches.put(None)

    thread = threading.Thread(target=prefetch)
    thread.start()
    while (batch := batches.get()) is not None:
        train(batch)
    thread.join()


@scenario
def named_phase() -> None:
    """The user says what a pass is for."""
    with metatrain_timing.phase("warm-up"):
        for batch in loader(2):
            train(batch)


@scenario
def loader_in_a_data_set() -> None:
    """Reading a sample reads another loader."""

    class Outer(torch.utils.data.Dataset[Any]):
        def __len__(self) -> int:
            return 2

        def __getitem__(self, index: int) -> Any:
            return torch.stack(list(loader(3))).sum() + index

    for batch in DataLoader(Outer(), batch_size=1):
        train(batch)


@scenario
def timed_iter_over_a_loader() -> None:
    """The timing of metatrain itself, around an instrumented loader."""
    for batch in timing.timed_iter(loader(3), "loader", "step"):
        with timing.timed("backward"):
            (weight * batch).sum().backward()
        with timing.timed("optimizer"):
            optimizer.step()


@scenario
def timed_iter_with_other_names() -> None:
    """Stages of the user's own around those of the loader."""
    for batch in timing.timed_iter(loader(3), "data", "work"):
        train(batch)


@scenario
def timed_iter_over_a_list() -> None:
    """No loader at all."""
    for batch in timing.timed_iter([torch.ones(1)] * 3, "loader", "step"):
        train(batch)


@scenario
def no_loop() -> None:
    """Training without any loader: a round of the optimizers is a step."""
    other = torch.optim.SGD([weight], lr=0.1)
    for _ in range(3):
        (weight * 2).sum().backward()
        optimizer.step()
        other.step()


def main() -> None:
    """Run the scenarios that the command line names, or all."""
    for name in sys.argv[1:] or SCENARIOS:
        with metatrain_timing.timed(f"scenario/{name}"):
            SCENARIOS[name]()


if __name__ == "__main__":
    main()
