"""Stages of known length, in the training process and in workers."""

from collections.abc import Callable
from statistics import median

import pytest

from tests.python.support.recording import Outcome

pytestmark = pytest.mark.torch

STEPS = 20

# Milliseconds that each stage sleeps.
COLLATE = {"group_and_join": 5, "transforms": 10, "serialize": 8}
INSIDE_FETCH = {**COLLATE, "dataset": 12, "collate": 23, "fetch": 35}


@pytest.fixture(scope="module", params=[0, 2, 4])
def outcome(
    request: pytest.FixtureRequest, record_once: Callable[..., Outcome]
) -> Outcome:
    return record_once("sleeps.py", request.param, STEPS)


def test_stages_cost_the_same_wherever_they_run(outcome: Outcome) -> None:
    recording = outcome.recording
    for stage, sleep_ms in INSIDE_FETCH.items():
        rows = recording.of(stage)
        assert len(rows) == STEPS, stage
        middle_ms = median(row.dur_ns for row in rows) / 1e6
        # A busy machine wakes a sleeper late.
        assert sleep_ms <= middle_ms <= 4 * sleep_ms + 20, stage


def test_sleeping_costs_no_cpu_time(outcome: Outcome) -> None:
    for row in outcome.recording.of("collate"):
        assert row.cpu_ns < row.dur_ns / 2


def test_a_wait_holds_the_fetch_only_without_workers(outcome: Outcome) -> None:
    recording = outcome.recording
    for fetch in recording.of("fetch"):
        parent = recording.parent(fetch)
        if fetch.role == "main":
            assert parent is not None
            assert parent.stage == "loader"
        else:
            assert parent is None


def test_the_report_of_the_process_has_the_stages_of_workers(outcome: Outcome) -> None:
    rows = {line.split()[0]: line.split() for line in outcome.out.splitlines()}
    for stage, sleep_ms in {**COLLATE, "transforms/transform": 10}.items():
        assert rows[stage][1] == str(STEPS)
        assert float(rows[stage][2]) >= sleep_ms
    assert rows["loader"][1] == rows["step"][1] == str(STEPS)
    assert float(rows["loader"][-1]) + float(rows["step"][-1]) == pytest.approx(
        100, abs=0.11
    )
