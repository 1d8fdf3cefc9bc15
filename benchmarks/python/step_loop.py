"""A small training, timed: what step_bench.py runs in each of its processes.

usage: python benchmarks/python/step_loop.py RESULT [--steps N] [--workers N] ...

Twelve stages of a step are recorded where recording is on: `loader`, `put_index`,
`sampler`, `receive`, `step`, `zero_grad`, `backward` and `optimizer` by themselves, and
the four named here. The script is the same for all parties, but for the two lines that
traceml-ai asks for.
"""

import argparse
import contextlib
import itertools
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from torch.utils.data import DataLoader, TensorDataset

from metatrain_timing import health, timed

BATCH_SIZE = 4  # small, so that the workers are ahead and a step is what it computes
FEATURES = 32
MATRIX = 96


class Model(torch.nn.Module):
    """A few small layers, and products of matrices that take their time."""

    def __init__(self, products: int) -> None:
        super().__init__()
        self.layers = torch.nn.Sequential(
            torch.nn.Linear(FEATURES, 64), torch.nn.Tanh(), torch.nn.Linear(64, 1)
        )
        self.products = products
        self.matrix = torch.eye(MATRIX)

    def forward(self, features: torch.Tensor) -> torch.Tensor:
        matrix = self.matrix
        with torch.no_grad():
            for _ in range(self.products):
                matrix = matrix @ self.matrix
        prediction: torch.Tensor = self.layers(features) + matrix[0, 1]
        return prediction


def traceml_step() -> Callable[[torch.nn.Module], Any]:
    """What traceml-ai wraps a step in; it looks after the rest by itself."""
    import traceml_ai

    traceml_ai.init(mode="auto", on_missing_aggregator="raise")
    return traceml_ai.trace_step


def train(
    steps: int, workers: int, products: int, around_step: Callable[[Any], Any]
) -> list[float]:
    """
    Train on numbers in memory.

    :param steps: how many.
    :param workers: of the loader.
    :param products: of matrices in a step.
    :param around_step: makes the context of a step.
    :return: seconds of each step, the wait for its batch included.
    """
    torch.manual_seed(0)
    count = steps * BATCH_SIZE
    data = TensorDataset(torch.randn(count, FEATURES), torch.randn(count, 1))
    loader = DataLoader(data, batch_size=BATCH_SIZE, shuffle=True, num_workers=workers)
    model = Model(products)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    stamps = []
    for batch in loader:
        stamps.append(time.perf_counter())
        with around_step(model):
            with timed("unpack"):
                features, target = batch
            with timed("h2d"):
                features, target = features.to("cpu"), target.to("cpu")
            optimizer.zero_grad()
            with timed("forward"):
                prediction = model(features)
            with timed("loss"):
                loss = torch.nn.functional.mse_loss(prediction, target)
            loss.backward()
            optimizer.step()
    return [end - start for start, end in itertools.pairwise(stamps)]


def main() -> None:
    """Train, and write the times to the file RESULT."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("result", type=Path)
    parser.add_argument("--steps", type=int, default=500)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--products", type=int, default=20)
    parser.add_argument("--traceml", action="store_true")
    options = parser.parse_args()
    torch.set_num_threads(1)
    around_step = traceml_step() if options.traceml else contextlib.nullcontext
    times = train(options.steps, options.workers, options.products, around_step)
    found = {"step_s": times, "recorded": health()["recorded_count"]}
    options.result.write_text(json.dumps(found))


if __name__ == "__main__":
    main()
