"""A training of 2 epochs of 4 training and 1 validation batch, structures counted."""

import torch
from torch.utils.data import DataLoader, TensorDataset

import metatrain_timing


def main() -> None:
    loader = DataLoader(
        TensorDataset(torch.randn(64, 8)), batch_size=16, num_workers=2, shuffle=True
    )
    validation = DataLoader(
        TensorDataset(torch.randn(16, 8)), batch_size=16, num_workers=2
    )
    model = torch.nn.Linear(8, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    for _ in range(2):
        for (batch,) in loader:
            metatrain_timing.count("structures", len(batch))
            optimizer.zero_grad()
            with metatrain_timing.timed("forward"):
                loss = model(batch).square().mean()
            loss.backward()
            optimizer.step()
        with torch.no_grad():
            for (batch,) in validation:
                model(batch)


if __name__ == "__main__":
    main()
