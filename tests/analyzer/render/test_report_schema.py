"""What `mt-analyze report --format json` prints is what its JSON Schema promises."""

import json
import sqlite3
import subprocess
from pathlib import Path

import pytest

from tests.support.json_schema import keys_not_in, objects

ROOT = Path(__file__).parents[3]
SCHEMA = ROOT / "analyzer" / "schemas" / "report.json"
MS = 1_000_000

jsonschema = pytest.importorskip("jsonschema")


def write_run(path: Path, *, with_steps: bool) -> None:
    """
    Write a run of two steps by one process, or of one that never got to a step.

    :param path: database to make.
    :param with_steps: whether there is a loop at all.
    """
    database = sqlite3.connect(path)
    for migration in sorted((ROOT / "schema" / "migrations").glob("*.sql")):
        database.executescript(migration.read_text())
    database.executescript(
        """
        INSERT INTO run VALUES (1, 'aaaa-bbbb', 'job', 1, 1000, 't.py', '/', 'host');
        INSERT INTO process (id, run_id, uuid, role, pid, host, boot_id, started_ns)
        VALUES (1, 1, 'main-0', 'main', 7, 'host', 'boot', 0);
        INSERT INTO clock VALUES (1, 1, 0, 1000);
        INSERT INTO track (id, process_id, tid, name)
        VALUES (1, 1, 7, 'MainThread');
        INSERT INTO loader (id, process_id, number, name) VALUES (1, 1, 1, 'data');
        INSERT INTO iterator (id, loader_id, number, epoch, phase, started_ns,
                              first_wait_ns)
        VALUES (1, 1, 1, 0, 'train', 0, 0);
        """
    )
    stages = ["loader", "step", "backward", "optimizer", "export"]
    for number, name in enumerate(stages, start=1):
        database.execute("INSERT INTO stage VALUES (?, ?)", (number, name))

    def add(stage: str, start: int, end: int, depth: int, step: int) -> None:
        in_loop = stage != "export"
        database.execute(
            "INSERT INTO interval (track_id, stage_id, start_ns, dur_ns, depth, step,"
            " iterator_id, batch) VALUES (1, ?, ?, ?, ?, ?, ?, ?)",
            (
                stages.index(stage) + 1,
                start * MS,
                (end - start) * MS,
                depth,
                step if in_loop else None,
                1 if in_loop else None,
                step if in_loop else None,
            ),
        )

    if with_steps:
        for step in range(2):
            at = 100 * step
            add("loader", at, at + 30, 0, step)
            add("backward", at + 40, at + 90, 1, step)
            add("optimizer", at + 90, at + 95, 1, step)
            add("step", at + 30, at + 100, 0, step)
    else:
        add("export", 0, 10, 0, 0)
    database.commit()
    database.close()


def report(program: str, path: Path) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [program, "report", str(path), "--format", "json"],
        capture_output=True,
        text=True,
        check=False,
    )


def test_schema_is_a_schema_and_every_key_is_required() -> None:
    schema = json.loads(SCHEMA.read_text())
    jsonschema.Draft202012Validator.check_schema(schema)
    for part in objects(schema):
        assert set(part["required"]) == set(part["properties"])


def test_report_validates(program: str, tmp_path: Path) -> None:
    path = tmp_path / "a run #1.db"
    write_run(path, with_steps=True)
    result = report(program, path)
    assert result.returncode == 0, result.stderr
    document = json.loads(result.stdout)
    jsonschema.Draft202012Validator(json.loads(SCHEMA.read_text())).validate(document)
    phase = document["phases"][0]
    assert phase["steps"] == 2
    assert phase["wall_s"] == pytest.approx(0.2)
    assert phase["exposed_wait_s"] == pytest.approx(0.06)
    assert document["verdict"]["bound_by"] == "input"


def test_no_key_is_printed_that_the_schema_does_not_know(
    program: str, tmp_path: Path
) -> None:
    write_run(tmp_path / "run.db", with_steps=True)
    schema = json.loads(SCHEMA.read_text())
    for part in objects(schema):
        part["additionalProperties"] = False
    document = json.loads(report(program, tmp_path / "run.db").stdout)
    jsonschema.Draft202012Validator(schema).validate(document)


def test_run_without_a_loop_is_an_error_that_says_no_steps(
    program: str, tmp_path: Path
) -> None:
    write_run(tmp_path / "run.db", with_steps=False)
    result = report(program, tmp_path / "run.db")
    assert result.returncode == 1
    assert result.stdout == ""
    assert "no steps" in result.stderr
    assert result.stderr.count("\n") == 1


def test_unknown_phase_is_a_usage_error_that_names_the_known_ones(
    program: str, tmp_path: Path
) -> None:
    write_run(tmp_path / "run.db", with_steps=True)
    result = subprocess.run(
        [program, "report", str(tmp_path / "run.db"), "--phase", "nothing"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 2
    assert "'train'" in result.stderr


def test_docs_explain_every_key() -> None:
    assert keys_not_in((ROOT / "docs" / "report.md").read_text(), SCHEMA) == []
