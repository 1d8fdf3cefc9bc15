"""`mt-analyze noise` on recordings made by SQL, and what `diff` makes of it."""

import json
import os
import random
import statistics
import subprocess
from collections.abc import Callable
from math import log
from pathlib import Path

import pytest

from tests.support.json_schema import check_schema
from tests.support.made_run import MadeRun

ROOT = Path(__file__).resolve().parents[2]
SCHEMA = ROOT / "analyzer" / "schemas" / "noise.json"
FACTORS = (0.98, 1.0, 1.02, 1.01, 0.97, 1.03)
CPU = {"metatrain.device": "cpu"}

Analyze = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def analyze(program: str, tmp_path: Path) -> Analyze:
    """The program with a noise file of the test's own."""

    def run(*arguments: object) -> "subprocess.CompletedProcess[str]":
        return subprocess.run(
            [program, *map(str, arguments)],
            capture_output=True,
            text=True,
            check=False,
            env={
                **os.environ,
                "METATRAIN_TIMING_NOISE": str(tmp_path / "s/noise.json"),
            },
        )

    return run


def training(name: str, factor: float, device: str = "cpu") -> MadeRun:
    draw = random.Random(name)
    times = [30 * factor * (1 + 0.01 * draw.uniform(-1, 1)) for _ in range(80)]
    return MadeRun(
        name, [3 * factor] * 80, {"backward": times}, {"metatrain.device": device}
    )


@pytest.fixture
def runs(tmp_path: Path) -> list[Path]:
    return [
        training(f"run{i}", factor).write(tmp_path / f"run{i}.db")
        for i, factor in enumerate(FACTORS)
    ]


def test_noise_is_learned_kept_and_found(
    tmp_path: Path, runs: list[Path], analyze: Analyze
) -> None:
    done = analyze("noise", *runs, "--format", "json")
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    answer = json.loads(done.stdout)
    check_schema(answer, SCHEMA)
    expected = statistics.stdev(log(factor) for factor in FACTORS)
    assert answer["sigma_run"] == pytest.approx(expected, rel=0.03)
    assert answer["workload"]["phase"] == "train"
    assert answer["workload"]["metatrain.device"] == "cpu"
    assert Path(answer["kept_in"]).is_file()
    assert [run["path"] for run in answer["runs"]] == list(map(str, runs))

    found = json.loads(analyze("diff", runs[0], runs[2], "--format", "json").stdout)
    noise = found["method"]["sigma_run"]
    assert noise["source"] == "learned"
    assert noise["value"] == pytest.approx(answer["sigma_run"])
    assert (noise["runs"], noise["df"]) == (6, 5)
    assert found["verdict"] == "inconclusive"  # 4 %, runs differ by 2 %

    other = training("cuda", 1, "cuda").write(tmp_path / "cuda.db")
    assumed = json.loads(analyze("diff", other, other, "--format", "json").stdout)
    assert assumed["method"]["sigma_run"]["source"] == "assumed"
    given = analyze("diff", *runs[:2], "--run-noise=0.1%", "--format", "json")
    assert json.loads(given.stdout)["method"]["sigma_run"]["source"] == "given"


def test_learning_again_replaces_what_was_known(
    runs: list[Path], analyze: Analyze
) -> None:
    kept_in = ""
    for some in (runs, runs[1:4]):
        done = analyze("noise", *some, "--format", "json")
        kept_in = json.loads(done.stdout)["kept_in"]
    assert "five runs or more" in done.stderr
    (entry,) = json.loads(Path(kept_in).read_text())["noise"]
    assert entry["runs"] == 3
    text = analyze("noise", *runs).stdout
    assert "run-to-run noise 2.3 %" in text
    assert str(runs[5]) in text


def test_what_cannot_be_learned_is_one_line(
    tmp_path: Path, runs: list[Path], analyze: Analyze
) -> None:
    other = training("cuda", 1, "cuda").write(tmp_path / "cuda.db")
    for arguments, code, words in (
        (runs[:2], 2, "give three runs or more"),
        ([*runs[:2], other], 1, "metatrain.device differ"),
        ([*runs[:2], runs[0]], 2, "there twice"),
    ):
        done = analyze("noise", *arguments)
        assert done.returncode == code
        assert done.stdout == ""
        assert done.stderr.count("\n") == 1
        assert words in done.stderr


def test_another_file_in_its_place_is_left_alone(
    tmp_path: Path, runs: list[Path], analyze: Analyze
) -> None:
    file = tmp_path / "s" / "noise.json"
    file.parent.mkdir()
    for content in ("words", "{}", '{"schema": "mt.noise_file/1", "noise": [1]}'):
        file.write_text(content)
        for command in (("noise", *runs), ("diff", *runs[:2])):
            done = analyze(*command)
            assert done.returncode == 1
            assert "not a file of mt-analyze noise" in done.stderr
            assert done.stderr.count("\n") == 1
            assert file.read_text() == content
    given = analyze("diff", *runs[:2], "--run-noise=1%")
    assert given.returncode == 0, "what is given needs no file"
