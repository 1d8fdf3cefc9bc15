"""Recording never hurts: results, exit codes, files of others, start-up time."""

import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from metatrain_timing import Run
from tests.python.support.recording import WORKLOADS, Outcome, environment_for

Record = Callable[..., Outcome]

torch_only = pytest.mark.torch


@torch_only
@pytest.mark.parametrize("workers", [0, 2])
def test_a_seeded_training_gives_the_same_numbers_to_the_bit(
    record: Record, workers: int
) -> None:
    command = ("train.py", "--workers", workers, "--shuffle", "--validation", 2)
    plain = record(*command, database=None)
    recorded = record(*command)
    assert recorded.recording.count("step") == 14
    assert recorded.out == plain.out
    assert re.fullmatch("[0-9a-f]{64}\n", plain.out)


@torch_only
def test_each_sample_can_be_recorded_without_a_change(record: Record) -> None:
    command = ("train.py", "--shuffle")
    plain = record(*command, database=None)
    recorded = record(*command, environment={"METATRAIN_TIMING_DETAIL": "sample"})
    assert recorded.out == plain.out
    recording = recorded.recording
    assert recording.count("sample") == 2 * recording.count("fetch") == 20
    for row in recording.of("sample"):
        parent = recording.parent(row)
        assert parent is not None
        assert parent.stage == "dataset"


@torch_only
def test_samples_of_a_subset_are_recorded_too(record: Record, tmp_path: Path) -> None:
    script = tmp_path / "subset.py"
    script.write_text(
        "import torch\n"
        "from torch.utils.data import DataLoader, Subset, TensorDataset\n"
        "data = Subset(Subset(TensorDataset(torch.arange(9)), range(8)), range(6))\n"
        "batches = [b.tolist() for (b,) in DataLoader(data, batch_size=2)]\n"
        "assert batches == [[0, 1], [2, 3], [4, 5]]\n"
    )
    environment = {"METATRAIN_TIMING_DETAIL": "sample"}
    recording = record(script, environment=environment).recording
    assert recording.count("sample") == 6
    assert recording.loaders[0].dataset_class == (
        "torch.utils.data.dataset.Subset[torch.utils.data.dataset.Subset["
        "torch.utils.data.dataset.TensorDataset]]"
    )


@torch_only
@pytest.mark.parametrize(
    ("name", "code"), [("SIGINT", 1), ("SIGTERM", -signal.SIGTERM)]
)
def test_an_interrupted_training_keeps_its_steps(
    record: Record, name: str, code: int
) -> None:
    command = (
        "train.py", "--epochs", 1, "--batches", 9, "--signal-at", 7, "--signal", name,
    )  # fmt: skip
    plain = record(*command, database=None, check=False)
    outcome = record(*command, check=False)
    assert outcome.code == plain.code
    assert ours(outcome) == plain.err.replace("METATRAIN", "")
    if name == "SIGINT":
        assert "KeyboardInterrupt" in outcome.err
        assert outcome.recording.count("optimizer") == 7
        # The eighth body has no optimizer call: that is how it is known as partial.
        assert outcome.recording.count("step") == 8
    else:  # nothing of ours runs: the last turns are in the ring, which is read too
        (train,) = Run(outcome.database).report()["phases"]
        calls = {row["stage"]: row["calls"] for row in train["stages"]}
        assert calls["optimizer"] == calls["step"] == 7


def ours(outcome: Outcome) -> str:
    """Stderr without the paths by which a wrapped function shows in a traceback."""
    lines = outcome.err.splitlines(keepends=True)
    kept = []
    skip = 0
    for line in lines:
        if "/metatrain_timing/" in line:
            skip = 2
        if skip and (line.startswith("    ") or "/metatrain_timing/" in line):
            skip -= 1
            continue
        skip = 0
        kept.append(line)
    return "".join(kept)


@torch_only
@pytest.mark.parametrize("workers", [0, 2])
def test_a_broken_sample_ends_the_training_as_without_us(
    record: Record, workers: int
) -> None:
    command = (
        "train.py", "--workers", workers, "--batches", 9, "--fails-at", 13,
    )  # fmt: skip
    outcome = record(*command, check=False)
    assert outcome.code == 1
    assert "RuntimeError: sample 13 is broken" in outcome.err
    recording = outcome.recording
    assert recording.count("optimizer") == recording.count("step") == 6
    assert recording.count("loader") == 7  # the last one raised


