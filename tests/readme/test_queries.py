"""The README's queries give the same answer in every tool it names."""

import csv
import io
import json
import math
import re
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
QUERIES = re.findall(r"```sql\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)

Rows = list[tuple[Any, ...]]


def with_sqlite3_program(run: Path, query: str) -> Rows:
    printed = subprocess.run(
        ["sqlite3", "-readonly", "-csv", str(run), query],
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    return [tuple(row) for row in csv.reader(io.StringIO(printed))]


def with_pandas(run: Path, query: str) -> Rows:
    pandas = pytest.importorskip("pandas")
    connection = sqlite3.connect(run)
    frame = pandas.read_sql(query, connection)
    connection.close()
    return list(frame.astype(object).itertuples(index=False, name=None))


def with_duckdb(run: Path, query: str) -> Rows:
    duckdb = pytest.importorskip("duckdb")
    scanner = pytest.importorskip("duckdb_extension_sqlite_scanner")
    extension = next(Path(scanner.__file__).parent.rglob("*.duckdb_extension"))
    connection = duckdb.connect()
    connection.load_extension(str(extension))
    connection.execute(f"ATTACH '{run}' AS recorded (TYPE sqlite, READ_ONLY)")
    # SQLite gives the computed columns of a view no type, so SQLite does the sums.
    asked = "SELECT * FROM sqlite_query('recorded', ?)"
    return list(connection.execute(asked, [query.strip().rstrip(";")]).fetchall())


def with_datasette(run: Path, query: str) -> Rows:
    pytest.importorskip("datasette")
    from urllib.parse import urlencode

    page = f"/all.json?{urlencode({'sql': query, '_shape': 'arrays'})}"
    printed = subprocess.run(
        [sys.executable, "-m", "datasette", str(run), "--get", page],
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    return [tuple(row) for row in json.loads(printed)["rows"]]


def with_mt_analyze(run: Path, query: str) -> Rows:
    printed = subprocess.run(
        ["mt-analyze", "sql", str(run), query, "--format", "csv"],
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    return [tuple(row) for row in csv.reader(io.StringIO(printed))][1:]


def same(left: Iterable[Any], right: Iterable[Any]) -> bool:
    """Whether two rows agree; tools differ in how they write NULL and numbers."""

    def plain(value: Any) -> Any:
        if value is None or value in {"", "NULL"}:
            return None
        try:
            number = float(value)
        except (TypeError, ValueError):
            return value
        return None if math.isnan(number) else number

    def agree(a: Any, b: Any) -> bool:
        if isinstance(a, float) and isinstance(b, float):
            return math.isclose(a, b, rel_tol=1e-9, abs_tol=1e-9)
        return bool(a == b)

    a, b = [plain(v) for v in left], [plain(v) for v in right]
    return len(a) == len(b) and all(map(agree, a, b))


TOOLS: list[Callable[[Path, str], Rows]] = [
    with_sqlite3_program,
    with_pandas,
    with_duckdb,
    with_datasette,
    with_mt_analyze,
]


def test_the_readme_has_queries() -> None:
    assert len(QUERIES) == 5


@pytest.mark.torch
@pytest.mark.parametrize("tool", TOOLS)
@pytest.mark.parametrize("number", range(len(QUERIES)))
def test_a_query_of_the_readme_answers_alike_in_every_tool(
    merged_run: Path, tool: Callable[[Path, str], Rows], number: int
) -> None:
    connection = sqlite3.connect(merged_run)
    expected = connection.execute(QUERIES[number]).fetchall()
    connection.close()
    assert expected, "the recorded run answers every query"
    answered = tool(merged_run, QUERIES[number])
    assert len(answered) == len(expected)
    for row, reference in zip(answered, expected, strict=True):
        assert same(row, reference), (row, reference)


@pytest.mark.torch
def test_the_recorded_run_holds_what_was_trained(merged_run: Path) -> None:
    connection = sqlite3.connect(merged_run)
    calls = dict(
        connection.execute(
            "SELECT phase || ' ' || stage, sum(calls) FROM v_stage_summary"
            " WHERE stage IN ('loader', 'step', 'fetch', 'optimizer') GROUP BY 1"
        )
    )
    counted = connection.execute(
        "SELECT total FROM v_counter_rate WHERE counter = 'structures'"
    ).fetchall()
    connection.close()
    assert counted == [(128,)]
    assert calls["train loader"] == calls["train step"] == calls["train fetch"] == 8
    assert calls["train optimizer"] == 8
    assert calls["evaluation loader"] == calls["evaluation fetch"] == 2
