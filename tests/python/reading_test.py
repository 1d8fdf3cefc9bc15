"""Reading a run from Python, with the analyzer's own code."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from metatrain_timing import AnalyzerError, Run, history
from tests.python.support.recording import Outcome

Record = Callable[..., Outcome]


@pytest.fixture(scope="module")
def outcome(record_once: Record) -> Outcome:
    return record_once("plain.py", database="odd name? 50%#é/run.db".replace("/", "_"))


def test_a_report_is_that_of_the_program(outcome: Outcome) -> None:
    report = Run(outcome.database).report()
    assert report["schema"] == "mt.report/1"
    steps = {phase["name"]: phase["steps"] for phase in report["phases"]}
    assert steps["train"] == 6


def test_sql_gives_rows_by_column_name(outcome: Outcome) -> None:
    rows = Run(str(outcome.database)).sql(
        "SELECT stage, count(*) AS calls FROM v_interval "
        "WHERE stage IN ('step', 'forward') GROUP BY stage ORDER BY stage"
    )
    assert rows == [{"stage": "forward", "calls": 9}, {"stage": "step", "calls": 9}]


def test_runs_are_listed_and_picked(record: Record) -> None:
    first = record("plain.py")
    record("plain.py")
    runs = Run(first.database).runs()
    assert [run["newest"] for run in runs].count(True) == 1
    assert len({run["uuid"] for run in runs}) == 2
    for run in runs:
        report = Run(first.database, run=run["uuid"]).report()
        assert report["run"]["uuid"] == run["uuid"]


def test_a_history_takes_in_the_runs_that_are_appended(
    record: Record, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("METATRAIN_TIMING_CACHE", str(tmp_path / "cache.db"))
    first = record("plain.py")
    record("plain.py")
    (series,) = history(first.database)["series"]
    assert len(series["runs"]) == 2
    assert series["newest"]["verdict"] == "unknown"
    record("plain.py")
    (longer,) = history([first.database])["series"]
    for before, after in zip(series["runs"], longer["runs"], strict=False):
        assert (before["uuid"], before["value"]) == (after["uuid"], after["value"])
    assert [run["path"].rpartition("@")[2] for run in longer["runs"]] == ["1", "2", "3"]
    assert (tmp_path / "cache.db").is_file()
    with pytest.raises(AnalyzerError, match="give files or folders"):
        history([])
    with pytest.raises(AnalyzerError, match="no such metric"):
        history(first.database, metric="nothing")


def test_reading_changes_no_file(outcome: Outcome) -> None:
    before = os.stat(outcome.database)
    Run(outcome.database).report()
    after = os.stat(outcome.database)
    assert (before.st_mtime_ns, before.st_size) == (after.st_mtime_ns, after.st_size)
    assert len(list(outcome.folder.iterdir())) == 1


def test_nothing_to_read_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(AnalyzerError, match=r"missing\.db") as error:
        Run(tmp_path / "missing.db").report()
    assert "\n" not in str(error.value)


def test_a_bad_query_is_one_line(outcome: Outcome) -> None:
    with pytest.raises(AnalyzerError) as error:
        Run(outcome.database).sql("SELECT no_such_column FROM v_interval")
    assert "no_such_column" in str(error.value)
