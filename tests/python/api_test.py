"""The API of metatrain's timing module and what we add, in programs without torch."""

import subprocess
import sys
import sysconfig
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from metatrain_timing import Run
from tests.python.support.recording import Outcome, Recording, environment_for

Record = Callable[..., Outcome]

NAMES = [
    "COLLATE_STAGES",
    "ENABLED",
    "STEP_BREAKDOWN",
    "TOP_STAGES",
    "TRANSFORM_PREFIX",
    "count_systems",
    "enable",
    "report",
    "reset",
    "timed",
    "timed_iter",
    "timed_transform",
]


def run(code: str, folder: Path, **environment: str) -> str:
    """Run a piece of code with recording as the environment says; its stdout."""
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=folder,
        env=environment_for(None, environment),
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stderr == ""
    return done.stdout


@pytest.fixture(scope="module")
def outcome(record_once: Record) -> Outcome:
    return record_once("plain.py", "--report")


@pytest.fixture(scope="module")
def recording(outcome: Outcome) -> Recording:
    return outcome.recording


def test_the_names_are_those_of_metatrains_module(tmp_path: Path) -> None:
    out = run(
        "from metatrain_timing import timing\n"
        "import metatrain_timing\n"
        "print(*sorted(timing.__all__))\n"
        "print(all(hasattr(metatrain_timing, name) for name in timing.__all__))\n"
        "print(timing.TOP_STAGES, timing.STEP_BREAKDOWN, timing.COLLATE_STAGES)\n"
        "print(timing.TRANSFORM_PREFIX, timing.ENABLED)",
        tmp_path,
    )
    assert out.splitlines() == [
        " ".join(sorted(NAMES)),
        "True",
        "('loader', 'step') ('unpack', 'h2d', 'forward', 'loss', 'backward', "
        "'optimizer') ('group_and_join', 'transforms', 'serialize')",
        "transforms/ False",
    ]


def test_a_body_and_a_wait_for_each_item(recording: Recording) -> None:
    assert recording.count("loader") == recording.count("step") == 6 + 3
    assert recording.count("loader_end") == 0


def test_without_torch_each_body_is_a_training_step(recording: Recording) -> None:
    assert [row.step for row in recording.of("step", phase="train")] == list(range(6))
    assert [row.step for row in recording.of("step", phase="evaluation")] == [6] * 3


def test_transforms_have_the_name_of_what_is_called(recording: Recording) -> None:
    assert recording.count("transforms/center") == 6
    assert recording.count("transforms/Rotate") == 6


def test_a_decorated_function_is_recorded_and_stays_itself(
    recording: Recording,
) -> None:
    assert recording.count("decorated") == 6


def test_structures_and_atoms_are_counted(recording: Recording) -> None:
    def total(name: str) -> float:
        return sum(float(row.value) for row in recording.counters if row.name == name)

    assert (total("structures"), total("atoms"), total("tokens")) == (12, 42, 30)


def test_the_report_groups_stages_of_training(outcome: Outcome) -> None:
    lines = [line.split() for line in outcome.out.splitlines()]
    assert lines[0] == ["stage", "calls", "ms/call", "%", "of", "step"]
    assert [line[:2] for line in lines[1:3]] == [["loader", "6"], ["step", "6"]]
    shares = [float(line[3]) for line in lines[1:3]]
    assert sum(shares) == pytest.approx(100, abs=0.11)
    assert lines[3][:3] == ["breakdown", "of", "`step`:"]
    assert [line[:2] for line in lines[4:6]] == [["unpack", "6"], ["forward", "6"]]
    assert float(lines[5][2]) >= 2.0  # forward sleeps
    assert lines[6][:2] == ["collate", "function"]
    assert [line[0] for line in lines[7:9]] == [
        "transforms/Rotate",
        "transforms/center",
    ]
    assert lines[9] == ["other:"]
    assert [line[0] for line in lines[10:]] == [
        "decorated",
        "phase/evaluation",
        "atoms/s",
        "structures/s",
        "tokens/s",
    ]
    atoms, structures = float(lines[-3][1]), float(lines[-2][1])
    assert atoms == pytest.approx(structures * 3.5, rel=0.01)


