"""A training of several ranks on gloo; a rank may die once, as on a bad day."""

import os
import sys

import torch
import torch.distributed as dist
from torch.utils.data import DataLoader


def main() -> None:
    """Six steps on each rank, with two workers each."""
    dies_at = int(sys.argv[1]) if len(sys.argv) > 1 else -1
    attempt = os.environ["TORCHELASTIC_RESTART_COUNT"]
    first_try = attempt == "0"
    # A store for each attempt: after a restart torchrun's own may still give a rank the
    # address of one that is gone, with or without recording.
    dist.init_process_group(
        "gloo",
        init_method=f"file://{os.getcwd()}/rendezvous-{attempt}",
        rank=int(os.environ["RANK"]),
        world_size=int(os.environ["WORLD_SIZE"]),
    )
    model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(1, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    data = torch.arange(12.0).reshape(12, 1)
    loader = DataLoader(data, batch_size=2, num_workers=2)
    for step, batch in enumerate(loader):
        if step == dies_at and first_try and dist.get_rank() == 1:
            import metatrain_timing

            metatrain_timing.flush()
            os._exit(3)
        model(batch).sum().backward()
        optimizer.step()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
