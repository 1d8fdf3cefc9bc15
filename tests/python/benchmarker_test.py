"""How long a training takes, told from windows of it."""

import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from metatrain_timing import Benchmarker, Run
from tests.python.support.again import holds
from tests.python.support.recording import Outcome

Record = Callable[..., Outcome]


def visited(
    benchmarker: Benchmarker, epochs: int, loader: Any
) -> list[tuple[int, int]]:
    found = []
    for epoch in benchmarker.epochs(epochs):
        for _ in benchmarker.batches(loader):
            assert benchmarker.epoch == epoch
            found.append((epoch, benchmarker.step))
    return found


def test_windows_are_visited_in_order(capsys: pytest.CaptureFixture[str]) -> None:
    benchmarker = Benchmarker(2, [3, 0], [7, 0], warmup_steps=1)
    assert visited(benchmarker, 5, range(10)) == [
        (epoch, step) for epoch in (0, 3) for step in (0, 0, 1, 7, 8)
    ]
    windows = [(w.epoch, w.first_step, w.steps) for w in benchmarker.windows]
    assert windows == [(0, 0, 2), (0, 7, 2), (3, 0, 2), (3, 7, 2)]
    assert "the model is not trained" in capsys.readouterr().err
    assert benchmarker.summary().count("\n") == 4


def test_the_loader_is_asked_again_where_it_has_too_few() -> None:
    taken: list[int] = []

    class Stream:
        def __iter__(self) -> Iterator[int]:
            for i in range(4):
                taken.append(i)
                yield i

    benchmarker = Benchmarker(5, [0], [0], warmup_steps=1)
    steps = visited(benchmarker, 1, Stream())
    assert steps == [(0, step) for step in (0, 0, 1, 2, 3, 3, 4)]
    assert taken[:4] == [0, 1, 2, 3]
    assert benchmarker.prediction is None
    assert benchmarker.wall_clock_train is None


@pytest.mark.parametrize(
    ("batch", "samples"),
    [([1, 2, 3], 3), ("ab", 2), (5, 1), ({"x": [1, 2]}, 2), ([], 0)],
)
def test_samples_are_counted(batch: object, samples: float) -> None:
    benchmarker = Benchmarker(2, [0], [0], warmup_steps=0)
    visited(benchmarker, 1, [batch, batch])
    assert benchmarker.windows[0].samples == 2 * samples


def test_samples_may_be_what_the_user_says() -> None:
    benchmarker = Benchmarker(2, [0], [0], warmup_steps=0, samples=lambda batch: batch)
    visited(benchmarker, 1, [0.5, 7])
    assert benchmarker.windows[0].samples == 7.5


@pytest.mark.parametrize(
    ("wrong", "text"),
    [
        ({"epoch_list": []}, "epoch_list is empty"),
        ({"step_list": []}, "step_list is empty"),
        ({"epoch_list": [1]}, "epoch_list does not hold 0"),
        ({"step_list": [1]}, "step_list does not hold 0"),
        ({"min_steps": 0}, "min_steps is 0"),
        ({"warmup_steps": -1}, "warmup_steps is -1"),
    ],
)
def test_plans_that_tell_nothing_are_refused(wrong: dict[str, Any], text: str) -> None:
    with pytest.raises(ValueError, match=text):
        Benchmarker(**wrong)


def test_a_loop_that_is_none_is_refused() -> None:
    with pytest.raises(RuntimeError, match="loop over epochs"):
        next(Benchmarker().batches([1]))
    benchmarker = Benchmarker()
    with pytest.raises(RuntimeError, match="no batches"):
        visited(benchmarker, 1, [])
    with pytest.raises(ValueError, match="at least 1 epoch"):
        next(benchmarker.epochs(0))


# Milliseconds of a step: twice as many from step 50 on, a quarter more in epoch 0.
def step_ms(epoch: int, step: int) -> float:
    return (8 if step < 50 else 16) * (1.25 if epoch == 0 else 1)


def test_a_schedule_of_known_sleeps_is_found() -> None:
    holds(check_schedule, run_schedule)


def run_schedule() -> Benchmarker:
    benchmarker = Benchmarker(20, (0, 1), (0, 50), warmup_steps=2)
    for epoch in benchmarker.epochs(10):
        for _ in benchmarker.batches(range(100)):
            time.sleep(step_ms(epoch, benchmarker.step) / 1000)
        time.sleep(0.1)
    return benchmarker


