"""A run is read while it is recorded: from outside, and from the training itself."""

import json
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from tests.python.support.recording import Outcome, environment_for

Record = Callable[..., Outcome]

PROGRAM = """
import sqlite3, sys, time
from metatrain_timing import health, timed, timed_iter

def read(path):
    db = sqlite3.connect(path)
    found, = db.execute('SELECT count(*) FROM interval').fetchone()
    sound, = db.execute('PRAGMA quick_check').fetchone()
    db.close()
    assert sound == 'ok', sound
    return found

seen = read_count = 0
next_read = time.monotonic()
for step in timed_iter(range(int(sys.argv[1])), 'loader', 'step'):
    with timed('forward'):
        time.sleep(0.004)
    if time.monotonic() > next_read:
        next_read += 0.2
        path = health()['file']
        if path:
            found = read(path)
            assert found >= seen, (found, seen)
            seen = found
            read_count += 1
assert health()['dropped_count'] == 0
assert health()['last_problem'] == ''
print(read_count)
"""
STEPS = 500


def steps_of(path: Path) -> int | None:
    """Steps as mt-analyze reports them now; None while there is nothing to read."""
    done = subprocess.run(
        ["mt-analyze", "report", path, "--format", "json"],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    if done.returncode != 0:
        assert done.returncode == 1, done.stderr
        return None
    report = json.loads(done.stdout)
    phases = {row["name"]: row for row in report["phases"]}
    if "train" not in phases:
        return 0
    wall_s = phases["train"]["wall_s"]
    tables = [row for row in phases["train"]["stages"] if row["where"] == "main"]
    assert all(row["total_s"] <= wall_s * 1.001 for row in tables)
    return int(phases["train"]["steps"])


def test_reading_every_fifth_of_a_second_disturbs_nothing(tmp_path: Path) -> None:
    script = tmp_path / "live.py"
    script.write_text(PROGRAM)
    database = tmp_path / "run.db"
    training = subprocess.Popen(
        [sys.executable, script, str(STEPS)],
        cwd=tmp_path,
        env=environment_for("run.db"),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    reported: list[int] = []
    while training.poll() is None:
        steps = steps_of(database)
        if steps is not None:
            reported.append(steps)
        time.sleep(0.2)
    out, err = training.communicate(timeout=60)
    assert (training.returncode, err) == (0, "")
    assert int(out) >= 2
    assert len(reported) >= 2
    assert reported == sorted(reported)
    assert reported[-1] <= STEPS
    assert steps_of(database) == STEPS
    recording = Outcome(tmp_path, 0, out, err, database).recording
    assert recording.count("forward") == recording.count("step") == STEPS
    assert [row.ending for row in recording.processes] == ["clean"]
    assert recording.problems == []
    # Whoever reads in the very moment of the end keeps the WAL there; nothing else is.
    names = {path.name for path in tmp_path.iterdir()}
    assert names - {"run.db-shm", "run.db-wal"} == {"live.py", "run.db"}
