"""Runs that pass their size limit: what is still exact in the report."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from metatrain_timing import Run
from tests.python.support.recording import Outcome

Record = Callable[..., Outcome]

LIMIT = 2_000_000
LIMITED = {"METATRAIN_TIMING_MAX_SIZE": "2MB"}


def size_of(outcome: Outcome) -> int:
    return sum(file.stat().st_size for file in outcome.files)


def report_of(outcome: Outcome) -> dict[str, Any]:
    assert (outcome.code, outcome.warnings) == (0, [])
    assert size_of(outcome) <= LIMIT * 1.1
    report = Run(outcome.database).report()
    # Whether a steady state is found is up to the other work of the machine.
    codes = {warning["code"] for warning in report["warnings"]} - {"no_steady_state"}
    assert codes == {"thinned"}
    return dict(report)


def check_that_it_closes(phase: dict[str, Any]) -> None:
    tops = [row for row in phase["stages"] if row["level"] == 0]
    main = sum(row["total_s"] for row in tops if row["where"] == "main")
    assert main == pytest.approx(phase["wall_s"], abs=1e-9)
    waits = sum(cause["total_s"] for cause in phase["wait_causes"])
    assert waits == pytest.approx(phase["exposed_wait_s"], abs=1e-9)
    step = [row for row in phase["stages"] if row["parent"] == "step"]
    (whole,) = (row for row in tops if row["stage"] == "step")
    assert sum(row["total_s"] for row in step) == pytest.approx(whole["total_s"])


def calls(phase: dict[str, Any], where: str = "main") -> dict[str, int]:
    return {
        row["stage"]: row["calls"]
        for row in phase["stages"]
        if row["where"] == where and row["stage"] != "unattributed"
    }


def test_every_turn_of_a_long_loop_is_counted(record: Record) -> None:
    turns = 60_000
    outcome = record("turns.py", turns, environment=LIMITED)
    (phase,) = report_of(outcome)["phases"]

    check_that_it_closes(phase)
    assert phase["steps"] == phase["micro_steps"] == turns
    assert phase["partial_steps"] == 0
    assert 0 < phase["steady_steps"] <= turns - phase["summed_turns"] < turns / 3
    counted = json.loads(outcome.out)
    stages = {"loader", "step", "forward", "layer", "backward"}
    assert set(counted["stages"]) == stages
    rows = {row["stage"]: row for row in phase["stages"] if row["calls"] > 0}
    for stage in stages:
        assert rows[stage]["calls"] == turns == counted["stages"][stage][0]
        total_ns = counted["stages"][stage][1]
        assert round(rows[stage]["total_s"] * 1e9) == total_ns, stage
        (line,) = (x for x in counted["table"].splitlines() if x.split()[0] == stage)
        assert line.split()[1] == str(turns)
    (counter,) = phase["counters"]
    assert counter["total"] == 3 * turns
    assert phase["step_s"]["mean"] * turns == pytest.approx(
        sum(
            row["total_s"]
            for row in phase["stages"]
            if row["stage"] in ("loader", "step") and row["level"] == 0
        )
    )


@pytest.mark.torch
def test_batches_of_workers_are_counted_in_all_processes(record: Record) -> None:
    epochs, batches = 3, 2000
    outcome = record(
        "train.py",
        "--epochs",
        epochs,
        "--batches",
        batches,
        "--workers",
        2,
        environment=LIMITED,
    )
    report = report_of(outcome)
    (phase,) = (phase for phase in report["phases"] if phase["name"] == "train")

    check_that_it_closes(phase)
    assert phase["steps"] == epochs * batches
    assert phase["summed_turns"] > epochs * batches / 3
    assert phase["epochs"] == epochs
    assert calls(phase)["loader"] == calls(phase)["step"] == epochs * batches
    assert calls(phase)["backward"] == calls(phase)["optimizer"] == epochs * batches
    worker = calls(phase, "worker")
    assert worker["fetch"] == worker["collate"] == epochs * batches
    assert worker["send"] == epochs * batches
    assert sum(one["batches"] for one in phase["workers"]) == epochs * batches
    for one in phase["workers"]:
        parts = sum(one[f"{part}_s"] for part in ("busy", "idle", "start"))
        assert parts + one["unattributed_s"] == pytest.approx(one["life_s"])
        assert one["unattributed_s"] < 0.3 * one["life_s"]
    # Most of the waiting is explained, though most batches are not on record.
    (rest,) = (c for c in phase["wait_causes"] if c["cause"] == "unattributed")
    assert rest["share"] < 0.5
    assert any(cause["share_error"] is not None for cause in phase["wait_causes"])
