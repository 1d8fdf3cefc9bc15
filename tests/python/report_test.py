"""From a training whose times are known beforehand to its report."""

from collections.abc import Callable
from typing import Any

import pytest

from metatrain_timing import Run
from tests.python.support.recording import Outcome

pytestmark = pytest.mark.torch

Record = Callable[..., Outcome]
Report = dict[str, Any]

# Milliseconds that the parts of `balanced` sleep, 8 samples to a batch.
SAMPLE, COLLATE, STEP = 4, {"group_and_join": 10, "transforms": 20, "serialize": 15}, 30
BATCHES = 30

SLOW = "`__getitem__` of __main__.Molecules"


def report_of(outcome: Outcome) -> Report:
    assert outcome.warnings == []
    return Run(outcome.database).report()


def train(report: Report) -> dict[str, Any]:
    (phase,) = (phase for phase in report["phases"] if phase["name"] == "train")
    return dict(phase)


def stage(phase: dict[str, Any], name: str, where: str = "main") -> dict[str, Any]:
    (row,) = (
        row for row in phase["stages"] if row["stage"] == name and row["where"] == where
    )
    return dict(row)


@pytest.fixture(scope="module")
def balanced(record_once: Record) -> dict[int, Report]:
    """Reports of the same training by number of workers."""
    options = ["--batches", BATCHES, "--batch-size", 8, "--sample-ms", SAMPLE]
    options += ["--collate-ms", *COLLATE.values(), "--step-ms", STEP]
    return {
        workers: report_of(record_once("pipeline.py", "--workers", workers, *options))
        for workers in (0, 2, 4)
    }


@pytest.mark.parametrize("workers", [0, 2, 4])
def test_collate_never_looks_free(balanced: dict[int, Report], workers: int) -> None:
    phase = train(balanced[workers])
    where = "worker" if workers else "main"
    for name, sleep_ms in COLLATE.items():
        row = stage(phase, name, where)
        assert row["calls"] == BATCHES
        assert row["mean_s"] >= sleep_ms / 1e3
    dataset = stage(phase, "dataset", where)
    assert dataset["mean_s"] >= 8 * SAMPLE / 1e3
    if workers:
        assert phase["worker_life_s"] >= BATCHES * 0.077


@pytest.mark.parametrize("workers", [0, 2, 4])
def test_waiting_and_working_are_the_whole(
    balanced: dict[int, Report], workers: int
) -> None:
    phase = train(balanced[workers])
    assert phase["steps"] == phase["micro_steps"] == BATCHES
    loader, body = stage(phase, "loader"), stage(phase, "step")
    outside = stage(phase, "outside")
    assert loader["total_s"] == pytest.approx(phase["exposed_wait_s"], abs=1e-9)
    total = loader["total_s"] + body["total_s"] + outside["total_s"]
    assert total == pytest.approx(phase["wall_s"], abs=1e-9)
    shares = loader["share"] + body["share"] + outside["share"]
    assert shares == pytest.approx(1, abs=1e-9)
    causes = sum(cause["total_s"] for cause in phase["wait_causes"])
    assert causes == pytest.approx(phase["exposed_wait_s"], abs=1e-8)


def test_workers_take_the_wait_away(balanced: dict[int, Report]) -> None:
    waits = {
        workers: train(report)["exposed_wait_s"] / BATCHES
        for workers, report in balanced.items()
    }
    assert waits[0] >= 0.077
    # 77 ms a batch, bodies of 30 ms: two workers fall short by 8.5 ms, four do not.
    assert waits[2] < waits[0] / 2
    assert waits[4] < waits[0] / 4
    verdicts = {n: report["verdict"]["bound_by"] for n, report in balanced.items()}
    assert verdicts[0] == "input"
    assert SLOW in balanced[0]["verdict"]["text"]


@pytest.mark.parametrize("persistent", [False, True])
def test_the_start_of_workers_is_of_the_epoch_not_of_the_step(
    record: Record, persistent: bool
) -> None:
    options = ["--persistent"] if persistent else []
    report = report_of(
        record(
            "pipeline.py", "--workers", 2, "--epochs", 3, "--start-ms", 500, *options
        )
    )
    phase = train(report)
    assert phase["steps"] == 60
    slow = [start["first_wait_s"] >= 0.4 for start in phase["epoch_starts"]]
    assert slow == [True, not persistent, not persistent]
    (spent,) = {worker["lives"] for worker in phase["workers"]}
    assert spent == (1 if persistent else 3)
    assert phase["step_s"]["median"] < 0.25  # steady steps know nothing of it


def test_slow_samples_are_named_by_their_class(record: Record) -> None:
    report = report_of(
        record(
            "pipeline.py", "--workers", 2, "--sample-ms", 25, "--collate-ms", 0, 1, 0
        )
    )
    phase = train(report)
    dataset = stage(phase, "dataset", "worker")
    collate = stage(phase, "collate", "worker")
    assert dataset["mean_s"] >= 4 * 0.025
    assert 0.001 <= collate["mean_s"] < dataset["mean_s"]
    assert report["verdict"]["bound_by"] == "input"
    assert SLOW in report["verdict"]["text"]


def test_steps_are_counted_to_the_last(record: Record) -> None:
    report = report_of(record("pipeline.py", "--epochs", 7, "--batches", 10))
    phase = train(report)
    assert (phase["epochs"], phase["steps"], phase["partial_steps"]) == (7, 70, 0)
    assert stage(phase, "loader")["calls"] == 70
