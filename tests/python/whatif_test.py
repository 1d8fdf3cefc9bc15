"""Predictions of other settings, against what follows by arithmetic."""

import json
import shutil
import subprocess
import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from statistics import mean
from typing import Any

import pytest

from metatrain_timing import AnalyzerError, Run
from tests.python.support.again import holds
from tests.python.support.oracle import Config, Lengths, work_out
from tests.python.support.recording import Outcome
from tests.python.support.stamps import Loop, read_stamps

pytestmark = pytest.mark.torch

RECORDED = Config(workers=2, steps=60, step_ms=20, slow_every=7, slow_batch=3)


def record_loop(
    record: Callable[..., Outcome], folder: Path, config: Config
) -> tuple[Path, Loop]:
    """The database of a loop, and its own stamps."""
    file = Path(tempfile.mkdtemp(dir=folder)) / "configs.json"
    file.write_text(json.dumps([config.as_json()]))
    database = record("oracle.py", file).database
    (loop,) = read_stamps(file.with_suffix(".stamps"))
    return Path(database), loop


Recorded = tuple[Path, Loop]


@pytest.fixture(scope="module")
def recorded_again(
    record_once: Callable[..., Outcome], tmp_path_factory: pytest.TempPathFactory
) -> Callable[[], Recorded]:
    folder = tmp_path_factory.mktemp("whatif")
    return lambda: record_loop(record_once, folder, RECORDED)


@pytest.fixture(scope="module")
def recorded(recorded_again: Callable[[], Recorded]) -> Recorded:
    return recorded_again()


@pytest.fixture(scope="module")
def database(recorded: Recorded) -> Path:
    return recorded[0]


def ask(database: Path, *options: str) -> dict[str, Any]:
    command = ["mt-analyze", "whatif", str(database), "--format", "json", *options]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


def mean_step_s(config: Config, lengths: Lengths) -> float:
    turns = work_out(config, lengths=lengths).turns_ms[1:]
    return sum(turns) / len(turns) / 1000


def test_other_settings_take_what_they_would(
    recorded: Recorded, recorded_again: Callable[[], Recorded]
) -> None:
    holds(check_other_settings, recorded_again, recorded)


def check_other_settings(recorded: Recorded) -> None:
    database, lengths = recorded[0], recorded[1].lengths()  # sleepers wake late
    answer = ask(
        database,
        "--num-workers=0,1,2,4",
        "--prefetch-factor=1,2,4",
        "--in-order=true,false",
    )
    assert answer["schema"] == "mt.whatif/1"
    predictions = answer["predictions"]
    assert len(predictions) == 1 + 3 * 3 * 2
    for prediction in predictions:
        config = replace(
            RECORDED,
            workers=prediction["num_workers"],
            prefetch=prediction["prefetch_factor"] or 2,
            in_order=prediction["in_order"],
        )
        truth_s = mean_step_s(config, lengths)
        assert prediction["step_s"] == pytest.approx(truth_s, rel=0.05, abs=0.002), (
            config
        )
        assert prediction["low_s"] <= prediction["step_s"] <= prediction["high_s"]
        assert 0 <= prediction["wait_s"] <= prediction["step_s"]


def test_a_stage_that_is_hidden_saves_nothing(
    recorded: Recorded, recorded_again: Callable[[], Recorded]
) -> None:
    holds(check_hidden_stage, recorded_again, recorded)


def check_hidden_stage(recorded: Recorded) -> None:
    database, lengths = recorded[0], recorded[1].lengths()
    faster = {key: ms / 2 if key[0] == "join" else ms for key, ms in lengths.items()}
    for workers in (0, 1, 4):
        (prediction,) = ask(
            database, f"--num-workers={workers}", "--scale", "join=0.5"
        )["predictions"]
        truth_s = mean_step_s(replace(RECORDED, workers=workers), faster)
        assert prediction["step_s"] == pytest.approx(truth_s, rel=0.05, abs=0.002)


