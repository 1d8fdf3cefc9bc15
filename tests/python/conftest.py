"""Fixtures of the Python tests: programs that are run and recorded."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.python.support.recording import Outcome, run_recorded


@pytest.fixture
def record(tmp_path: Path) -> Callable[..., Outcome]:
    """Run a Python program in a folder of its own, recorded into run.db there."""

    def run(*command: Any, **options: Any) -> Outcome:
        return run_recorded(tmp_path, *command, **options)

    return run


@pytest.fixture(scope="module")
def record_once(
    tmp_path_factory: pytest.TempPathFactory,
) -> Callable[..., Outcome]:
    """As `record`, for a recording that the tests of a module share."""

    def run(*command: Any, **options: Any) -> Outcome:
        return run_recorded(tmp_path_factory.mktemp("run"), *command, **options)

    return run