@torch_only
def test_what_a_signal_handler_raises_arrives(record: Record, tmp_path: Path) -> None:
    script = tmp_path / "alarm.py"
    script.write_text(
        "import signal, sys\n"
        "from metatrain_timing._guard import guarded\n"
        "class TimeIsUp(Exception): pass\n"
        "class Watch:\n"
        "    def ring(self, *_): raise TimeIsUp\n"
        "signal.signal(signal.SIGALRM, Watch().ring)\n"
        "@guarded\n"
        "def busy():\n"
        "    signal.raise_signal(signal.SIGALRM)\n"
        "@guarded\n"
        "def broken():\n"
        "    raise KeyError('ours')\n"
        "broken()\n"
        "try:\n"
        "    busy()\n"
        "except TimeIsUp:\n"
        "    sys.exit(7)\n"
    )
    outcome = record(script, check=False)
    assert outcome.code == 7
    assert "internal error in broken" in outcome.err


@torch_only
def test_a_compiled_function_may_call_what_is_recorded(
    record: Record, tmp_path: Path
) -> None:
    script = tmp_path / "compiled.py"
    script.write_text(
        "import torch\n"
        "from torch.utils.data import DataLoader\n"
        "weight = torch.ones(3, requires_grad=True)\n"
        "optimizer = torch.optim.SGD([weight], lr=0.1)\n"
        "@torch.compile(fullgraph=True, backend='eager')\n"
        "def clip():\n"
        "    return torch.nn.utils.clip_grad_norm_([weight], 0.1)\n"
        "for batch in DataLoader(torch.ones(4, 3)):\n"
        "    (weight * batch).sum().backward()\n"
        "    clip()\n"
        "    optimizer.step()\n"
    )
    assert record(script).recording.count("optimizer") == 4


@torch_only
def test_a_failing_forward_leaves_one_body_without_a_step(record: Record) -> None:
    outcome = record("train.py", "--forward-fails", check=False)
    assert outcome.code == 1
    recording = outcome.recording
    assert recording.count("loader") == recording.count("step") == 1
    assert recording.count("optimizer") == 0


@torch_only
def test_a_path_of_any_name_is_taken_where_the_program_starts(
    record: Record, tmp_path: Path
) -> None:
    name = "50% a#b?mode=rwc é日"
    (tmp_path / name).mkdir()
    (tmp_path / "elsewhere").mkdir()
    outcome = record(
        "train.py", "--workers", 2, "--epochs", 1, "--chdir", "elsewhere",
        database=f"{name}/run.db",
    )  # fmt: skip
    assert outcome.recording.count("fetch", role="worker") == 5
    left = sorted(p.relative_to(tmp_path).as_posix() for p in tmp_path.rglob("*"))
    assert left == [
        name,
        f"{name}/run.db",
        f"{name}/run.db.d",
        f"{name}/run.db.d/rank0-w00.db",
        f"{name}/run.db.d/rank0-w01.db",
        "elsewhere",
    ]


def test_a_path_may_begin_with_two_slashes(record: Record, tmp_path: Path) -> None:
    record("plain.py", database=f"/{tmp_path}/run.db")
    assert [path.name for path in tmp_path.iterdir()] == ["run.db"]


@pytest.mark.parametrize("target", ["folder", "foreign", "unwritable", "missing"])
def test_an_impossible_target_is_one_line_and_the_program_goes_on(
    record: Record, tmp_path: Path, target: str
) -> None:
    paths = {
        "folder": "a_folder",
        "foreign": "notes.txt",
        "unwritable": "/proc/run.db",
        "missing": "no/such/parent/run.db",
    }
    (tmp_path / "a_folder").mkdir()
    (tmp_path / "notes.txt").write_text("not a database\n" * 100)
    outcome = record("plain.py", database=paths[target])
    assert len(outcome.warnings) == 1, outcome.err
    assert paths[target] in outcome.warnings[0]
    assert (tmp_path / "notes.txt").read_text() == "not a database\n" * 100


