"""A plain PyTorch training that knows nothing of metatrain-timing.

METATRAIN_TIMING_DB=run.db python examples/plain_torch/train.py --workers 2
mt-analyze report run.db
"""

import argparse

import torch
from torch.utils.data import DataLoader, Dataset


class Curves(Dataset[torch.Tensor]):
    """Samples that cost something to make: a few hundred points of a random walk."""

    def __init__(self, sample_count: int, point_count: int = 512) -> None:
        self.sample_count = sample_count
        self.point_count = point_count

    def __len__(self) -> int:
        return self.sample_count

    def __getitem__(self, index: int) -> torch.Tensor:
        generator = torch.Generator().manual_seed(index)
        return torch.randn(self.point_count, generator=generator).cumsum(0)


def collate(samples: list[torch.Tensor]) -> tuple[torch.Tensor, torch.Tensor]:
    """Stack the samples; inputs are all points but the last, targets the last."""
    batch = torch.stack(samples)
    return batch[:, :-1] / batch.std(dim=1, keepdim=True), batch[:, -1:]


def train(workers: int, epochs: int, samples: int, batch_size: int) -> float:
    """Train a small network and return the last loss."""
    torch.manual_seed(0)
    loader = DataLoader(
        Curves(samples),
        batch_size=batch_size,
        shuffle=True,
        num_workers=workers,
        collate_fn=collate,
    )
    validation = DataLoader(
        Curves(samples // 4),
        batch_size=batch_size,
        num_workers=workers,
        collate_fn=collate,
    )
    model = torch.nn.Sequential(
        torch.nn.Linear(511, 256), torch.nn.ReLU(), torch.nn.Linear(256, 1)
    )
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    loss = torch.tensor(0.0)
    for _ in range(epochs):
        for inputs, targets in loader:
            optimizer.zero_grad()
            loss = torch.nn.functional.mse_loss(model(inputs), targets)
            loss.backward()
            optimizer.step()
        with torch.no_grad():
            for inputs, targets in validation:
                torch.nn.functional.mse_loss(model(inputs), targets)
    return float(loss)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--samples", type=int, default=256)
    parser.add_argument("--batch-size", type=int, default=16)
    args = parser.parse_args()
    loss = train(args.workers, args.epochs, args.samples, args.batch_size)
    print(f"last loss {loss:.4f}")


if __name__ == "__main__":
    main()