def test_a_stage_that_nobody_recorded_is_an_error(database: Path) -> None:
    done = subprocess.run(
        ["mt-analyze", "whatif", str(database), "--scale", "joyn=0.5"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert "no stage of a batch is called 'joyn'" in done.stderr
    assert done.stdout == ""


def test_python_asks_the_same(database: Path) -> None:
    options = ("--num-workers=1,2", "--in-order=false", "--scale", "join=0.5")
    assert Run(database).whatif(
        num_workers=(1, 2), in_order=False, scale={"join": 0.5}
    ) == ask(database, *options)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"num_workers": [-1]}, "num-workers -1: give numbers from 0 to 256"),
        ({"prefetch_factor": [0]}, "prefetch-factor 0: give numbers from 1 to 1024"),
        ({"num_workers": ["many"]}, "num-workers many: give numbers"),
        ({"in_order": ["maybe"]}, "in-order maybe: give true or false"),
        ({"scale": {"join": float("nan")}}, "--scale join=nan: give a stage and"),
        ({"scale": {"join": -1}}, "--scale join=-1: give a stage and"),
    ],
)
def test_a_question_without_sense_is_one_line(
    database: Path, options: dict[str, Any], message: str
) -> None:
    with pytest.raises(AnalyzerError, match=message) as error:
        Run(database).whatif(**options)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    "option",
    [
        "--num-workers=-1", "--num-workers=1,x", "--num-workers=99999999999999999999",
        "--prefetch-factor=0", "--in-order=maybe", "--scale=join", "--scale==1",
        "--scale=join=-1", "--scale=join=nan", "--scale=join=inf", "--scale=join=1e300",
        "--pin-memory=on,x",
    ],
)  # fmt: skip
def test_options_without_sense_are_usage_errors(database: Path, option: str) -> None:
    done = subprocess.run(
        ["mt-analyze", "whatif", str(database), option],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert len(done.stderr.splitlines()) == 1


def test_without_the_files_of_its_workers_there_is_nothing_to_predict(
    database: Path, tmp_path: Path
) -> None:
    alone = tmp_path / "alone.db"
    shutil.copy(database, alone)
    with pytest.raises(AnalyzerError, match="what making the batches took is not on"):
        Run(alone).whatif(num_workers=[4])
    report = Run(alone).report()
    codes = {warning["code"] for warning in report["warnings"]}
    assert "worker_files_missing" in codes
    (phase,) = (p for p in report["phases"] if p["steps"] == RECORDED.steps)
    causes = sum(cause["total_s"] for cause in phase["wait_causes"])
    assert causes == pytest.approx(phase["exposed_wait_s"], abs=1e-9)


@pytest.mark.parametrize(("step_ms", "part_saved"), [(5, 1.0), (60, 0.0)])
def test_stages_rank_by_what_they_would_save_whatever_the_step_takes(
    record_once: Callable[..., Outcome],
    tmp_path: Path,
    step_ms: float,
    part_saved: float,
) -> None:
    config = Config(workers=1, steps=40, step_ms=step_ms)
    holds(
        lambda recorded: check_ranks(config, part_saved, recorded),
        lambda: record_loop(record_once, tmp_path, config),
    )


def check_ranks(config: Config, part_saved: float, recorded: Recorded) -> None:
    database, loop = recorded
    report = Run(database).report()
    advice = report["advice"]
    assert advice["problem"] is None
    saved_ms = {row["stage"]: 1000 * row["saved_s"] for row in advice["stages"]}
    slept_ms = {
        stage: [stamp.end - stamp.begin for stamp in loop.of(stage)]
        for stage in ("dataset", *config.collate_ms)
    }
    halves = {stage: mean(times) / 2 for stage, times in slept_ms.items()}
    for stage, half_ms in halves.items():
        assert saved_ms[stage] == pytest.approx(part_saved * half_ms, abs=1.2), stage
    if part_saved:
        ranked = [row["stage"] for row in advice["stages"] if row["stage"] in halves]
        assert ranked == sorted(halves, key=halves.__getitem__, reverse=True)
