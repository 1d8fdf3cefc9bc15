"""Two ranks on gloo of which rank 1 is slow, in a way that the argument names.

usage: stragglers.py loader|forward|backward|none
"""

import sys
import time
from typing import Any

import torch
import torch.distributed as dist
from torch.utils.data import DataLoader, Dataset

STEPS = 20
SLOW_S = 0.06
USUAL_S = 0.02


class Slow(Dataset[torch.Tensor]):
    """Samples that take their time."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds

    def __len__(self) -> int:
        return STEPS

    def __getitem__(self, index: int) -> torch.Tensor:
        time.sleep(self.seconds)
        return torch.ones(1)


class Sleep(torch.autograd.Function):
    """Passes its input on; sleeps on the way back."""

    @staticmethod
    def forward(context: Any, value: torch.Tensor, seconds: float) -> torch.Tensor:
        context.seconds = seconds
        return value

    @staticmethod
    def backward(context: Any, gradient: torch.Tensor) -> tuple[torch.Tensor, None]:
        time.sleep(context.seconds)
        return gradient, None


def main() -> None:
    """Train."""
    slow = sys.argv[1]
    dist.init_process_group("gloo")
    is_slow = dist.get_rank() == 1

    def seconds(stage: str) -> float:
        return SLOW_S if is_slow and stage == slow else USUAL_S

    model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(1, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for batch in DataLoader(Slow(seconds("loader")), batch_size=1):
        time.sleep(seconds("forward"))
        prediction = Sleep.apply(model(batch), seconds("backward"))
        prediction.sum().backward()
        optimizer.step()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
