"""Loops that sleep, once without workers and once with one.

usage: two_variants.py SERIALIZE UNPACK STEP [STEPS]

Milliseconds that the collate, the begin of the body and the rest of it sleep.
"""

import sys
import time

from torch.utils.data import DataLoader

from metatrain_timing import phase, timed

SERIALIZE, UNPACK, STEP = (float(argument) / 1000 for argument in sys.argv[1:4])
STEPS = int(sys.argv[4]) if len(sys.argv) > 4 else 60


def collate(samples: list[int]) -> int:
    with timed("serialize"):
        time.sleep(SERIALIZE)
    return samples[0]


for workers in (0, 1):
    with phase(f"workers{workers}"):
        loader = DataLoader(
            range(STEPS),
            num_workers=workers,
            collate_fn=collate,
            multiprocessing_context="fork" if workers else None,
        )
        for _ in loader:
            with timed("unpack"):
                time.sleep(UNPACK)
            with timed("forward"):
                time.sleep(STEP)