def test_off_nothing_is_recorded_and_nothing_is_measured(tmp_path: Path) -> None:
    out = run(
        "from metatrain_timing import timing\n"
        "items = [1, 2]\n"
        "print(type(timing.timed_iter(items, 'loader', 'step')).__name__)\n"
        "with timing.timed('a'): pass\n"
        "with timing.timed_transform(print): pass\n"
        "timing.count_systems(None)\n"  # not even looked at
        "print(timing.report())",
        tmp_path,
    )
    assert out.splitlines()[0] == "list_iterator"
    assert "METATRAIN_TIMING=1" in out
    assert list(tmp_path.iterdir()) == []


def test_the_switch_of_metatrain_turns_it_on(tmp_path: Path) -> None:
    out = run(
        "from metatrain_timing import timing\n"
        "with timing.timed('a'): pass\n"
        "print(timing.ENABLED, timing.report())",
        tmp_path,
        METATRAIN_TIMING="1",
        TMPDIR=str(tmp_path),
    )
    assert out.startswith("True stage")
    assert out.splitlines()[-1].split()[:2] == ["a", "1"]
    assert list(tmp_path.iterdir()) == []  # its private folder is gone


def test_enable_records_from_then_on_and_reset_forgets(tmp_path: Path) -> None:
    out = run(
        "import metatrain_timing as mt\n"
        "from metatrain_timing import timing\n"
        "with mt.timed('before'): pass\n"
        "mt.enable()\n"
        "with mt.timed('early'): pass\n"
        "mt.count('things', 2)\n"
        "mt.reset()\n"
        "with mt.timed('late'): pass\n"
        "report = mt.report()\n"
        "print(mt.ENABLED, timing.ENABLED)\n"
        "print(*(name in report for name in ('before', 'early', 'late', 'things')))",
        tmp_path,
        TMPDIR=str(tmp_path),
    )
    assert out.split() == ["True", "True", "False", "False", "True", "False"]


def test_a_block_that_raises_is_recorded(record: Record, tmp_path: Path) -> None:
    script = tmp_path / "raises.py"
    script.write_text(
        "from metatrain_timing import timed, timed_iter\n"
        "for _ in timed_iter([1, 2], 'loader', 'step'):\n"
        "    with timed('outer'), timed('inner'):\n"
        "        raise SystemExit(3)\n"
    )
    outcome = record(script, check=False)
    assert outcome.code == 3
    recording = outcome.recording
    assert [row.depth for row in recording.of("inner")] == [2]
    assert recording.count("outer") == recording.count("step") == 1


def test_names_that_loops_are_read_from_are_kept_apart(
    record: Record, tmp_path: Path
) -> None:
    script = tmp_path / "names.py"
    script.write_text(
        "from metatrain_timing import timed, timed_iter\n"
        "for turn in timed_iter(range(5), 'loader', 'step'):\n"
        "    with timed('loader'), timed('step'), timed('forward'):\n"
        "        pass\n"
        "    with timed('loader_end'), timed('fetch'):\n"
        "        pass\n"
    )
    outcome = record(script)
    own = ["loader (timed)", "step (timed)", "forward", "loader_end (timed)"]
    stages = outcome.recording.stages()
    assert stages == dict.fromkeys([*own, "fetch (timed)", "loader", "step"], 5)
    (phase,) = Run(outcome.database).report()["phases"]
    assert (phase["steps"], phase["partial_steps"]) == (5, 0)


def test_blocks_nest_in_themselves_and_in_threads(
    record: Record, tmp_path: Path
) -> None:
    script = tmp_path / "nest.py"
    script.write_text(
        "import threading\n"
        "from metatrain_timing import timed\n"
        "block = timed('block')\n"
        "assert timed('block') is block\n"
        "def work():\n"
        "    with block, block:\n"
        "        barrier.wait()\n"
        "barrier = threading.Barrier(3)\n"
        "threads = [threading.Thread(target=work) for _ in range(3)]\n"
        "[thread.start() for thread in threads]\n"
        "[thread.join() for thread in threads]\n"
    )
    rows = record(script).recording.of("block")
    assert sorted(row.depth for row in rows) == [0, 0, 0, 1, 1, 1]
    assert len({row.tid for row in rows}) == 3


