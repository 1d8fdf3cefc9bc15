"""Waits that people asked about: whose they are, and what the report says of them."""

import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from metatrain_timing import Run
from tests.python.support.again import holds
from tests.python.support.recording import Outcome

pytestmark = pytest.mark.torch

Record = Callable[..., Outcome]

SHARDS = """
import sys, time
from torch.utils.data import DataLoader, IterableDataset, get_worker_info
from metatrain_timing import phase

class Shards(IterableDataset):
    def __iter__(self):
        for number in range(16):
            time.sleep(get_worker_info().id * 0.04)
            yield number

with phase("reading"):
    loader = DataLoader(
        Shards(), batch_size=8, num_workers=2, in_order=sys.argv[1] == "in_order",
        multiprocessing_context="fork",
    )
    assert len(list(loader)) == 4
    iterator = iter(loader)
    for batch in iterator:
        pass
"""
WORKER_BATCH_S = 8 * 0.04


@pytest.mark.parametrize("order", ["in_order", "as_ready"])
def test_a_slow_worker_holds_up_batches_that_lie_ready(
    record: Record, tmp_path: Path, order: str
) -> None:
    script = tmp_path / "shards.py"
    script.write_text(SHARDS)
    # Each time a run of its own in the same file: the newest is read.
    holds(
        lambda database: check_shards(Run(database), order),
        lambda: record(script, order).database,
    )


def check_shards(run: Run, order: str) -> None:
    (phase,) = (p for p in run.report()["phases"] if p["name"] == "reading")
    # A list of batches and a loop over them, 4 batches each.
    batches = run.sql(
        "SELECT epoch, batch, worker, waited_ns, delivered_ns FROM v_batch"
        " WHERE waited_ns IS NOT NULL AND batch < 4 ORDER BY epoch, delivered_ns"
    )
    assert [row["worker"] for row in batches] == [
        row["batch"] % 2 for row in batches
    ], "whoever is taken first, a batch belongs to the worker that made it"
    delivered = [row["batch"] for row in batches if row["epoch"] == 1]
    assert delivered == ([0, 1, 2, 3] if order == "in_order" else [0, 2, 1, 3])

    waits_s = {row["batch"]: row["waited_ns"] / 1e9 for row in batches if row["epoch"]}
    slow_s = [wait_s for batch, wait_s in waits_s.items() if batch % 2]
    # Where the first worker is late, the second is ahead by that much.
    assert min(slow_s) > 0.5 * WORKER_BATCH_S > 2 * waits_s[2]
    # Nearly all of it is the second worker's, reading its samples.
    by_worker = sum(
        cause["total_s"]
        for cause in phase["wait_causes"]
        if (cause["worker"], cause["stage"]) == (1, "dataset")
    )
    all_waits_s = sum(row["waited_ns"] for row in batches) / 1e9
    assert 4 * 0.5 * WORKER_BATCH_S < by_worker < all_waits_s
    # While the loop waited for batch 1 the other worker's second one lay ready.
    held_s = sum(cause["head_of_line_s"] for cause in phase["wait_causes"])
    if order == "in_order":
        assert WORKER_BATCH_S < held_s < all_waits_s
    else:
        assert held_s == 0


LARGE = """
import numpy, torch
from torch.utils.data import DataLoader, Dataset

class Large(Dataset):
    def __len__(self):
        return 24
    def __getitem__(self, index):
        return [numpy.full(32_000_000, index, dtype="uint8")]

def first(samples):
    return samples[0]

weight = torch.ones(1, requires_grad=True)
optimizer = torch.optim.SGD([weight], lr=0.1)
loader = DataLoader(
    Large(), batch_size=1, num_workers=2, collate_fn=first,
    multiprocessing_context="fork",
)
for batch in loader:
    weight.sum().backward()
    optimizer.step()
"""


def test_taking_over_large_batches_is_told_from_making_them(
    record: Record, tmp_path: Path
) -> None:
    script = tmp_path / "large.py"
    script.write_text(LARGE)
    holds(
        lambda database: check_large(Run(database).report()),
        lambda: record(script).database,
    )


def check_large(report: dict[str, Any]) -> None:
    (phase,) = report["phases"]
    assert report["verdict"]["bound_by"] == "input"
    on_the_way = sum(
        cause["total_s"]
        for cause in phase["wait_causes"]
        if cause["cause"] in ("send", "ready") or cause["stage"] == "receive"
    )
    assert on_the_way > 0.6 * phase["exposed_wait_s"]
    receiving = sum(
        row["total_s"]
        for row in phase["stages"]
        if (row["stage"], row["where"]) == ("receive", "main")
    )
    making = sum(
        row["total_s"]
        for row in phase["stages"]
        if (row["stage"], row["where"]) == ("fetch", "worker")
    )
    assert receiving > 0
    assert making > 0
    text = report["verdict"]["text"]
    assert "received" in text or "pickled and sent" in text or "`receive`" in text, text


