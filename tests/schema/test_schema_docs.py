"""The heads of the .sql files name the columns, and docs/schema.md shows them."""

import importlib.util
import sqlite3
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parents[2]


def load_script() -> ModuleType:
    path = ROOT / "scripts" / "make_schema_docs.py"
    spec = importlib.util.spec_from_file_location("make_schema_docs", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look it up
    spec.loader.exec_module(module)
    return module


docs = load_script()


@pytest.fixture(scope="module")
def database() -> Iterator[sqlite3.Connection]:
    connection = sqlite3.connect(":memory:")
    for path in sorted((docs.SCHEMA / "migrations").glob("*.sql")):
        connection.executescript(path.read_text(encoding="utf-8"))
    for name in (docs.SCHEMA / "views.txt").read_text(encoding="utf-8").split():
        sql = (docs.SCHEMA / "views" / f"{name}.sql").read_text(encoding="utf-8")
        connection.executescript(sql)
    yield connection
    connection.close()


def columns_of(connection: sqlite3.Connection, name: str) -> list[str]:
    return [row[1] for row in connection.execute(f"PRAGMA table_info({name})")]


@pytest.mark.parametrize(
    "path", sorted((docs.SCHEMA / "views").glob("*.sql")), ids=lambda path: path.stem
)
def test_head_of_a_view_names_its_columns_in_order(
    database: sqlite3.Connection, path: Path
) -> None:
    (view,) = docs.entities_in(path)
    assert view.name == path.stem
    assert view.summary
    assert [column.name for column in view.columns] == columns_of(database, view.name)


@pytest.mark.parametrize("table", docs.tables(), ids=lambda table: table.name)
def test_head_of_a_table_names_its_columns_and_types(
    database: sqlite3.Connection, table: object
) -> None:
    assert isinstance(table, docs.Entity)
    rows = database.execute(f"PRAGMA table_info({table.name})").fetchall()
    if table.name == "open_interval":  # its head refers to that of `interval`
        intervals = set(columns_of(database, "interval"))
        assert intervals - {row[1] for row in rows} == {"dur_ns", "cpu_ns"}
        return
    described = [(column.name, column.type) for column in table.columns]
    assert described == [(row[1], row[2]) for row in rows]


def test_every_table_is_described(database: sqlite3.Connection) -> None:
    names = database.execute(
        "SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name"
    ).fetchall()
    assert sorted(table.name for table in docs.tables()) == [name for (name,) in names]


@pytest.mark.parametrize(
    "path",
    sorted((docs.SCHEMA / "statements").glob("*.sql")),
    ids=lambda path: path.stem,
)
def test_head_of_a_statement_begins_with_its_name(path: Path) -> None:
    assert path.read_text(encoding="utf-8").startswith(f"-- {path.stem}: ")


def test_page_is_current() -> None:
    assert docs.PAGE.read_text(encoding="utf-8") == docs.page(), (
        "run python scripts/make_schema_docs.py"
    )