@pytest.mark.skipif(
    not sysconfig.get_config_var("Py_GIL_DISABLED"), reason="this Python has a GIL"
)
def test_a_python_without_gil_stays_so_and_loses_nothing(
    record: Record, tmp_path: Path
) -> None:
    script = tmp_path / "parallel.py"
    script.write_text(
        "import sys, threading\n"
        "from metatrain_timing import count, flush, timed\n"
        "assert not sys._is_gil_enabled()\n"
        "shared = timed('shared')\n"
        "barrier = threading.Barrier(4)\n"
        "def work(number):\n"
        "    barrier.wait()\n"
        "    for turn in range(5000):\n"
        "        with shared, timed('inner'):\n"
        "            count('turns')\n"
        "        if turn % 500 == number:\n"
        "            flush()\n"
        "threads = [threading.Thread(target=work, args=(n,)) for n in range(4)]\n"
        "[thread.start() for thread in threads]\n"
        "[thread.join() for thread in threads]\n"
        "assert not sys._is_gil_enabled()\n"
    )
    recording = record(script).recording
    assert recording.stages() == {"shared": 20_000, "inner": 20_000}
    assert len(recording.counters) == 20_000
    by_track = Counter(row.tid for row in recording.of("inner"))
    assert sorted(by_track.values()) == [5000] * 4
    for row in recording.of("inner")[::1999]:
        parent = recording.parent(row)
        assert parent is not None
        assert parent.stage == "shared"


def test_a_track_has_the_name_of_its_thread(record: Record, tmp_path: Path) -> None:
    script = tmp_path / "names.py"
    script.write_text(
        "import _thread, threading\n"
        "from metatrain_timing import timed\n"
        "def work():\n"
        "    try:\n"
        "        raise KeyError\n"
        "    except KeyError as error:\n"
        "        with timed('work'): pass\n"
        "        assert isinstance(error, KeyError)\n"
        "with timed('work'): pass\n"
        "thread = threading.Thread(target=work, name='lecture des lots, n° 1')\n"
        "thread.start()\n"
        "thread.join()\n"
        "done = _thread.allocate_lock()\n"
        "done.acquire()\n"
        "def unknown():\n"
        "    work()\n"
        "    assert len(threading.enumerate()) == 1\n"
        "    done.release()\n"
        "_thread.start_new_thread(unknown, ())\n"
        "done.acquire()\n"
    )
    names = [row.track for row in record(script).recording.of("work")]
    assert names[:2] == ["MainThread", "lecture des lots, n° 1"]
    assert len(names) == 3


def test_a_program_started_with_a_copied_environment_is_a_child(
    record: Record, tmp_path: Path
) -> None:
    child = "from metatrain_timing import timed\nwith timed('work'): pass"
    script = tmp_path / "parent.py"
    script.write_text(
        "import os, subprocess, sys\n"
        "from metatrain_timing import timed_iter\n"
        "for _ in timed_iter([1], 'loader', 'step'):\n"
        f"    subprocess.run([sys.executable, '-c', {child!r}],\n"
        "                   env={**os.environ, 'MORE': '1'}, cwd='/', check=True)\n"
    )
    parent, work = record(script).recording, "work"
    (row,) = parent.of(work)
    by_role = {process.role: process for process in parent.processes}
    assert sorted(by_role) == ["child", "main"]
    assert row.process == by_role["child"].uuid
    assert by_role["child"].parent_uuid == by_role["main"].uuid
    assert len({process.run for process in parent.processes}) == 1


