"""Rules of the tree that no compiler checks."""

import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
COMPILED = ("recorder", "analyzer", "tests", "benchmarks", "examples")
# Built by a project of its own.
OTHER_PROJECTS = ("tests/consumer/project/",)


def tracked(*patterns: str) -> list[Path]:
    """
    The files under version control that match.

    :param patterns: git's glob patterns.
    :return: their paths, relative to the root.
    """
    listing = subprocess.run(
        ["git", "ls-files", "-z", "--", *patterns],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    if listing.returncode != 0:
        pytest.skip("not a git checkout")
    return [Path(name) for name in listing.stdout.split("\0") if name]


def cmake_lists_above(path: Path) -> list[Path]:
    """
    The CMakeLists.txt files that may list a source.

    :param path: the source, relative to the root.
    :return: those in its folder and above, without the top-level one.
    """
    folders = [folder for folder in path.parents if folder != Path()]
    lists = [ROOT / folder / "CMakeLists.txt" for folder in folders]
    return [file for file in lists if file.exists()]


def test_every_source_is_listed_by_name_in_a_cmake_file() -> None:
    unlisted = []
    for path in tracked(*(f"{part}/**/*.cpp" for part in COMPILED)):
        if path.as_posix().startswith(OTHER_PROJECTS) or not (ROOT / path).exists():
            continue
        if not any(
            re.search(rf"(?<![\w/.-]){re.escape(name)}(?![\w.-])", file.read_text())
            for file in cmake_lists_above(path)
            for name in [(ROOT / path).relative_to(file.parent).as_posix()]
        ):
            unlisted.append(path.as_posix())
    assert unlisted == []


def test_every_header_begins_with_pragma_once() -> None:
    late = []
    for path in tracked("*.hpp"):
        lines = (ROOT / path).read_text().splitlines() if (ROOT / path).exists() else []
        code = [line for line in lines if line and not line.startswith("//")]
        if code and code[0] != "#pragma once":
            late.append(path.as_posix())
    assert late == []


def test_every_sql_file_is_named_after_what_it_makes() -> None:
    wrong = []
    for path in (ROOT / "schema" / "views").glob("*.sql"):
        made = re.findall(r"CREATE VIEW (\w+)", path.read_text())
        if made != [path.stem]:
            wrong.append(f"{path.name}: {made}")
    assert wrong == []


def test_the_version_is_one_line_and_a_release() -> None:
    assert re.fullmatch(r"\d+\.\d+\.\d+\n", (ROOT / "VERSION").read_text())


def test_the_changelog_has_a_section_for_the_version() -> None:
    version = (ROOT / "VERSION").read_text().strip()
    assert f"\n## {version}" in (ROOT / "CHANGELOG.md").read_text()
