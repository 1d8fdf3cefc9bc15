"""`mt-analyze history` on recordings made by SQL."""

import json
import os
import random
import sqlite3
import subprocess
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.support.json_schema import check_schema, keys_not_in
from tests.support.made_run import MadeRun

ROOT = Path(__file__).resolve().parents[2]
SCHEMA = ROOT / "analyzer" / "schemas" / "history.json"
DAY_NS = 86_400 * 10**9
STEPS = 60
KEPT = (f'"steps":{STEPS - 1}', '"steps":1234')  # marks what comes from the cache

Analyze = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def analyze(program: str, tmp_path: Path) -> Analyze:
    """The program with a cache of the test's own."""

    def run(
        *arguments: object, cache: str = "cache/history.db"
    ) -> "subprocess.CompletedProcess[str]":
        return subprocess.run(
            [program, *map(str, arguments)],
            capture_output=True,
            text=True,
            check=False,
            env={
                **os.environ,
                "METATRAIN_TIMING_CACHE": str(tmp_path / cache),
                "TZ": "UTC",
                "COLUMNS": "80",
            },
        )

    return run


def training(
    day: int, wait_ms: float, environment: Mapping[str, str] | None = None
) -> MadeRun:
    draw = random.Random(day)
    factor = 1 + 0.004 * draw.uniform(-1, 1)
    times = [36 * factor * (1 + 0.01 * draw.uniform(-1, 1)) for _ in range(STEPS)]
    return MadeRun(
        f"run-{day:02}",
        [wait_ms] * STEPS,
        {"forward": times, "backward": [2.0] * STEPS},
        environment or {},
        started_unix_ns=(20_000 + day) * DAY_NS,
    )


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Twenty runs, of which the last six wait 4 ms longer, by another torch."""
    folder = tmp_path / "runs"
    folder.mkdir()
    for day in range(20):
        late = day >= 14
        training(
            day, 8 if late else 4, {"torch.version": "2.13" if late else "2.12"}
        ).write(folder / f"run{day:02}.db")
    return folder


def answer(analyze: Analyze, *arguments: object) -> dict[str, Any]:
    shown = analyze("history", *arguments, "--format", "json")
    assert shown.returncode == 0, shown.stderr
    result: dict[str, Any] = json.loads(shown.stdout)
    check_schema(result, SCHEMA)
    return result


def test_a_change_is_found_with_its_stage_and_setting(
    folder: Path, analyze: Analyze
) -> None:
    result = answer(analyze, folder)
    (series,) = result["series"]
    assert [run["uuid"] for run in series["runs"]] == [
        f"run-{day:02}" for day in range(20)
    ]
    (change,) = series["changes"]
    assert change["run"] == 15
    assert change["rel"] == pytest.approx(4 / 42, abs=0.005)
    assert change["ci"][0] < change["rel"] < change["ci"][1]
    stages = {stage["stage"]: stage["delta"] for stage in change["stages"]}
    assert stages["loader"] == pytest.approx(0.004, abs=1e-6)
    assert stages["loader"] + stages["step"] == pytest.approx(
        change["b"] - change["a"], abs=2e-5
    )
    assert change["changed"] == [{"key": "torch.version", "a": "2.12", "b": "2.13"}]


def test_docs_explain_every_key() -> None:
    assert keys_not_in((ROOT / "docs" / "history.md").read_text(), SCHEMA) == []


def test_text_says_the_verdict_first_and_last(folder: Path, analyze: Analyze) -> None:
    shown = analyze("history", folder)
    assert shown.returncode == 0
    assert shown.stderr == ""
    lines = shown.stdout.splitlines()
    assert lines[0] == lines[-1]
    assert lines[0].startswith("SAME  step of the newest of 20 runs: ")
    assert all(len(line) <= 80 for line in lines)
    text = " ".join(shown.stdout.split())
    assert "run 15: `loader` for no reason on record +4.00 ms; changed:" in text
    assert "torch.version 2.12 -> 2.13" in text
    assert "▁" in shown.stdout
    quiet = analyze("history", folder, "--quiet")
    assert quiet.stdout == lines[0] + "\n"


def test_without_utf8_there_are_digits(
    folder: Path, program: str, tmp_path: Path
) -> None:
    shown = subprocess.run(
        [program, "history", str(folder), "--no-cache"],
        capture_output=True,
        check=True,
        env={**os.environ, "LC_ALL": "C"},
    )
    assert shown.stdout.isascii()


def test_news_fail_a_gate(folder: Path, analyze: Analyze) -> None:
    training(20, 4).write(folder / "run20.db")  # back again, once
    assert analyze("history", folder, "--fail-on", "regressed").returncode == 0
    undecided = analyze("history", folder, "--fail-on", "regressed,inconclusive")
    assert undecided.returncode == 4
    assert "gate undecided: inconclusive" in undecided.stdout
    recent = [folder / f"run{day:02}.db" for day in range(17)]  # 14, 15 and 16 are late
    failed = analyze("history", *recent, "--fail-on", "new-changepoint")
    assert failed.returncode == 3
    assert failed.stdout.startswith("REGRESSED  step +9")
    assert analyze("history", *recent, "--fail-on", "improved").returncode == 0
    wrong = analyze("history", folder, "--fail-on", "slow")
    assert wrong.returncode == 2
    assert "--fail-on slow" in wrong.stderr


def test_only_new_runs_are_read_the_second_time(
    folder: Path, analyze: Analyze, tmp_path: Path
) -> None:
    first = analyze("history", folder)
    assert analyze("history", folder).stdout == first.stdout
    with sqlite3.connect(tmp_path / "cache" / "history.db") as cache:
        cache.execute("UPDATE digest SET content = replace(content, ?, ?)", KEPT)
    cache.close()
    training(20, 8).write(folder / "run20.db")
    second = answer(analyze, folder)["series"][0]["runs"]
    assert [run["steps"] for run in second] == [1234] * 20 + [STEPS - 1]
    anew = answer(analyze, folder, "--no-cache")["series"][0]["runs"]
    assert [run["steps"] for run in anew] == [STEPS - 1] * 21


def test_a_run_that_changed_is_read_again(folder: Path, analyze: Analyze) -> None:
    before = answer(analyze, folder)
    path = folder / "run05.db"
    path.unlink()
    training(5, 30).write(path)
    after = answer(analyze, folder)
    assert after["series"][0]["runs"][5]["value"] > (
        before["series"][0]["runs"][5]["value"] + 0.02
    )
    assert after["series"][0]["runs"][5]["spike"]


def test_folders_are_searched_and_others_are_left_alone(
    folder: Path, analyze: Analyze, tmp_path: Path
) -> None:
    below = folder / "older" / "still"
    below.mkdir(parents=True)
    (folder / "run00.db").rename(below / "run00.db")
    (folder / "options.yaml").write_text("a: 1\n")
    (folder / "broken.db").write_text("no database")
    result = answer(analyze, folder)
    assert len(result["series"][0]["runs"]) == 20
    (broken,) = [file for file in result["files"] if not file["read"]]
    assert broken["path"].endswith("broken.db")
    assert [warning["code"] for warning in result["warnings"]] == ["file_skipped"]


def test_order_of_arguments_does_not_matter(folder: Path, analyze: Analyze) -> None:
    paths = sorted(folder.glob("*.db"))
    forward = answer(analyze, *paths)
    backward = answer(analyze, *reversed(paths))
    assert forward["series"] == backward["series"]
    assert analyze("history", *paths).stdout == analyze("history", *paths).stdout


def test_other_formats(folder: Path, analyze: Analyze) -> None:
    csv = analyze("history", folder, "--format", "csv").stdout.splitlines()
    assert len(csv) == 21
    assert csv[0] == "series,run,started_unix,path,uuid,value_s,level_s,change"
    assert csv[15].endswith(",true")
    markdown = analyze("history", folder, "--format", "markdown").stdout
    assert markdown.startswith("**SAME  step")
    assert "| 15 |" in markdown


def test_a_stage_can_be_followed(folder: Path, analyze: Analyze) -> None:
    result = answer(analyze, folder, "--metric", "forward")
    assert result["metric"] == "step/forward"
    assert result["series"][0]["changes"] == []
    assert result["series"][0]["runs"][0]["value"] == pytest.approx(0.036, rel=0.01)


def test_an_order_that_explains_the_difference_is_told(
    tmp_path: Path, analyze: Analyze
) -> None:
    folder = tmp_path / "blocks"
    folder.mkdir()
    for day in range(6):
        workers = {"torch.threads": "1" if day < 3 else "2"}
        training(day, 4 + 2 * day, workers).write(folder / f"run{day}.db")
    shown = analyze("history", folder)
    text = " ".join(shown.stdout.split())
    assert "the order of the runs explains as much as torch.threads 1 -> 2" in text
    (order,) = answer(analyze, folder)["series"][0]["order"]
    assert (order["key"], order["a"], order["b"], order["run"]) == (
        "torch.threads",
        "1",
        "2",
        4,
    )


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        ((), 2, "RUNS"),
        (("nowhere",), 1, "no such file"),
        (("--metric", "nothing"), 2, "--metric nothing: no such metric"),
        (("--by", "nothing"), 2, "--by nothing: no such setting"),
        (("--min-effect", "x"), 2, "--min-effect x"),
        (("--phase", "sleep"), 1, "no run with complete steps of a phase 'sleep'"),
    ],
)
def test_bad_input_is_one_line(
    folder: Path,
    analyze: Analyze,
    arguments: tuple[str, ...],
    code: int,
    words: str,
) -> None:
    paths = () if not arguments or arguments[0] == "nowhere" else (folder,)
    shown = analyze("history", *paths, *arguments)
    assert shown.returncode == code
    assert words in shown.stderr
    assert shown.stdout == ""


def test_an_empty_folder_is_one_line(tmp_path: Path, analyze: Analyze) -> None:
    folder = tmp_path / "empty"
    folder.mkdir()
    (folder / "notes.txt").write_text("nothing\n")
    shown = analyze("history", folder)
    assert shown.returncode == 1
    assert shown.stderr.count("\n") == 1
    assert "no run with complete steps" in shown.stderr


def test_a_cache_that_cannot_be_written_is_no_trouble(
    folder: Path, analyze: Analyze, tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("in the way")
    shown = analyze("history", folder, cache="file/history.db")
    assert shown.returncode == 0
    assert "file/history.db: cannot be used" in shown.stderr
    assert shown.stderr.count("\n") == 1
    assert (tmp_path / "file").read_text() == "in the way"


def test_a_file_put_in_the_place_of_another_is_read_again(
    folder: Path, analyze: Analyze
) -> None:
    before = answer(analyze, folder)["series"][0]["runs"][5]
    path = folder / "run05.db"
    stat = path.stat()
    path.unlink()
    training(5, 6).write(path)
    assert path.stat().st_size == stat.st_size
    os.utime(path, ns=(stat.st_atime_ns, stat.st_mtime_ns))
    after = answer(analyze, folder)["series"][0]["runs"][5]
    assert after["value"] == pytest.approx(before["value"] + 0.002, rel=0.001)


@pytest.mark.parametrize("started_unix_ns", [0, 8 * 10**18])
def test_a_run_without_a_place_in_time_is_left_out(
    folder: Path, analyze: Analyze, started_unix_ns: int
) -> None:
    odd = replace(training(30, 4), started_unix_ns=started_unix_ns)
    odd.write(folder / "odd.db")
    result = answer(analyze, folder)
    assert len(result["series"][0]["runs"]) == 20
    assert [warning["code"] for warning in result["warnings"]] == ["no_order"]


def test_a_series_that_regressed_is_seen_behind_a_newer_one(
    tmp_path: Path, analyze: Analyze
) -> None:
    folder = tmp_path / "two"
    folder.mkdir()
    for day in range(14):
        training(day, 8 if day >= 10 else 4).write(folder / f"a{day:02}.db")
        other = replace(training(day, 4), uuid=f"other-{day}", batch_size=16)
        later = other.started_unix_ns + 1
        replace(other, started_unix_ns=later).write(folder / f"b{day:02}.db")
    shown = analyze("history", folder, "--fail-on", "regressed")
    assert shown.returncode == 3
    headline = " ".join(shown.stdout.split("\n\n")[0].split())
    assert headline.startswith("REGRESSED step +9")
    assert "loader.batch_size 8" in headline
    result = answer(analyze, folder)
    assert result["verdict"] == "regressed"
    assert [one["verdict"] for one in result["series"]] == ["same", "regressed"]