def test_coroutines_can_be_decorated(record: Record, tmp_path: Path) -> None:
    script = tmp_path / "coroutine.py"
    script.write_text(
        "import asyncio\n"
        "from metatrain_timing import timed\n"
        "@timed('work')\n"
        "async def work():\n"
        "    await asyncio.sleep(0.01)\n"
        "    return 5\n"
        "assert asyncio.iscoroutinefunction(work) and work.__name__ == 'work'\n"
        "assert asyncio.run(work()) == 5\n"
    )
    (row,) = record(script).recording.of("work")
    assert row.dur_ns >= 10_000_000


def test_a_live_recording_can_be_read_by_pythons_own_sqlite(
    record: Record, tmp_path: Path
) -> None:
    script = tmp_path / "live.py"
    script.write_text(
        "import sqlite3\n"
        "import metatrain_timing as mt\n"
        "for i in range(200):\n"
        "    with mt.timed('work'): pass\n"
        "    if i % 20 == 0:\n"
        "        mt.flush()\n"
        "        db = sqlite3.connect(mt.health()['file'])\n"
        "        n, = db.execute('SELECT count(*) FROM interval').fetchone()\n"
        "        assert n == i + 1, n\n"
        "        db.close()\n"
        "assert mt.health()['dropped_count'] == 0\n"
        "assert mt.health()['unsummed_count'] == 0\n"
    )
    outcome = record(script)
    assert outcome.recording.count("work") == 200


def test_a_forked_pool_is_recorded_with_its_parent(
    record: Record, tmp_path: Path
) -> None:
    script = tmp_path / "pool.py"
    script.write_text(
        "import multiprocessing, time\n"
        "from metatrain_timing import timed\n"
        "@timed('work')\n"
        "def work(x): return x * x\n"
        "if __name__ == '__main__':\n"
        "    work(0)\n"
        "    time.sleep(0.1)  # the recorder's thread is at work\n"
        "    with timed('main'):\n"
        "        context = multiprocessing.get_context('fork')\n"
        "        workers = [context.Process(target=work, args=(i,)) for i in (1, 2)]\n"
        "        [worker.start() for worker in workers]\n"
        "        [worker.join() for worker in workers]\n"
    )
    outcome = record(script)
    assert outcome.err == ""  # Python 3.12 warns where a process with threads forks
    recording = outcome.recording
    assert recording.count("work", role="child") == 2
    assert recording.count("main", role="main") == 1
    assert len({row.run for row in recording.processes}) == 1
    assert {row.ending for row in recording.processes} == {"clean"}


def test_a_block_works_wherever_a_context_manager_does(
    record: Record, tmp_path: Path
) -> None:
    script = tmp_path / "blocks.py"
    script.write_text(
        "import contextlib, copy, pickle\n"
        "from metatrain_timing import timed\n"
        "with contextlib.ExitStack() as stack:\n"
        "    assert stack.enter_context(timed('stacked')) is timed('stacked')\n"
        "timed('by hand').__enter__()\n"
        "timed('by hand').__exit__(None, None, None)\n"
        "timed.__enter__(timed('unbound'))\n"
        "timed.__exit__(timed('unbound'), None, None, None)\n"
        "block = timed('copied')\n"
        "with copy.deepcopy(block), pickle.loads(pickle.dumps(block)):\n"
        "    pass\n"
        "assert isinstance(block, timed) and block.stage == 'copied'\n"
        "assert block is timed(stage='copied') and repr(block) == \"timed('copied')\"\n"
        "assert timed('other') is not block\n"
        "with timed('outer'), timed('inner'):\n"
        "    pass\n"
    )
    recording = record(script).recording
    names = ["by hand", "copied", "copied", "inner", "outer", "stacked", "unbound"]
    assert sorted(row.stage for row in recording.intervals) == names


def test_names_that_are_no_utf8_are_recorded_as_far_as_they_go(
    record: Record, tmp_path: Path
) -> None:
    script = tmp_path / "names.py"
    script.write_text(
        "from metatrain_timing import count, phase, timed\n"
        "with timed('file \\udcff'), phase(''):\n"
        "    count('\\udcff bytes', 2)\n"
    )
    recording = record(script).recording
    assert [row.stage for row in recording.intervals] == ["file ?"]
    assert [row.name for row in recording.counters] == ["? bytes"]
