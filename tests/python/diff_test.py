"""Differences of real runs: whose they are, and whether they matter."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import metatrain_timing
from metatrain_timing import AnalyzerError, Run
from tests.python.support.recording import Outcome

pytestmark = pytest.mark.torch

# serialize, unpack, forward: milliseconds
VARIANTS = {
    "small": (40, 4, 40),
    "small_branch": (2, 4, 60),
    "large": (40, 60, 40),
    "large_branch": (2, 8, 60),
}


@pytest.fixture(scope="module")
def databases(record_once: Callable[..., Outcome]) -> dict[str, Path]:
    return {
        name: Path(record_once("two_variants.py", *map(str, times)).database)
        for name, times in VARIANTS.items()
    }


def compare(databases: dict[str, Path], name: str, workers: int) -> dict[str, Any]:
    # Sleeps differ from run to run by as much as the machine is busy.
    return metatrain_timing.diff(
        databases[name],
        databases[f"{name}_branch"],
        phase=f"workers{workers}",
        run_noise="1%",
    )


def stage(answer: dict[str, Any], path: str) -> Any:
    (found,) = (
        one
        for one in answer["metrics"]
        if (one["name"], one["stage"]) == ("stage", path)
    )
    return found


def test_without_workers_a_cheaper_collate_is_a_gain(
    databases: dict[str, Path],
) -> None:
    answer = compare(databases, "small", 0)
    assert answer["verdict"] == "improved", answer["text"]  # 84 -> 66 ms
    gain_ms = stage(answer, "loader/serialize")["contrib_ms"]
    assert gain_ms == pytest.approx(-38, rel=0.4)
    assert "waiting for `serialize` -" in answer["text"][1]


def test_with_a_worker_a_cheaper_collate_gains_nothing(
    databases: dict[str, Path],
) -> None:
    answer = compare(databases, "small", 1)
    assert answer["verdict"] == "regressed", answer["text"]  # 44 -> 64 ms
    assert "`forward` +" in answer["text"][1]
    assert abs(stage(answer, "loader")["contrib_ms"]) < 8
    hidden = " ".join(answer["text"])
    assert "In the workers `serialize` takes " in hidden
    assert "hidden behind the steps" in hidden


@pytest.mark.parametrize("workers", [0, 1])
def test_a_stage_of_the_training_process_gains_with_any_workers(
    databases: dict[str, Path], workers: int
) -> None:
    answer = compare(databases, "large", workers)
    assert answer["verdict"] == "improved", answer["text"]  # 140 -> 70, 100 -> 68
    unpack = stage(answer, "step/unpack")
    assert unpack["contrib_ms"] == pytest.approx(-52, rel=0.3)
    assert unpack["verdict"] == "improved"
    assert "`unpack` -" in answer["text"][1]


def test_workers_that_live_on_gain_at_the_begin_of_epochs(
    record_once: Callable[..., Outcome], tmp_path: Path
) -> None:
    script = tmp_path / "epochs.py"
    script.write_text(
        """
import sys, time
import torch
from torch.utils.data import DataLoader, TensorDataset

def start(worker):
    time.sleep(0.5)

weight = torch.ones(1, requires_grad=True)
optimizer = torch.optim.SGD([weight], lr=0.1)
loader = DataLoader(
    TensorDataset(torch.zeros(80, 1)), batch_size=4, num_workers=2,
    worker_init_fn=start, persistent_workers=sys.argv[1] == "True",
    multiprocessing_context="fork",
)
for epoch in range(3):
    for (batch,) in loader:
        loss = (weight * batch).sum()
        time.sleep(0.02)
        loss.backward()
        optimizer.step()
"""
    )
    before, after = (
        record_once(script, str(persistent)).database for persistent in (False, True)
    )
    answer = metatrain_timing.diff(before, after)
    assert answer["verdict"] in ("same", "inconclusive")
    changed = {fact["key"]: fact for fact in answer["comparable"]["changed"]}
    assert changed["loader.persistent_workers"]["b"] == "true"
    gains = {name: both["b"] - both["a"] for name, both in answer["per_step"].items()}
    # Two starts of half a second are saved in 60 steps.
    assert gains["epoch_start"] == pytest.approx(-2 * 0.5 / 60, rel=0.3)
    assert gains["wall"] == pytest.approx(sum(gains.values()) - gains["wall"])
    assert "the begin of epochs" in " ".join(answer["text"])


def test_several_runs_and_errors(databases: dict[str, Path], tmp_path: Path) -> None:
    one, other = databases["small"], databases["large"]
    answer = metatrain_timing.diff(
        [one, other], [databases["small_branch"]], phase="workers0"
    )
    assert len(answer["baseline"]) == 2
    uuid = Run(one).runs()[0]["uuid"]
    assert answer["baseline"][0]["uuid"] == uuid
    with pytest.raises(AnalyzerError, match=r"nothing\.db"):
        metatrain_timing.diff(one, tmp_path / "nothing.db")
    with pytest.raises(AnalyzerError, match="give runs before and after"):
        metatrain_timing.diff(one, [])
    with pytest.raises(AnalyzerError, match="--run-noise lots"):
        metatrain_timing.diff(one, other, run_noise="lots")
