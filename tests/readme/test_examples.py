"""The examples of the documentation run as they stand."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

DOCS = Path(__file__).resolve().parents[2] / "docs"
EXAMPLES = [
    pytest.param(text, id=f"{page}-{number}")
    for page in ("benchmarker.md", "steps.md")
    for number, text in enumerate(
        re.findall(r"```python\n(.*?)```", (DOCS / page).read_text(), re.DOTALL)
    )
]


def test_there_are_examples() -> None:
    assert len(EXAMPLES) == 3


@pytest.mark.parametrize("text", EXAMPLES)
def test_an_example_runs(text: str, tmp_path: Path) -> None:
    script = tmp_path / "example.py"
    script.write_text(text)
    done = subprocess.run(
        [sys.executable, str(script)],
        env=os.environ | {"METATRAIN_TIMING_DB": str(tmp_path / "run.db")},
        check=False,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "run.db").is_file() or "timed" not in text
