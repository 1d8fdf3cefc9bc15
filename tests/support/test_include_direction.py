"""The parts include each other in one direction only: that of docs/design.md."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
INCLUDE = re.compile(r'^\s*#\s*include\s*[<"]([^>"]+)[>"]')

# For each part, what its files must not include: prefixes of include paths.
FORBIDDEN = {
    "schema": ("recorder/", "analyzer/", "metatrain_timing/recorder/", "SQLiteCpp/"),
    "recorder/core": (
        "analyzer/",
        "metatrain_timing/analyzer/",
        "recorder/cuda/",
        "recorder/torch/",
        "recorder/python/",
        "Python.h",
        "nanobind/",
        "torch/",
        "ATen/",
        "c10/",
        "cuda",
        "CLI/",
    ),
    # Of the recorder the analyzer knows what saves the records of killed processes, by
    # its public header; analyzer/load/recovery.cpp is the one place.
    "analyzer": (
        "recorder/",
        "Python.h",
        "nanobind/",
        "torch/",
    ),
    # The pipeline is load -> model -> analysis -> render: only load/ and cli/ open
    # files, and nothing before cli/ knows the command line.
    "analyzer/model": (
        "metatrain_timing/recorder/",
        "SQLiteCpp/",
        "sqlite3.h",
        "fstream",
        "analyzer/load/",
        "analyzer/analysis/",
        "analyzer/render/",
        "analyzer/cli/",
    ),
    "analyzer/analysis": (
        "metatrain_timing/recorder/",
        "SQLiteCpp/",
        "sqlite3.h",
        "fstream",
        "nlohmann/",
        "analyzer/load/",
        "analyzer/render/",
        "analyzer/cli/",
    ),
    "analyzer/load": (
        "analyzer/analysis/",
        "analyzer/render/",
        "analyzer/trace/",
        "analyzer/cli/",
    ),
    # Timelines are made of rows as they are read, without the model of a whole run.
    "analyzer/trace": ("sqlite3.h", "SQLiteCpp/", "fstream", "analyzer/cli/"),
    "analyzer/render": (
        "metatrain_timing/recorder/",
        "SQLiteCpp/",
        "sqlite3.h",
        "analyzer/load/",
        "analyzer/cli/",
    ),
}


def includes(text: str) -> list[tuple[int, str]]:
    """
    The include lines of a source.

    :param text: the source.
    :return: line numbers from 1 and the included paths.
    """
    matches = ((n, INCLUDE.match(line)) for n, line in enumerate(text.splitlines(), 1))
    return [(number, match[1]) for number, match in matches if match]


def violations(part: str, name: str, text: str) -> list[str]:
    """
    The includes of one file that its part must not have.

    :param part: a key of FORBIDDEN.
    :param name: the file's name, for the message.
    :param text: its content.
    :return: one line for each violation.
    """
    return [
        f"{name}:{number} includes {path}"
        for number, path in includes(text)
        if path.startswith(FORBIDDEN[part])
    ]


@pytest.mark.parametrize("part", FORBIDDEN)
def test_no_file_includes_against_the_direction(part: str) -> None:
    files = [p for p in (ROOT / part).rglob("*") if p.suffix in {".hpp", ".cpp", ".in"}]
    assert [
        line
        for path in files
        for line in violations(part, str(path.relative_to(ROOT)), path.read_text())
    ] == []


def test_an_include_against_the_direction_is_named_with_its_line() -> None:
    text = '#pragma once\n#include <vector>\n#include "recorder/core/src/ring.hpp"\n'
    assert violations("analyzer", "analyzer/x.hpp", text) == [
        "analyzer/x.hpp:3 includes recorder/core/src/ring.hpp"
    ]


def test_a_spaced_include_is_seen_and_a_commented_one_is_not() -> None:
    text = "#  include <torch/torch.h>\n// #include <Python.h>\n"
    assert violations("recorder/core", "a.cpp", text) == [
        "a.cpp:1 includes torch/torch.h"
    ]
