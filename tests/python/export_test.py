"""Timelines of real trainings, by the rules that viewers read them by."""

import gzip
import json
import subprocess
from collections import defaultdict
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from tests.python.support.recording import Outcome

pytestmark = pytest.mark.torch

Record = Callable[..., Outcome]
Events = list[dict[str, Any]]


@pytest.fixture(scope="module")
def outcome(record_once: Record) -> Outcome:
    return record_once("train.py", "--workers", 2, "--epochs", 2)


def export(program: str, database: Path, output: Path, *options: str) -> Any:
    subprocess.run(
        [program, "export", str(database), "-o", str(output), *options],
        check=True,
        capture_output=True,
    )
    opened = gzip.open if output.suffix == ".gz" else open
    with opened(output, "rt", encoding="utf-8") as file:
        return json.load(file)


def of_kind(trace: Any, kind: str) -> Events:
    return [event for event in trace["traceEvents"] if event["ph"] == kind]


@pytest.fixture(scope="module")
def trace(
    outcome: Outcome, program: str, tmp_path_factory: pytest.TempPathFactory
) -> Any:
    return export(
        program, outcome.database, tmp_path_factory.mktemp("t") / "trace.json.gz"
    )


def test_every_interval_is_a_slice(trace: Any, outcome: Outcome) -> None:
    shown: dict[str, int] = defaultdict(int)
    for event in of_kind(trace, "X"):
        shown[event["name"]] += 1
    recorded: dict[str, int] = defaultdict(int)
    for row in outcome.recording.intervals:
        recorded[row.stage] += 1
    assert shown == recorded
    durations = sum(event["dur"] for event in of_kind(trace, "X"))
    total_ns = sum(row.dur_ns for row in outcome.recording.intervals)
    assert durations * 1000 == pytest.approx(total_ns, rel=1e-9)


def test_slices_of_a_thread_are_in_order_and_nest(trace: Any, outcome: Outcome) -> None:
    tracks: dict[tuple[int, int], list[tuple[int, int]]] = defaultdict(list)
    for event in of_kind(trace, "X"):
        start = round(event["ts"] * 1000)
        end = start + round(event["dur"] * 1000)
        tracks[event["pid"], event["tid"]].append((start, end))
    steps_back = 0
    for slices in tracks.values():
        steps_back += sum(b < a for (a, _), (b, _) in pairwise(slices))
        open_ends: list[int] = []
        for start, end in sorted(slices, key=lambda one: (one[0], -one[1])):
            while open_ends and open_ends[-1] <= start:
                open_ends.pop()
            assert not open_ends or end <= open_ends[-1]
            open_ends.append(end)
    # Each life of a worker is in order; lives stand in the file as they come.
    lives = [row for row in outcome.recording.processes if row.role == "worker"]
    assert steps_back <= len(lives)


def test_every_track_has_a_name(trace: Any) -> None:
    names: dict[str, dict[Any, str]] = defaultdict(dict)
    for event in of_kind(trace, "M"):
        place = event["pid"], event.get("tid")
        names[event["name"]][place] = event["args"].get("name")
    processes = {pid: name for (pid, _), name in names["process_name"].items()}
    threads = names["thread_name"]
    for event in of_kind(trace, "X"):
        assert event["pid"] in processes
        assert (event["pid"], event["tid"]) in threads
    workers = [name for name in processes.values() if name.startswith("worker")]
    # Two epochs have workers of their own, one after the other.
    assert len(workers) <= 6
    assert {name.split(" of ")[0] for name in workers} == {"worker 0", "worker 1"}


def test_an_arrow_leads_from_each_sent_batch_to_its_wait(trace: Any) -> None:
    slices = of_kind(trace, "X")

    def around(event: dict[str, Any], name: str) -> dict[str, Any]:
        (found,) = (
            one
            for one in slices
            if (one["pid"], one["tid"], one["name"])
            == (event["pid"], event["tid"], name)
            and one["ts"] <= event["ts"] <= one["ts"] + one["dur"]
        )
        return found

    begins = {event["id"]: event for event in of_kind(trace, "s")}
    ends = {event["id"]: event for event in of_kind(trace, "f")}
    waits = [one for one in slices if one["name"] == "loader"]
    assert len(ends) == len(waits)
    assert set(ends) <= set(begins)
    for number, end in ends.items():
        sent, waited = around(begins[number], "send"), around(end, "loader")
        assert sent["args"]["batch"] == waited["args"]["batch"]
        assert sent["args"]["iterator"] == waited["args"]["iterator"]
        assert begins[number]["ts"] < end["ts"]


def test_a_part_has_its_steps_and_what_was_done_for_them(
    outcome: Outcome, program: str, tmp_path: Path
) -> None:
    part = export(program, outcome.database, tmp_path / "part.json", "--steps", "2:3")
    bodies = [event for event in of_kind(part, "X") if event["name"] == "step"]
    steps = {event["args"]["step"] for event in bodies if event["cat"] == "train"}
    assert {2, 3} <= steps
    batches = {
        (event["args"]["iterator"], event["args"]["batch"])
        for event in bodies
        if event["args"]["step"] in (2, 3)
    }
    fetched = {
        (event["args"]["iterator"], event["args"]["batch"])
        for event in of_kind(part, "X")
        if event["name"] == "fetch"
    }
    assert batches <= fetched


def test_standard_output_is_the_trace_alone(outcome: Outcome, program: str) -> None:
    done = subprocess.run(
        [program, "export", str(outcome.database), "-o", "-"],
        check=True,
        capture_output=True,
        text=True,
    )
    assert of_kind(json.loads(done.stdout), "X")
