"""Differences of real runs: whose they are, and whether they matter."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import metatrain_timing
from metatrain_timing import AnalyzerError, Run
from tests.python.support.again import holds
from tests.python.support.recording import Outcome

pytestmark = pytest.mark.torch

# serialize, unpack, forward: milliseconds
VARIANTS = {
    "small": (40, 4, 60),
    "small_branch": (2, 4, 80),
    "large": (40, 60, 40),
    "large_branch": (2, 8, 60),
}


Databases = dict[str, Path]
Check = Callable[[dict[str, Any]], None]


@pytest.fixture(scope="module")
def record_all(record_once: Callable[..., Outcome]) -> Callable[..., Databases]:
    def run(*names: str) -> Databases:
        return {
            name: Path(
                record_once("two_variants.py", *map(str, VARIANTS[name])).database
            )
            for name in names
        }

    return run


@pytest.fixture(scope="module")
def databases(record_all: Callable[..., Databases]) -> Databases:
    return record_all(*VARIANTS)


@pytest.fixture
def compared_holds(
    databases: Databases, record_all: Callable[..., Databases]
) -> Callable[[str, int, Check], None]:
    """Check what diff says of a variant and its branch, with so many workers."""

    def run(name: str, workers: int, check: Check) -> None:
        holds(
            lambda found: check(compare(found, name, workers)),
            lambda: record_all(name, f"{name}_branch"),
            databases,
        )

    return run


def compare(databases: Databases, name: str, workers: int) -> dict[str, Any]:
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


Holds = Callable[[str, int, Check], None]


# Half of what a stage takes is saved where it is waited for, nothing where it is hidden
# behind the step: (variant, workers) to what a report alone says of it. A `forward` of
# half the time saves 24 of 64 ms beside a worker that takes 40 for a batch.
SAVED_MS = {
    ("small", 0): {"serialize": 20, "unpack": 2, "forward": 30},
    ("small", 1): {"serialize": 0, "unpack": 2, "forward": 24},
    ("large", 0): {"serialize": 20, "unpack": 30, "forward": 20},
    ("large", 1): {"serialize": 0, "unpack": 30, "forward": 20},
}


@pytest.mark.parametrize(("name", "workers"), SAVED_MS)
def test_a_report_alone_says_what_a_cheaper_stage_would_gain(
    databases: Databases,
    record_all: Callable[..., Databases],
    name: str,
    workers: int,
) -> None:
    def check(found: Databases) -> None:
        report = Run(found[name]).report(phase=f"workers{workers}")
        (phase,) = report["phases"]
        assert phase["name"] == f"workers{workers}"
        wait_share = phase["exposed_wait_s"] / phase["wall_s"]
        assert report["verdict"]["wait_share"] == pytest.approx(wait_share, abs=0.05)
        assert report["verdict"]["bound_by"] == (
            "compute" if workers else {"small": "input", "large": "mixed"}[name]
        )
        expected = SAVED_MS[name, workers]
        saved_ms = {
            row["stage"]: 1000 * row["saved_s"]
            for row in report["advice"]["stages"]
            if row["stage"] in expected
        }
        assert saved_ms == pytest.approx(expected, abs=4)

    holds(check, lambda: record_all(name), databases)


def test_without_workers_a_cheaper_collate_is_a_gain(compared_holds: Holds) -> None:
    def check(answer: dict[str, Any]) -> None:
        assert answer["verdict"] == "improved", answer["text"]  # 104 -> 86 ms
        gain_ms = stage(answer, "loader/serialize")["contrib_ms"]
        assert gain_ms == pytest.approx(-38, rel=0.4)
        assert "waiting for `serialize` -" in answer["text"][1]

    compared_holds("small", 0, check)


def test_with_a_worker_a_cheaper_collate_gains_nothing(compared_holds: Holds) -> None:
    def check(answer: dict[str, Any]) -> None:
        assert answer["verdict"] == "regressed", answer["text"]  # 64 -> 84 ms
        assert "`forward` +" in answer["text"][1]
        assert abs(stage(answer, "loader")["contrib_ms"]) < 8
        hidden = " ".join(answer["text"])
        assert "In the workers `serialize` takes " in hidden
        assert "hidden behind the steps" in hidden

    compared_holds("small", 1, check)


@pytest.mark.parametrize("workers", [0, 1])
def test_a_stage_of_the_training_process_gains_with_any_workers(
    compared_holds: Holds, workers: int
) -> None:
    def check(answer: dict[str, Any]) -> None:
        assert answer["verdict"] == "improved", answer["text"]  # 140 -> 70, 100 -> 68
        unpack = stage(answer, "step/unpack")
        assert unpack["contrib_ms"] == pytest.approx(-52, rel=0.3)
        assert unpack["verdict"] == "improved"
        assert "`unpack` -" in answer["text"][1]

    compared_holds("large", workers, check)


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
    holds(
        check_epoch_starts,
        lambda: metatrain_timing.diff(
            *(record_once(script, str(alive)).database for alive in (False, True))
        ),
    )


def check_epoch_starts(answer: dict[str, Any]) -> None:
    assert answer["verdict"] in ("same", "inconclusive")
    changed = {fact["key"]: fact for fact in answer["comparable"]["changed"]}
    assert changed["loader.persistent_workers"]["b"] == "true"
    gains = {name: both["b"] - both["a"] for name, both in answer["per_step"].items()}
    # Two starts of half a second are saved in 60 steps.
    assert gains["epoch_start"] == pytest.approx(-2 * 0.5 / 60, rel=0.3)
    assert gains["wall"] == pytest.approx(sum(gains.values()) - gains["wall"])
    assert "the begin of epochs" in " ".join(answer["text"])


def test_batches_of_other_sizes_are_compared_by_what_they_count(
    record_once: Callable[..., Outcome], tmp_path: Path
) -> None:
    script = tmp_path / "sizes.py"
    script.write_text(
        """
