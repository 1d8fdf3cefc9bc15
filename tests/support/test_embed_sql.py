"""cmake/EmbedSql.cmake makes constants of .sql files, in order, without loss."""

import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
MIGRATION = """-- a table; with a semicolon
PRAGMA application_id = 77;
PRAGMA user_version = 10203;
CREATE TABLE t (a TEXT DEFAULT '[x];"\\n@b@${c}') STRICT;
"""

pytestmark = pytest.mark.skipif(shutil.which("cmake") is None, reason="needs cmake")


@pytest.fixture
def schema(tmp_path: Path) -> Path:
    """A small schema folder: one migration, two views, one statement."""
    folder = tmp_path / "schema"
    for name, text in {
        "migrations/0001_initial.sql": MIGRATION,
        "views/v_a.sql": "CREATE VIEW v_a AS SELECT 1;\n",
        "views/v_b.sql": "CREATE VIEW v_b AS SELECT 2;\n",
        "views.txt": "# v_a needs v_b\nv_b\nv_a\n",
        "statements/insert_t.sql": "INSERT INTO t (a) VALUES (:a);\n",
    }.items():
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    return folder


def embed(schema: Path) -> subprocess.CompletedProcess[str]:
    """
    Run mt_embed_sql in a project of its own.

    :param schema: the schema folder; sql.hpp is written beside it.
    :return: what cmake said.
    """
    project = schema.parent
    (project / "CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.25)\n"
        "project(embed LANGUAGES NONE)\n"
        f'include("{ROOT}/cmake/EmbedSql.cmake")\n'
        'mt_embed_sql(SCHEMA_DIR "${CMAKE_SOURCE_DIR}/schema"\n'
        '             OUTPUT "${CMAKE_SOURCE_DIR}/sql.hpp")\n'
    )
    return subprocess.run(
        ["cmake", "-G", "Ninja", "-S", str(project), "-B", str(project / "build")],
        capture_output=True,
        text=True,
        check=False,
    )


def test_the_text_of_a_file_arrives_unchanged(schema: Path) -> None:
    assert embed(schema).returncode == 0
    header = (schema.parent / "sql.hpp").read_text()
    assert f'{{"0001_initial", R"mt_sql({MIGRATION})mt_sql"}}' in header


def test_versions_are_read_from_the_migration(schema: Path) -> None:
    assert embed(schema).returncode == 0
    header = (schema.parent / "sql.hpp").read_text()
    assert 'kVersion = "1.2.3"' in header
    assert "kUserVersion = 10203" in header
    assert "kApplicationId = 77" in header


def test_views_stand_in_the_order_of_the_list(schema: Path) -> None:
    assert embed(schema).returncode == 0
    header = (schema.parent / "sql.hpp").read_text()
    assert header.index('{"v_b"') < header.index('{"v_a"')


def test_a_statement_gets_a_constant_of_its_name(schema: Path) -> None:
    assert embed(schema).returncode == 0
    header = (schema.parent / "sql.hpp").read_text()
    assert 'std::string_view insert_t = statement("insert_t");' in header


def test_a_view_that_the_list_does_not_name_is_refused(schema: Path) -> None:
    (schema / "views" / "v_c.sql").write_text("CREATE VIEW v_c AS SELECT 3;\n")
    result = embed(schema)
    assert result.returncode != 0
    assert "found:  v_a;v_b;v_c" in result.stderr


def test_a_changed_file_configures_the_build_again(schema: Path) -> None:
    assert embed(schema).returncode == 0
    statement = schema / "statements" / "insert_t.sql"
    statement.write_text("INSERT INTO t (a) VALUES (:changed);\n")
    build = ["cmake", "--build", str(schema.parent / "build")]
    subprocess.run(build, check=True, capture_output=True)
    assert ":changed" in (schema.parent / "sql.hpp").read_text()
