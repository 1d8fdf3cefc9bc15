"""Whole trainings under faults of the system: same numbers, one line, nothing lost."""

import os
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from metatrain_timing import Run
from tests.python.support.recording import Outcome, Recording, run_recorded

Record = Callable[..., Outcome]

KIT = Path(__file__).parents[1] / "faults" / "fault_kit.cpp"
TRAINING = ("train.py", "--workers", 2, "--shuffle", "--validation", 1, "--batches", 6)
TURNS = 12  # training steps; 12 fetches for them and 2 for the validation

pytestmark = pytest.mark.torch


@pytest.fixture(scope="session")
def fault_kit(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The library that makes calls of the C library fail, built here."""
    compiler = shutil.which("c++") or shutil.which("g++")
    if compiler is None:
        pytest.skip("needs a C++ compiler")
    library = tmp_path_factory.mktemp("kit") / "libmt_faults.so"
    subprocess.run(
        [compiler, "-std=c++20", "-O1", "-fPIC", "-shared", "-o", library, KIT, "-ldl"],
        check=True,
    )
    return library


@pytest.fixture(scope="module")
def numbers(tmp_path_factory: pytest.TempPathFactory) -> str:
    """What the training prints where nothing is recorded."""
    return run_recorded(tmp_path_factory.mktemp("plain"), *TRAINING, database=None).out


def test_a_report_needs_no_second_thread(record: Record, fault_kit: Path) -> None:
    outcome = record(*TRAINING)
    command = ["mt-analyze", "report", str(outcome.database), "--format", "json"]
    reports = [
        subprocess.run(
            command,
            env={**os.environ, "LD_PRELOAD": str(fault_kit), "MT_FAULTS": faults},
            capture_output=True,
            check=True,
        )
        for faults in ("", "pthread_create:1+:EAGAIN")
    ]
    assert reports[0].stdout == reports[1].stdout
    assert [done.stderr for done in reports] == [b"", b""]


@pytest.mark.parametrize(
    ("faults", "is_said"),
    [
        pytest.param("write@run.db:1+:ENOSPC", True, id="the disk is full"),
        pytest.param("write@run.db:60+:EIO", True, id="the disk breaks"),
        pytest.param(
            "fcntl@run.db:1+:ENOLCK fallocate@.ring:1+:EOPNOTSUPP",
            False,
            id="no locks and no rings",
        ),
        pytest.param("write@run.db:60+:sleep=600", False, id="the server hangs"),
    ],
)
def test_a_training_has_the_same_numbers_under_each_fault(
    record: Record, fault_kit: Path, numbers: str, faults: str, is_said: bool
) -> None:
    outcome = record(
        *TRAINING,
        environment={"LD_PRELOAD": str(fault_kit), "MT_FAULTS": faults},
        timeout_s=120,
    )
    assert outcome.out == numbers
    assert len(outcome.err.splitlines()) <= 1, outcome.err
    assert not is_said or "cannot write" in outcome.err
    # The faults are gone with the training: what waited in the ring files comes in.
    phases = Run(outcome.database).report()["phases"]
    assert [row["steps"] for row in phases if row["name"] == "train"] == [TURNS]
    recording = recording_of(outcome)
    assert recording.count("optimizer") == TURNS
    # Workers that are forked while the server hangs do without.
    fetches = recording.count("fetch", role="worker")
    assert fetches == TURNS + 2 or "sleep" in faults
    assert left_in_shared_memory(recording) == []


def recording_of(outcome: Outcome) -> Recording:
    """What was recorded; a file that stayed empty for want of space holds nothing."""
    return Recording([path for path in outcome.files if path.stat().st_size > 0])


def left_in_shared_memory(recording: Recording) -> list[Path]:
    """Ring files of recorded processes that nobody removed."""
    uuids = [row.uuid for row in recording.processes]
    folder = Path(f"/dev/shm/metatrain-timing-{os.geteuid()}")
    return [path for uuid in uuids for path in folder.glob(f"*{uuid}*")]


def die_in_a_collate(record: Record, folder: Path, *statements: str) -> None:
    """
    A training whose worker 1 is killed in its third collate, by what it does there.

    :param record: runs it.
    :param folder: where the script lies.
    :param statements: what kills the worker.
    """
    script = folder / "dies.py"
    script.write_text(
        "import os, signal, torch\n"
        "from torch.utils.data import DataLoader, get_worker_info\n"
        "def collate(samples):\n"
        "    if samples[0] >= 10 and get_worker_info().id == 1:\n"
        + "".join(f"        {statement}\n" for statement in statements)
        + "    return samples\n"
        "loader = DataLoader(range(40), batch_size=2, num_workers=2,\n"
        "                    collate_fn=collate)\n"
        "for batch in loader: pass\n"
    )
    outcome = record(script, check=False)
    assert outcome.code == 1
    assert "killed by signal: Killed" in outcome.err
    assert outcome.warnings == []
    (died,) = (
        row
        for row in Run(outcome.database).report()["processes"]
        if row["role"] == "worker" and row["worker"] == 1
    )
    assert (died["ending"], died["open_stage"]) == ("killed", "collate")
    # Batches 1 and 3 were sent, 5 was being made.
    recording = outcome.recording
    assert [row.batch for row in recording.of("fetch", worker=1)] == [1, 3]
    assert left_in_shared_memory(recording) == []


def test_a_worker_that_dies_in_its_collate_is_named_with_it(
    record: Record, tmp_path: Path
) -> None:
    die_in_a_collate(record, tmp_path, "os.kill(os.getpid(), signal.SIGKILL)")


@pytest.fixture
def memory_group() -> Iterator[Path]:
    """A control group of 64 MB, where this process may make one."""
    places = ("memory", "memory.limit_in_bytes"), ("", "memory.max")
    for place, limit in places:
        group = Path("/sys/fs/cgroup") / place / f"metatrain-timing-test-{os.getpid()}"
        try:
            group.mkdir()
        except OSError:
            continue
        try:
            (group / limit).write_text(str(64 << 20))
        except OSError:
            group.rmdir()
            continue
        yield group
        while (group / "cgroup.procs").read_text():
            time.sleep(0.01)
        group.rmdir()
        return
    pytest.skip("no control group can be made here")


def test_a_worker_beyond_its_memory_limit_is_named_with_its_stage(
    record: Record, tmp_path: Path, memory_group: Path
) -> None:
    die_in_a_collate(
        record,
        tmp_path,
        f"open('{memory_group}/cgroup.procs', 'w').write('0')",
        "grown = [bytes([1]) * (1 << 20) for _ in range(500)]",
        "raise RuntimeError('has all the memory it wants')",
    )


def test_a_training_that_ends_in_the_middle_loses_nothing(
    record: Record, tmp_path: Path
) -> None:
    script = tmp_path / "ends.py"
    script.write_text(
        "import os, torch\n"
        "from torch.utils.data import DataLoader\n"
        "weight = torch.ones(3, requires_grad=True)\n"
        "optimizer = torch.optim.SGD([weight], lr=0.1)\n"
        "for step, batch in enumerate(DataLoader(torch.ones(100, 3))):\n"
        "    (weight * batch).sum().backward()\n"
        "    if step == 57: os._exit(9)\n"
        "    optimizer.step()\n"
    )
    outcome = record(script, check=False)
    assert (outcome.code, outcome.err) == (9, "")
    report = Run(outcome.database).report()
    (phase,) = (row for row in report["phases"] if row["name"] == "train")
    assert (phase["steps"], phase["partial_steps"]) == (57, 1)
    (main,) = report["processes"]
    assert (main["ending"], main["open_stage"]) == ("killed", "step")
    recording = outcome.recording
    assert recording.count("backward") == 58
    assert recording.count("optimizer") == recording.count("step") == 57