def check_schedule(benchmarker: Benchmarker) -> None:
    expected = [10, 20, 8, 16]
    for window, ms in zip(benchmarker.windows, expected, strict=True):
        assert window.step_ns == pytest.approx(ms * 1e6, rel=0.03)
        assert window.samples_per_s == pytest.approx(1000 / ms, rel=0.03)
    # 50 of 10 and 50 of 20 ms, nine times 50 of 8 and 50 of 16, ten times 100 ms
    total_s = 1.5 + 9 * 1.2 + 1
    prediction = benchmarker.prediction
    assert prediction is not None
    assert prediction.total_ns / 1e9 == pytest.approx(total_s, rel=0.02)
    assert prediction.epoch_ends_ns / 1e9 == pytest.approx(1, rel=0.02)
    assert prediction.low_ns < prediction.total_ns < prediction.high_ns


TRAINING = """
import sys, time
import torch
from torch.utils.data import DataLoader, TensorDataset
from metatrain_timing import Benchmarker

EPOCHS = 6
weight = torch.ones(1, requires_grad=True)
optimizer = torch.optim.SGD([weight], lr=1e-3)

def collate(samples):
    time.sleep(0.004)
    return torch.stack([sample[0] for sample in samples])

loader = DataLoader(
    TensorDataset(torch.zeros(160, 1)), batch_size=4, num_workers=2,
    collate_fn=collate, multiprocessing_context="fork",
)

def train(batch):
    loss = (weight * batch).sum()
    time.sleep(0.012)
    loss.backward()
    optimizer.step()

def validate():
    time.sleep(0.05)

began = time.monotonic()
if sys.argv[1] == "full":
    for _ in range(EPOCHS):
        for batch in loader:
            train(batch)
        validate()
    print(time.monotonic() - began)
else:
    benchmarker = Benchmarker(20, (0, 1), (0, 20))
    for _ in benchmarker.epochs(EPOCHS):
        for batch in benchmarker.batches(loader):
            train(batch)
        validate()
    print(benchmarker.wall_clock_train)
"""


@pytest.mark.torch
def test_a_part_of_a_training_tells_how_long_all_of_it_takes(
    record: Record, program: str, tmp_path: Path
) -> None:
    script = tmp_path / "training.py"
    script.write_text(TRAINING)
    attempts = 0

    def measure() -> tuple[float, Outcome]:
        nonlocal attempts
        attempts += 1
        full = record(script, "full", database=None)
        return float(full.out), record(script, "part", database=f"{attempts}.db")

    def check(measured: tuple[float, Outcome]) -> None:
        full_s, part = measured
        assert float(part.out) == pytest.approx(full_s, rel=0.05)

    def check_run(measured: tuple[float, Outcome]) -> None:
        check(measured)
        check_recorded(measured[1], program)

    holds(check_run, measure)


def check_recorded(outcome: Outcome, program: str) -> None:
    recording = outcome.recording
    assert recording.count("window") == 4
    assert {row.track for row in recording.of("window")} == {"benchmark"}
    assert {row.phase for row in recording.of("loader")} == {"benchmark"}
    assert recording.facts["benchmark.epochs"] == "6"
    predicted_s = float(recording.facts["benchmark.predicted_s"])
    assert predicted_s == pytest.approx(float(outcome.out), rel=1e-3)
    report = Run(outcome.database).report()
    (phase,) = (row for row in report["phases"] if row["name"] == "benchmark")
    assert phase["steps"] >= 80
    assert report["environment"]["benchmark.predicted_s"]
    text = subprocess.run(
        [program, "report", str(outcome.database)],
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    assert "benchmark.prediction" in text


RANKS = """
import os, sys
import torch.distributed as dist
from metatrain_timing import Benchmarker

dist.init_process_group("gloo")
benchmarker = Benchmarker(2, [0], [0], warmup_steps=0)
for _ in benchmarker.epochs(1):
    for _ in benchmarker.batches([[0] * (3 + dist.get_rank())] * 2):
        pass
assert benchmarker.windows[0].samples == 2 * (3 + 4), benchmarker.windows[0].samples
dist.destroy_process_group()
"""


@pytest.mark.torch
def test_samples_of_all_ranks_are_added_up(record: Record, tmp_path: Path) -> None:
    script = tmp_path / "ranks.py"
    script.write_text(RANKS)
    record("-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2", script)
