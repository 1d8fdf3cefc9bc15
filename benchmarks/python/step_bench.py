"""What recording adds to a step of a plain training loop, and to a Python start.

usage: python benchmarks/python/step_bench.py [--steps N] [--workers N]

The loop does next to nothing, so nearly all that is measured is the DataLoader and us;
a block of steps without recording and one with it alternate, each in a new process.
"""

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time


def run_steps(steps: int, workers: int) -> float:
    """
    Train on numbers in memory.

    :param steps: how many.
    :param workers: of the loader.
    :return: microseconds per step, the first tenth left out.
    """
    import torch
    from torch.utils.data import DataLoader

    import metatrain_timing

    stages = [metatrain_timing.timed(f"stage {i}") for i in range(8)]
    data = torch.arange(float(steps))
    loader = DataLoader(data, batch_size=1, num_workers=workers)
    weight = torch.ones(1, requires_grad=True)
    optimizer = torch.optim.SGD([weight], lr=1e-3)
    start = 0.0
    for step, batch in enumerate(loader):
        if step == steps // 10:
            start = time.perf_counter()
        for stage in stages:
            with stage:
                pass
        (weight * batch).sum().backward()
        optimizer.step()
    return (time.perf_counter() - start) / (steps - steps // 10) * 1e6


def in_a_process(database: str, *arguments: object) -> float:
    """
    Seconds, or what a process prints.

    :param database: METATRAIN_TIMING_DB; empty: off.
    :param arguments: of Python.
    """
    environment = {
        **os.environ,
        "METATRAIN_TIMING_DB": database,
        "OMP_NUM_THREADS": "1",
    }
    start = time.perf_counter()
    done = subprocess.run(
        [sys.executable, *map(str, arguments)],
        env=environment,
        check=True,
        capture_output=True,
        text=True,
    )
    return float(done.stdout or time.perf_counter() - start)


def main() -> None:
    """Print both tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=5000)
    parser.add_argument("--workers", type=int, default=0)
    parser.add_argument("--blocks", type=int, default=5)
    parser.add_argument("--measure", action="store_true")
    options = parser.parse_args()
    if options.measure:
        print(run_steps(options.steps, options.workers))
        return
    command = (
        __file__, "--measure", "--steps", options.steps, "--workers", options.workers,
    )  # fmt: skip
    times: dict[str, list[float]] = {"off": [], "on": []}
    starts: dict[str, list[float]] = {"off": [], "on": []}
    with tempfile.TemporaryDirectory() as folder:
        for block in range(options.blocks):
            for state in ("off", "on"):
                database = os.path.join(folder, f"{block}.db") if state == "on" else ""
                times[state].append(in_a_process(database, *command))
                starts[state].extend(
                    in_a_process(database, "-c", "pass") for _ in range(10)
                )
    print(f"step of a plain loop, {options.workers} workers, 12 stages (median, us):")
    for state, values in times.items():
        print(
            f"  {state:<4} {statistics.median(values):8.1f}   best {min(values):8.1f}"
        )
    added = statistics.median(times["on"]) - statistics.median(times["off"])
    print(f"  added {added:7.1f}   best {min(times['on']) - min(times['off']):8.1f}")
    print("python -c pass (median, ms):")
    for state, values in starts.items():
        print(f"  {state:<4} {statistics.median(values) * 1e3:8.2f}")


if __name__ == "__main__":
    main()