CROWD = """
import os, time
os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:2])
import torch
from torch.utils.data import DataLoader, TensorDataset
torch.set_num_threads(1)

def collate(samples):
    until = time.thread_time() + 0.02
    while time.thread_time() < until:
        pass
    return torch.stack([sample for (sample,) in samples])

weight = torch.ones(1, requires_grad=True)
optimizer = torch.optim.SGD([weight], lr=0.1)
loader = DataLoader(
    TensorDataset(torch.zeros(240, 1)), batch_size=2, num_workers=8,
    collate_fn=collate, multiprocessing_context="fork",
)
for batch in loader:
    (weight * batch).sum().backward()
    optimizer.step()
"""


def test_more_workers_than_cpus_are_said_to_be(record: Record, tmp_path: Path) -> None:
    script = tmp_path / "crowd.py"
    script.write_text(CROWD)
    holds(check_crowd, lambda: record(script))


def check_crowd(outcome: Outcome) -> None:
    report = Run(outcome.database).report()
    (phase,) = report["phases"]
    cpus = int(outcome.recording.facts["cpu.affinity"])
    assert cpus <= 2
    assert phase["cpu"]["granted"] <= cpus
    assert f"8 workers on {cpus} CPU" in report["verdict"]["text"]
    (collate,) = (row for row in phase["stages"] if row["stage"] == "collate")
    assert collate["cpu_s"] / collate["calls"] == pytest.approx(0.02, abs=0.005)
    assert collate["mean_s"] > 2 * 0.02  # 8 workers share what 2 CPUs give
    assert phase["cpu"]["worker_cpus"] <= cpus * 1.1
    assert phase["cpu"]["worker_queued_share"] > 0.3
    checks = {check["suspect"]: check for check in report["verdict"]["checks"]}
    assert checks["worker_cpu"]["holds_up"]
    assert "Workers could run and had no CPU" in report["verdict"]["text"]


@pytest.mark.parametrize("workers", [0, 2])
def test_a_training_killed_in_mid_batch_is_explained_as_far_as_it_came(
    record: Record, workers: int
) -> None:
    outcome = record(
        "train.py", "--epochs", 1, "--batches", 20, "--workers", workers,
        "--sleep-sample", 0.005, "--signal-at", 9, "--signal", "SIGKILL",
        check=False,
    )  # fmt: skip
    assert outcome.code == -signal.SIGKILL
    report = Run(outcome.database).report()
    (phase,) = report["phases"]
    assert (phase["steps"], phase["partial_steps"]) == (9, 1)
    (main,) = (p for p in report["processes"] if p["role"] == "main")
    assert (main["ending"], main["open_stage"]) == ("killed", "step")
    causes = sum(cause["total_s"] for cause in phase["wait_causes"])
    assert causes == pytest.approx(phase["exposed_wait_s"], abs=1e-9)
    tops = [row for row in phase["stages"] if row["level"] == 0]
    walls = sum(row["total_s"] for row in tops if row["where"] == "main")
    assert walls == pytest.approx(phase["wall_s"], abs=1e-9)
    assert report["verdict"]["bound_by"] == "input"  # 10 ms of samples, short steps
    prediction = Run(outcome.database).whatif(num_workers=[4])["predictions"][0]
    assert prediction["low_s"] <= prediction["step_s"] <= prediction["high_s"]


ACCUMULATION = """
import time
import torch
from torch.utils.data import DataLoader, TensorDataset
from metatrain_timing import count, timed

weight = torch.ones(1, requires_grad=True)
optimizer = torch.optim.SGD([weight], lr=0.1)
optimizer.register_step_pre_hook(lambda *_: time.sleep(0.04))
loader = DataLoader(TensorDataset(torch.zeros(320, 1)), batch_size=8)
for number, (batch,) in enumerate(loader, start=1):
    with timed("forward"):
        loss = (weight * batch).sum()
        time.sleep(0.005)
    loss.backward()
    count("structures", len(batch))
    if number % 4 == 0:
        optimizer.step()
"""


def test_micro_batches_and_optimizer_steps_are_told_apart(
    record: Record, tmp_path: Path
) -> None:
    script = tmp_path / "accumulation.py"
    script.write_text(ACCUMULATION)
    (phase,) = Run(record(script).database).report()["phases"]
    assert (phase["steps"], phase["micro_steps"]) == (10, 40)
    calls = {row["stage"]: row["calls"] for row in phase["stages"]}
    assert calls["forward"] == calls["backward"] == 40
    assert calls["optimizer"] == 10
    step_s, micro_s = phase["step_s"]["mean"], phase["micro_step_s"]["mean"]
    assert step_s == pytest.approx(4 * micro_s, rel=0.05)
    assert step_s > 0.04 + 4 * 0.005
    # A rate is a total over a total: means of the rates of micro-batches are not it,
    # as only every fourth holds the optimizer.
    rates: dict[str, Any] = {row["name"]: row for row in phase["counters"]}
    busy_s = sum(
        row["total_s"]
        for row in phase["stages"]
        if row["level"] == 0 and row["stage"] in ("loader", "step")
    )
    assert rates["structures"]["total"] == 320
    assert rates["structures"]["per_s"] == pytest.approx(320 / busy_s, rel=1e-6)
