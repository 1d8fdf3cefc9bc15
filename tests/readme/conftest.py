"""A run recorded from `training.py`, merged into one file."""

import os
import subprocess
import sys
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def merged_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The run that the README's queries are asked of."""
    folder = tmp_path_factory.mktemp("recorded run")
    run = folder / "run.db"
    subprocess.run(
        [sys.executable, str(Path(__file__).with_name("training.py"))],
        env=os.environ | {"METATRAIN_TIMING_DB": str(run)},
        check=True,
    )
    merged = folder / "all.db"
    subprocess.run(["mt-analyze", "merge", str(run), "-o", str(merged)], check=True)
    return merged