def test_a_process_without_a_training_leaves_nothing(tmp_path: Path) -> None:
    for code in (
        "1",
        "import metatrain_timing._startup",
        "import metatrain_timing.api",
    ):
        subprocess.run(
            [sys.executable, "-c", code],
            cwd=tmp_path,
            env=environment_for("run.db"),
            check=True,
            timeout=60,
        )
    assert list(tmp_path.iterdir()) == []


def test_without_the_variable_nothing_of_ours_is_imported(tmp_path: Path) -> None:
    listed = subprocess.run(
        [
            sys.executable,
            "-c",
            "import sys; print([m for m in sys.modules if 'metatrain_timing' in m])",
        ],
        cwd=tmp_path,
        env=environment_for(None),
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    assert listed.stdout.strip() == "[]"


def imported_at_start(folder: Path, database: str | None) -> set[str]:
    """Modules that a Python program finds imported."""
    listed = subprocess.run(
        [sys.executable, "-c", "import sys; print(*sys.modules)"],
        cwd=folder,
        env=environment_for(database),
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    return set(listed.stdout.split())


def test_with_the_variable_the_recorder_waits_for_a_training(tmp_path: Path) -> None:
    ours = {
        "metatrain_timing",
        "metatrain_timing._hooks",
        "metatrain_timing._hooks.import_hook",
        "metatrain_timing._startup",
    }
    added = imported_at_start(tmp_path, "run.db") - imported_at_start(tmp_path, None)
    assert ours <= added
    # Little else: every Python process pays for it.
    assert added - ours <= {
        "__future__",
        "importlib",
        "importlib._bootstrap",
        "importlib._bootstrap_external",
        "warnings",
    }


@torch_only
def test_without_the_variable_the_api_changes_nothing_in_torch(
    record: Record, tmp_path: Path
) -> None:
    script = tmp_path / "off.py"
    script.write_text(
        "from metatrain_timing import timing, timed, count, phase\n"
        "import torch\n"
        "from torch.utils.data import DataLoader, _utils, dataloader\n"
        "with phase('a'), timed('b'): count('c')\n"
        "loader = DataLoader(torch.arange(2), num_workers=1)\n"
        "assert [int(x) for x in loader] == [0, 1]\n"
        "for function in (\n"
        "    DataLoader.__init__, dataloader._BaseDataLoaderIter.__next__,\n"
        "    _utils.worker._worker_loop, torch.autograd.backward,\n"
        "):\n"
        "    assert not hasattr(function, '__metatrain_timing__'), function\n"
        "assert not timing.ENABLED and 'METATRAIN_TIMING=1' in timing.report()\n"
    )
    outcome = record(script, database=None, environment={"TMPDIR": str(tmp_path)})
    assert outcome.err == ""
    assert [path.name for path in tmp_path.iterdir()] == ["off.py"]


@torch_only
def test_importing_torch_alone_leaves_nothing(record: Record, tmp_path: Path) -> None:
    script = tmp_path / "imports.py"
    script.write_text("import torch\ntorch.ones(1).sum()\n")
    assert record(script).files == []


@torch_only
def test_workers_hold_no_file_of_their_parent_open(
    record: Record, tmp_path: Path
) -> None:
    script = tmp_path / "files.py"
    script.write_text(
        "import os, torch\n"
        "from torch.utils.data import DataLoader, Dataset\n"
        "import metatrain_timing as mt\n"
        "class Files(Dataset):\n"
        "    def __len__(self): return 4\n"
        "    def __getitem__(self, i):\n"
        "        fds = '/proc/self/fd/'\n"
        "        links = [fds + name for name in os.listdir(fds)]\n"
        "        return [os.readlink(l) for l in links if os.path.islink(l)]\n"
        "for _ in range(1000):\n"
        "    with mt.timed('early'): pass\n"
        "mt.flush()\n"
        "assert mt.health()['recorded_count'] == 1000\n"
        "options = dict(num_workers=2, collate_fn=lambda samples: samples)\n"
        "for files in DataLoader(Files(), **options):\n"
        "    assert not [f for f in files[0] if f.endswith('run.db')], files\n"
        "for _ in range(500):\n"
        "    with mt.timed('late'): pass\n"
    )
    recording = record(script).recording
    assert recording.count("early", role="main") == 1000
    assert recording.count("late", role="main") == 500
    of_main = {row.uuid for row in recording.processes if row.role == "main"}
    for row in recording.intervals:
        assert (row.file.name == "run.db") == (row.process in of_main)


@torch_only
def test_children_of_workers_are_no_workers(record: Record, tmp_path: Path) -> None:
    script = tmp_path / "pool.py"
    script.write_text(
        "import multiprocessing, os, torch\n"
        "from torch.utils.data import DataLoader, Dataset\n"
        "import metatrain_timing as mt\n"
        "def child(): os._exit(0) if mt is None else None\n"
        "class Pools(Dataset):\n"
        "    def __len__(self): return 4\n"
        "    def __getitem__(self, i):\n"
        "        multiprocessing.current_process()._config['daemon'] = False\n"
        "        process = multiprocessing.get_context('fork').Process(target=child)\n"
        "        process.start(); process.join()\n"
        "        return process.exitcode\n"
        "total = sum(int(b.sum()) for b in DataLoader(Pools(), num_workers=2))\n"
        "assert total == 0\n"
    )
    recording = record(script).recording
    assert recording.count("fetch", role="worker") == 4
    assert sorted(row.role for row in recording.processes) == ["main"] + ["worker"] * 2


@torch_only
@pytest.mark.skipif(shutil.which("g++") is None, reason="torch.compile needs g++")
def test_workers_of_the_compiler_are_not_recorded(
    record: Record, tmp_path: Path
) -> None:
    script = tmp_path / "compiled.py"
    script.write_text(
        "import torch\n"
        "from torch.utils.data import DataLoader\n"
        "model = torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.ReLU())\n"
        "compiled = torch.compile(model)\n"
        "optimizer = torch.optim.SGD(model.parameters(), lr=0.01)\n"
        "for epoch in range(2):\n"
        "    for batch in DataLoader(torch.ones(6, 8), 2, num_workers=2):\n"
        "        compiled(batch).sum().backward()\n"
        "        optimizer.step()\n"
        "from torch._dynamo.utils import counters\n"
        "assert counters['inductor']\n"
    )
    cache = {"TORCHINDUCTOR_CACHE_DIR": str(tmp_path / "cache")}
    outcome = record(script, environment=cache)
    recording = outcome.recording
    assert sorted(row.role for row in recording.processes) == ["main"] + 4 * ["worker"]
    assert recording.count("step") == recording.count("fetch") == 6
    assert len(outcome.files) == 3


def test_a_command_can_be_recorded_without_the_start_up_file(
    record: Record, tmp_path: Path
) -> None:
    outcome = record("-m", "metatrain_timing", WORKLOADS / "plain.py", "--report")
    assert outcome.recording.count("step") == 9
    script = tmp_path / "package" / "fails.py"
    script.parent.mkdir()
    (script.parent / "__init__.py").touch()
    script.write_text("import sys\nprint(sys.argv[1:])\nsys.exit(7)\n")
    outcome = record(
        "-m", "metatrain_timing", "-m", "package.fails", "-x", "--", "y", check=False
    )
    assert (outcome.code, outcome.out) == (7, "['-x', '--', 'y']\n")
    outcome = record("-m", "metatrain_timing", "no-such-program", check=False)
    assert outcome.code == 2
    assert outcome.err.splitlines()[-1].endswith(
        "no-such-program: no Python script or program of this name"
    )


@torch_only
@pytest.mark.slow
@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_workers_are_recorded_without_the_start_up_file(
    record: Record, method: str
) -> None:
    import torch

    import metatrain_timing

    places = [str(Path(m.__file__ or "").parents[1]) for m in (metatrain_timing, torch)]
    outcome = record(
        "-S", "-m", "metatrain_timing", WORKLOADS / "train.py", "--epochs", 1,
        "--workers", 2, "--start-method", method,
        environment={"PYTHONPATH": os.pathsep.join(places)},
    )  # fmt: skip
    assert outcome.warnings == []
    assert outcome.recording.count("fetch", role="worker") == 5
    assert outcome.recording.count("worker_start", role="worker") == 2


@torch_only
def test_two_trainings_at_once_and_one_later_are_three_runs(
    record: Record, tmp_path: Path
) -> None:
    command = [
        sys.executable, str(WORKLOADS / "train.py"), "--workers", "1",
        "--sleep-step", "0.1",
    ]  # fmt: skip
    both = [
        subprocess.Popen(
            command,
            cwd=tmp_path,
            env=environment_for("run.db"),
            stdout=subprocess.DEVNULL,
        )
        for _ in range(2)
    ]
    assert [process.wait(timeout=120) for process in both] == [0, 0]
    recording = record("train.py", "--epochs", 1).recording
    runs = {row.uuid for row in recording.runs}
    assert len(runs) == 3
    steps = sorted(recording.count("step", run=run) for run in runs)
    assert steps == [5, 10, 10]
    fetches = sorted(recording.count("fetch", run=run) for run in runs)
    assert fetches == [5, 10, 10]


@torch_only
@pytest.mark.slow
def test_hundreds_of_worker_lives_fit_into_a_few_files(
    record: Record, tmp_path: Path
) -> None:
    script = tmp_path / "lives.py"
    script.write_text(
        "import sys, torch\n"
        "from torch.utils.data import DataLoader\n"
        "passes, workers = map(int, sys.argv[1:])\n"
        "loader = DataLoader(torch.arange(2), num_workers=workers)\n"
        "for _ in range(passes):\n"
        "    assert sum(1 for _ in loader) == 2\n"
    )
    passes, workers = (300, 8) if os.environ.get("MT_LONG_TESTS") else (20, 4)
    outcome = record(script, passes, workers, timeout_s=1200)
    recording = outcome.recording  # which checks the integrity of each file
    lives = [row for row in recording.processes if row.role == "worker"]
    # A life that had no batch is recorded too: it started and it waited.
    assert len(lives) == passes * workers
    assert recording.count("fetch") == passes * 2
    assert recording.count("worker_start", role="worker") == passes * workers
    assert len(outcome.files) <= 1 + workers + 1
    assert all(row.dropped_count == 0 for row in recording.processes)


@pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")
def test_the_commit_is_read_without_running_git(tmp_path: Path) -> None:
    from metatrain_timing import _facts

    def git(*arguments: str) -> str:
        identity = ("-c", "user.name=n", "-c", "user.email=e@x")
        return subprocess.run(
            ["git", *identity, *arguments],
            cwd=tmp_path,
            check=True,
            capture_output=True,
            text=True,
        ).stdout.strip()

    assert _facts.git_commit(tmp_path) is None
    git("init", "-q")
    git("commit", "-q", "--allow-empty", "-m", "one")
    commit = git("rev-parse", "HEAD")
    (tmp_path / "below").mkdir()
    assert _facts.git_commit(tmp_path / "below") == commit
    git("pack-refs", "--all")
    assert _facts.git_commit(tmp_path) == commit
    git("checkout", "-q", "--detach")
    assert _facts.git_commit(tmp_path) == commit


@pytest.mark.parametrize(
    ("arguments", "masked"),
    [
        (["mtt", "train", "options.yaml"], ["mtt", "train", "options.yaml"]),
        (["a", "--token", "abc"], ["a", "--token", "***"]),
        (["a", "--api-key=abc", "key=v"], ["a", "--api-key=***", "key=***"]),
        (["a", "wandb.password=x"], ["a", "wandb.password=***"]),
        (["a", "--token", "--verbose"], ["a", "--token", "--verbose"]),
        (["a", "https://me:pw@host/x"], ["a", "https://***@host/x"]),
        (
            ["a", "--monkey=1", "--keyboard", "us"],
            ["a", "--monkey=1", "--keyboard", "us"],
        ),
    ],
)
def test_secrets_on_the_command_line_are_masked(
    arguments: list[str], masked: list[str]
) -> None:
    from metatrain_timing import _facts

    assert _facts.mask_arguments(arguments) == masked
