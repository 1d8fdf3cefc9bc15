"""A run recorded from `examples/plain_torch`, merged into one file."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="session")
def merged_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """2 epochs of 4 training and 1 validation batch with 2 workers."""
    folder = tmp_path_factory.mktemp("recorded run")
    run = folder / "run.db"
    subprocess.run(
        [
            sys.executable,
            str(ROOT / "examples/plain_torch/train.py"),
            *("--workers", "2", "--epochs", "2", "--samples", "64"),
        ],
        env=os.environ | {"METATRAIN_TIMING_DB": str(run)},
        check=True,
    )
    merged = folder / "all.db"
    subprocess.run(["mt-analyze", "merge", str(run), "-o", str(merged)], check=True)
    return merged
