"""A number of `with` blocks for count_bench.py, which has callgrind count them.

usage: python benchmarks/python/timed_count.py empty|nullcontext|timed COUNT
"""

import contextlib
import os
import sys
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import metatrain_timing


def run_empty(count: int) -> None:
    """
    The loop alone.

    :param count: of its turns.
    """
    for _ in range(count):
        pass


def run_blocks(count: int, make: Callable[[str], Any]) -> None:
    """
    The loop with a block in it.

    :param count: of its turns.
    :param make: makes the context manager.
    """
    for _ in range(count):
        with make("stage"):
            pass


def settle() -> None:
    """
    Give the drain thread, if there is one, time to open the file, which takes long
    under callgrind, and to look at the clocks. This thread executes the same each time.
    """
    with metatrain_timing.timed("start"):
        pass
    time.sleep(2)


def main() -> None:
    """Run the party, and end at once: what a process does at its end varies."""
    party, count = sys.argv[1], int(sys.argv[2])
    run = {
        "empty": partial(run_empty, count),
        "nullcontext": partial(run_blocks, count, contextlib.nullcontext),
        "timed": partial(run_blocks, count, metatrain_timing.timed),
    }[party]
    settle()
    run()
    os._exit(0)


if __name__ == "__main__":
    main()
