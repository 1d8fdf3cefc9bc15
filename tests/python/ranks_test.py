"""Several ranks of one training, started by torchrun, and restarted by it."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from metatrain_timing import Run
from tests.python.support.again import holds
from tests.python.support.recording import WORKLOADS, Outcome

pytestmark = [pytest.mark.torch, pytest.mark.slow]

Record = Callable[..., Outcome]

TORCHRUN = (
    "-m", "torch.distributed.run", "--nproc-per-node", 2, "--max-restarts", 1,
    "--rdzv-backend", "c10d", "--rdzv-endpoint", "localhost:0",
)  # fmt: skip


def test_ranks_and_their_workers_are_one_run_without_the_launcher(
    record: Record,
) -> None:
    outcome = record(*TORCHRUN, WORKLOADS / "ddp.py")
    recording = outcome.recording
    assert len({row.uuid for row in recording.runs}) == 1
    mains = [row for row in recording.processes if row.role == "main"]
    assert sorted(row.rank for row in mains) == [0, 1]
    assert {row.world_size for row in mains} == {2}
    workers = [row for row in recording.processes if row.role == "worker"]
    assert sorted((row.rank, row.worker_id) for row in workers) == [
        (0, 0),
        (0, 1),
        (1, 0),
        (1, 1),
    ]
    for rank in (0, 1):
        steps = recording.of("step", rank=rank)
        assert [row.step for row in steps] == list(range(6))
        for stage in ("fetch", "send", "receive", "backward", "optimizer"):
            assert recording.count(stage, rank=rank) == 6, stage
    assert {Path(row.file).name for row in mains} == {"run.db", "rank1.db"}


def test_a_rank_that_dies_makes_a_second_attempt(record: Record) -> None:
    recording = record(*TORCHRUN, WORKLOADS / "ddp.py", 4).recording
    attempts = {row.uuid: row.attempt for row in recording.runs if row.attempt}
    assert sorted(attempts.values()) == [1, 2]
    assert len({row.job for row in recording.runs}) == 1
    (second,) = [uuid for uuid, attempt in attempts.items() if attempt == 2]
    (first,) = [uuid for uuid, attempt in attempts.items() if attempt == 1]
    for rank in (0, 1):
        steps = [row.step for row in recording.of("step", run=second, rank=rank)]
        assert steps == list(range(6))
    # The rank that died had done four steps; steps are counted anew, not on.
    died = [row.step for row in recording.of("step", run=first, rank=1)]
    assert died == list(range(4))


@pytest.mark.parametrize("slow", ["loader", "forward", "backward", "none"])
def test_the_rank_that_others_wait_for_is_named_or_none(
    record: Record, slow: str
) -> None:
    holds(
        lambda report: check_rank_waits(report, slow),
        lambda: Run(
            record(*TORCHRUN, WORKLOADS / "stragglers.py", slow).database
        ).report(),
    )


def check_rank_waits(report: dict[str, Any], slow: str) -> None:
    waits = report["phases"][0]["rank_waits"]
    assert [rank["rank"] for rank in waits["ranks"]] == [0, 1]
    if slow in ("loader", "forward"):
        assert waits["straggler"] == 1
        assert waits["stage"] == ("loader" if slow == "loader" else None)
        assert waits["ranks"][0]["waits_for_others_s"] >= 0.01
        assert "for rank 1" in report["verdict"]["text"]
    else:
        assert waits["straggler"] is None
        assert "for rank" not in report["verdict"]["text"]