import sys, time
import torch
from torch.utils.data import DataLoader
from metatrain_timing import count

atoms = [1 + 7 * i % 16 for i in range(480)]

def batches(most):
    batch = []
    for i, size in enumerate(atoms):
        if batch and sum(atoms[j] for j in batch) + size > most:
            yield batch
            batch = []
        batch.append(i)
    yield batch

sizes = (
    {"batch_size": 8}
    if sys.argv[1] == "count"
    else {"batch_sampler": list(batches(100))}
)
weight = torch.ones(1, requires_grad=True)
optimizer = torch.optim.SGD([weight], lr=0.1)
for batch in DataLoader(atoms, collate_fn=list, **sizes):
    count("structures", len(batch))
    count("atoms", sum(batch))
    time.sleep(0.0005 * sum(batch))
    (weight * sum(batch)).sum().backward()
    optimizer.step()
"""
    )
    holds(
        check_sizes,
        lambda: metatrain_timing.diff(
            *(record_once(script, by).database for by in ("count", "atoms")),
            run_noise="1%",
        ),
    )


def check_sizes(answer: dict[str, Any]) -> None:
    steps = [answer[side][0]["steps"] for side in ("baseline", "candidate")]
    assert steps[0] == 60  # batches of 8 of 480; those of 100 atoms are fewer
    assert steps[1] < 50
    assert answer["unit"]["name"] in ("samples", "structures", "atoms")
    # The same structures cost the same, however they are put together.
    assert answer["metrics"][0]["rel"] == pytest.approx(0, abs=0.1), answer["text"]
    assert answer["verdict"] in ("same", "inconclusive")


def test_accumulated_gradients_are_compared_by_what_they_count(
    record_once: Callable[..., Outcome], tmp_path: Path
) -> None:
    script = tmp_path / "accumulate.py"
    script.write_text(
        """
import sys, time
import torch
from torch.utils.data import DataLoader
from metatrain_timing import count

every = int(sys.argv[1])
weight = torch.ones(1, requires_grad=True)
optimizer = torch.optim.SGD([weight], lr=0.1)
optimizer.register_step_pre_hook(lambda *_: time.sleep(0.04))
for i, batch in enumerate(DataLoader(range(60 * every * 8), batch_size=8)):
    count("structures", len(batch))
    time.sleep(0.01)
    (weight * batch).sum().backward()
    if (i + 1) % every == 0:
        optimizer.step()
"""
    )
    holds(
        check_accumulated,
        lambda: metatrain_timing.diff(
            *(record_once(script, every).database for every in (1, 4)), run_noise="1%"
        ),
    )


def check_accumulated(answer: dict[str, Any]) -> None:
    assert [answer[side][0]["steps"] for side in ("baseline", "candidate")] == [60, 60]
    assert answer["unit"]["b"] == pytest.approx(4 * answer["unit"]["a"])
    # (10 + 40) / 8 ms for each structure, then (4 * 10 + 40) / 32
    assert answer["verdict"] == "improved", answer["text"]
    assert answer["metrics"][0]["rel"] == pytest.approx(2.5 / 6.25 - 1, abs=0.1)


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
