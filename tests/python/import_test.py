"""Traces that torch.profiler recorded, reported as runs."""

import gzip
import json
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from metatrain_timing import AnalyzerError, Run, diff
from metatrain_timing import import_trace as import_trace_file
from tests.python.support.recording import Outcome

pytestmark = pytest.mark.torch

Record = Callable[..., Outcome]

SCRIPT = """
import sys, time
import torch
from torch.profiler import ProfilerActivity, profile, record_function, schedule
from torch.utils.data import DataLoader, Dataset

class Numbers(Dataset):
    def __len__(self):
        return 40
    def __getitem__(self, index):
        time.sleep(0.001)
        return torch.randn(8)

def main():
    workers, with_steps = int(sys.argv[1]), sys.argv[2] == "steps"
    model = torch.nn.Linear(8, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    loader = DataLoader(Numbers(), batch_size=4, num_workers=workers)
    every = schedule(wait=0, warmup=0, active=1000)
    options = {"schedule": every} if with_steps else {}
    with profile(activities=[ProfilerActivity.CPU], **options) as prof:
        for epoch in range(2):
            for batch in loader:
                optimizer.zero_grad()
                with record_function("forward"):
                    loss = model(batch).sum()
                    time.sleep(0.003)
                loss.backward()
                optimizer.step()
                prof.step()
    prof.export_chrome_trace("trace.json")

main()
"""


@pytest.fixture(scope="module", params=[(0, "steps"), (2, "steps"), (2, "none")])
def trace(
    request: pytest.FixtureRequest,
    record_once: Record,
    tmp_path_factory: pytest.TempPathFactory,
) -> tuple[int, Path]:
    workers, steps = request.param
    script = tmp_path_factory.mktemp("profiled") / "profiled.py"
    script.write_text(SCRIPT)
    outcome = record_once(script, workers, steps, database=None)
    return workers, outcome.folder / "trace.json"


def run_import(program: str, *arguments: object) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [program, "import", *map(str, arguments)],
        check=False,
        capture_output=True,
        text=True,
    )


def import_trace(program: str, *arguments: object) -> Any:
    done = run_import(program, *arguments)
    assert done.returncode == 0, done.stderr
    return Run(Path(str(arguments[-1]))).report()


def test_a_trace_is_a_run_with_steps_and_waits(
    trace: tuple[int, Path], program: str, tmp_path: Path
) -> None:
    workers, path = trace
    report = import_trace(program, path, "--from", "kineto", "-o", tmp_path / "run.db")
    (phase,) = report["phases"]
    assert (phase["name"], phase["epochs"], phase["steps"]) == ("train", 2, 20)
    main = {row["stage"]: row for row in phase["stages"] if row["where"] == "main"}
    for stage in ("loader", "step", "forward", "backward", "optimizer", "zero_grad"):
        assert main[stage]["calls"] == 20, stage
    events = [
        event
        for event in json.loads(path.read_text())["traceEvents"]
        if event.get("cat") == "user_annotation"
    ]

    def total_s(name: str) -> float:
        total_us = sum(e["dur"] for e in events if e["name"].startswith(name))
        return float(total_us) / 1e6

    assert main["forward"]["total_s"] == pytest.approx(total_s("forward"), abs=1e-6)
    assert main["optimizer"]["total_s"] == pytest.approx(
        total_s("Optimizer.step#"), abs=1e-6
    )
    waits_s = main["loader"]["total_s"] + main["outside"]["total_s"]
    requests_s = total_s("enumerate(DataLoader)#")
    assert main["loader"]["total_s"] < requests_s < waits_s + 1e-6
    assert {row["code"] for row in report["warnings"]} == (
        {"worker_files_missing"} if workers else set()
    )


def test_compressed_and_compared(
    trace: tuple[int, Path], program: str, tmp_path: Path
) -> None:
    _, path = trace
    with path.open("rb") as plain, gzip.open(tmp_path / "t.json.gz", "wb") as packed:
        shutil.copyfileobj(plain, packed)
    for name, source in (("a.db", path), ("b.db", tmp_path / "t.json.gz")):
        import_trace(program, source, "--from", "kineto", "-o", tmp_path / name)
    answer = diff(tmp_path / "a.db", tmp_path / "b.db", run_noise="1%")
    (step,) = (row for row in answer["metrics"] if row["name"] == "step")
    assert step["delta"] == 0


def test_a_trace_that_is_cut_off_is_reported_as_far_as_it_goes(
    trace: tuple[int, Path], program: str, tmp_path: Path
) -> None:
    _, path = trace
    text = path.read_bytes()
    cut = tmp_path / "cut.json"
    for number, part in enumerate((0.3, 0.6, 0.9)):
        cut.write_bytes(text[: int(len(text) * part)])
        done = run_import(
            program, cut, "--from", "kineto", "-o", tmp_path / f"{number}.db"
        )
        assert done.returncode == 0
        assert "what came before was read" in done.stderr
        report = Run(tmp_path / f"{number}.db").report()
        assert 1 <= report["phases"][0]["steps"] <= 20


def test_an_export_comes_back_with_the_same_report(
    record: Record, program: str, tmp_path: Path
) -> None:
    outcome = record("train.py", "--workers", 2, "--epochs", 2)
    trace = tmp_path / "trace.json.gz"
    subprocess.run(
        [program, "export", str(outcome.database), "-o", str(trace)],
        check=True,
        capture_output=True,
    )
    again = import_trace(program, trace, "-o", tmp_path / "again.db")
    report = Run(outcome.database).report()
    for key in ("files", "warnings"):
        del again[key], report[key]
    assert again == report


def test_python_exports_and_imports(record: Record, tmp_path: Path) -> None:
    run = Run(record("plain.py").database)
    trace = tmp_path / "trace.json.gz"
    written = run.export(trace)
    assert written["warnings"] == []
    taken = import_trace_file([trace], tmp_path / "again.db")
    assert taken["intervals"] == written["intervals"] > 0
    assert Run(tmp_path / "again.db").report()["phases"] == run.report()["phases"]
    part = run.export(tmp_path / "part.json", steps="1:2", rank=0)
    assert 0 < part["intervals"] < written["intervals"]
    with pytest.raises(AnalyzerError, match="no rank 7"):
        run.export(tmp_path / "none.json", rank=7)
    with pytest.raises(AnalyzerError, match="there are kineto"):
        import_trace_file(trace, tmp_path / "no.db", source="word")
    with pytest.raises(AnalyzerError, match="not overwritten"):
        run.export(trace)


@pytest.mark.parametrize(
    "text", ["", "no trace", "[]", '{"traceEvents": 5}', '{"a": [1, 2', "\x00\x01"]
)
def test_what_is_no_trace_is_one_line(program: str, tmp_path: Path, text: str) -> None:
    (tmp_path / "t.json").write_text(text)
    done = run_import(program, tmp_path / "t.json", "-o", tmp_path / "run.db")
    assert done.returncode == 1
    assert done.stderr.count("\n") == 1
    assert "no Chrome trace" in done.stderr
    assert not (tmp_path / "run.db").exists()
