"""Every notebook runs from top to bottom on a recorded run."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def recorded_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    run = tmp_path_factory.mktemp("notebook") / "run.db"
    subprocess.run(
        [
            sys.executable,
            str(ROOT / "examples/plain_torch/train.py"),
            *("--workers", "2", "--epochs", "2", "--samples", "128"),
        ],
        env=os.environ | {"METATRAIN_TIMING_DB": str(run)},
        check=True,
    )
    return run


@pytest.mark.torch
@pytest.mark.parametrize(
    "notebook", sorted((ROOT / "notebooks").glob("*.ipynb")), ids=lambda path: path.stem
)
def test_a_notebook_runs_and_draws(
    notebook: Path, recorded_run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    nbformat = pytest.importorskip("nbformat")
    nbclient = pytest.importorskip("nbclient")
    pytest.importorskip("matplotlib")
    pytest.importorskip("pandas")
    monkeypatch.setenv("RUN", str(recorded_run))
    monkeypatch.setenv("MPLBACKEND", "module://matplotlib_inline.backend_inline")
    executed = nbformat.read(notebook, as_version=4)
    nbclient.NotebookClient(executed, timeout=120).execute()
    outputs = [
        output
        for cell in executed.cells
        if cell.cell_type == "code"
        for output in cell.outputs
    ]
    images = [o for o in outputs if "image/png" in o.get("data", {})]
    assert len(images) == 2
    printed = "".join(o.get("text", "") for o in outputs if o.output_type == "stream")
    assert "step" in printed
    timeline = "".join(
        o["data"]["text/plain"] for o in outputs if "text/plain" in o.get("data", {})
    )
    assert "worker 0" in timeline
    assert "worker 1" in timeline
