"""One count of steps, whoever announces them."""

import random
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from metatrain_timing import StepTracker
from tests.python.support.recording import Outcome

Record = Callable[..., Outcome]


def test_a_hook_is_called_for_each_step_with_its_number() -> None:
    steps: list[int] = []
    tracker = StepTracker(on_step=steps.append)
    for requester in ("adam", "sgd"):
        tracker.init_step_count(requester)
    for _ in range(3):
        tracker.increment_step("adam")
        tracker.increment_step("sgd")
    assert steps == [1, 2, 3]
    assert tracker.step_counts() == {"adam": 3, "sgd": 3}


def test_what_a_hook_raises_comes_out_and_the_step_counts() -> None:
    def refuse(_step: int) -> None:
        raise KeyError("no")

    tracker = StepTracker(refuse)
    with pytest.raises(KeyError):
        tracker.increment_step("a")
    assert tracker.current_step() == 1


def test_the_one_of_the_process_is_one() -> None:
    one = StepTracker.of_process()
    before = one.current_step()
    one.increment_step("test")
    assert StepTracker.of_process().current_step() == before + 1
    assert one.erase_step_count("test")


def test_threads_lose_no_step() -> None:
    last = 0

    def note(step: int) -> None:
        nonlocal last
        assert step == last + 1
        last = step

    tracker = StepTracker(note)

    def count() -> None:
        for _ in range(500):
            tracker.increment_step("all")

    threads = [threading.Thread(target=count) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert tracker.current_step() == last == 4_000


@pytest.mark.torch
@pytest.mark.parametrize("seed", range(5))
def test_ten_thousand_calls_give_what_torch_gives(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    from torch.autograd import profiler

    calls = {"torch": 0, "ours": 0}

    def note(who: str) -> None:
        calls[who] += 1

    monkeypatch.setattr(profiler, "_kineto_step", lambda: note("torch"))

    class Theirs(profiler.KinetoStepTracker):
        _current_step = 0
        _step_dict: dict[str, int] = {}  # noqa: RUF012

    ours = StepTracker(lambda _step: note("ours"))
    choose = random.Random(seed)
    names = ["ProfilerStep", "Adam", "SGD", "loop", "ünï"]
    for _ in range(10_000):
        name = choose.choice(names)
        (call,) = choose.choices(
            ["increment_step", "init_step_count", "erase_step_count"], [8, 1, 1]
        )
        assert getattr(ours, call)(name) == getattr(Theirs, call)(name), call
        assert ours.current_step() == Theirs.current_step()
        assert calls["ours"] == calls["torch"]
    assert ours.step_counts() == Theirs._step_dict
    assert ours.current_step() > 1_000


LOOP = """
import sys
import torch
from torch.profiler import profile, schedule
from torch.utils.data import DataLoader, TensorDataset
from metatrain_timing import StepTracker

weights = [torch.ones(1, requires_grad=True) for _ in range(2)]
adam, sgd = torch.optim.Adam(weights[:1]), torch.optim.SGD(weights[1:], lr=0.1)
loader = DataLoader(TensorDataset(torch.zeros(12, 1)), batch_size=2)
wait = schedule(wait=1_000, warmup=1, active=1)

def train(batch):
    for weight, optimizer in zip(weights, (adam, sgd)):
        (weight * batch).sum().backward()
        optimizer.step()

with profile(schedule=wait) as prof:
    for _ in range(2):
        if sys.argv[1] == "loader":
            for (batch,) in loader:
                train(batch)
                prof.step()
        else:
            for _ in range(6):
                train(torch.zeros(2))
                prof.step()
assert StepTracker.of_process().current_step() == 12
"""


@pytest.mark.torch
@pytest.mark.parametrize(
    ("kind", "requester"), [("loader", "loop"), ("none", "optimizers")]
)
def test_two_optimizers_and_a_profiler_count_a_round_once(
    record: Record, tmp_path: Path, kind: str, requester: str
) -> None:
    script = tmp_path / "loop.py"
    script.write_text(LOOP)
    outcome = record(script, kind)
    assert outcome.warnings == []
    facts = outcome.recording.facts
    assert facts[f"steps.{requester}"] == facts["steps.profiler"] == "12"
    steps = [row.step for row in outcome.recording.of("backward")]
    expected: list[Any] = [step for step in range(12) for _ in range(2)]
    if kind == "none":
        # The first round has begun before its first step could be seen; the profiler
        # or the first optimizer of a round ends the one before.
        assert steps[0] is None
        assert steps[1:3] == [1, 1]
        assert sorted(set(steps[1:])) == list(range(1, 13))
    else:
        assert steps == expected


@pytest.mark.torch
def test_a_program_may_count_for_itself(record: Record, tmp_path: Path) -> None:
    script = tmp_path / "own.py"
    script.write_text(
        """
from metatrain_timing import StepTracker, timed

steps = StepTracker.of_process()
for round in range(3):
    with timed("work"):
        pass
    steps.increment_step("simulation")
"""
    )
    recording = record(script).recording
    assert [row.step for row in recording.of("work")] == [None, 1, 2]
    assert recording.facts["steps.simulation"] == "3"
