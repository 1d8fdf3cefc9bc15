"""What `mt-analyze --format json` prints holds to the JSON Schemas that are shipped."""

import json
import sqlite3
import subprocess
from pathlib import Path
from typing import Any

import pytest

jsonschema = pytest.importorskip("jsonschema")

ROOT = Path(__file__).resolve().parents[2]
MIGRATION = ROOT / "schema/migrations/0001_initial.sql"
ROWS = """
INSERT INTO run VALUES (1, 'run-1', 'job', 1, 1000000000, 'train', '/', 'host');
INSERT INTO process (id, run_id, uuid, role, pid, host, boot_id, started_ns, ending)
VALUES (1, 1, 'main', 'main', 1, 'host', 'boot', 0, 'clean');
"""


@pytest.fixture
def run_file(tmp_path: Path) -> Path:
    """A run without a step, beside a file that is none."""
    path = tmp_path / "run.db"
    with sqlite3.connect(path) as database:
        database.executescript(MIGRATION.read_text() + ROWS)
    database.close()
    (tmp_path / "run.db.d").mkdir()
    (tmp_path / "run.db.d" / "notes.txt").write_text("words")
    return path


@pytest.mark.parametrize(
    ("command", "arguments"),
    [("runs", []), ("sql", ["SELECT 1, 0.5, 'text', NULL, x'00ff', 9e999"])],
)
def test_output_holds_to_its_schema(
    run_file: Path, command: str, arguments: list[str]
) -> None:
    printed = subprocess.run(
        ["mt-analyze", command, str(run_file), *arguments, "--format", "json"],
        capture_output=True,
        check=True,
    ).stdout
    schema: dict[str, Any] = json.loads(
        (ROOT / f"analyzer/schemas/{command}.json").read_text()
    )
    jsonschema.Draft202012Validator.check_schema(schema)
    jsonschema.validate(json.loads(printed), schema)


@pytest.mark.parametrize("command", ["runs", "sql"])
def test_a_schema_refuses_what_is_not_such_output(command: str) -> None:
    schema = json.loads((ROOT / f"analyzer/schemas/{command}.json").read_text())
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({"schema": f"mt.{command}/1", "warnings": []}, schema)
