"""What is recorded of torch's DataLoader, in the training process and in workers."""

import os
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import pytest

from tests.python.support.recording import Outcome, Recording, Row

pytestmark = pytest.mark.torch

Record = Callable[..., Outcome]

BATCHES, EPOCHS, VALIDATION = 5, 2, 3
TRAINING = ("--epochs", EPOCHS, "--batches", BATCHES, "--validation", VALIDATION)


@pytest.fixture(scope="module")
def without_workers(record_once: Record) -> Recording:
    return record_once("train.py", *TRAINING).recording


@pytest.fixture(scope="module")
def with_workers(record_once: Record) -> Recording:
    return record_once("train.py", "--workers", 2, *TRAINING).recording


@pytest.fixture(scope="module")
def persistent(record_once: Record) -> Recording:
    return record_once(
        "train.py", "--workers", 2, "--persistent", "--sleep-start", *TRAINING
    ).recording


@pytest.fixture(params=["without_workers", "with_workers", "persistent"])
def recording(request: pytest.FixtureRequest) -> Recording:
    found: Recording = request.getfixturevalue(request.param)
    return found


def test_each_batch_is_one_wait_one_body_one_fetch_and_one_collate(
    recording: Recording,
) -> None:
    for stage in ("loader", "step", "fetch", "dataset", "collate"):
        assert recording.count(stage, phase="train") == BATCHES * EPOCHS, stage
        assert recording.count(stage, phase="evaluation") == VALIDATION * EPOCHS, stage


def test_the_end_of_a_pass_is_not_a_wait(recording: Recording) -> None:
    assert recording.count("loader_end", phase="train") == EPOCHS
    assert recording.count("loader_end", phase="evaluation") == EPOCHS


def test_steps_are_counted_by_optimizer_calls(recording: Recording) -> None:
    assert [row.step for row in recording.of("step", phase="train")] == list(range(10))
    # A validation follows each epoch: five steps are done, then ten.
    assert [row.step for row in recording.of("step", phase="evaluation")] == (
        [5] * VALIDATION + [10] * VALIDATION
    )


def test_backward_and_optimizer_lie_in_a_body(recording: Recording) -> None:
    for stage in ("backward", "optimizer"):
        rows = recording.of(stage)
        assert len(rows) == BATCHES * EPOCHS
        for row in rows:
            parent = recording.parent(row)
            assert parent is not None
            assert parent.stage == "step"


def test_waits_and_bodies_alternate(recording: Recording) -> None:
    turns = sorted(
        recording.of("loader") + recording.of("step"), key=lambda row: row.start_ns
    )
    assert [row.stage for row in turns] == ["loader", "step"] * (len(turns) // 2)
    for earlier, later in pairwise(turns):
        assert earlier.end_ns <= later.start_ns
    for wait, body in zip(turns[::2], turns[1::2], strict=True):
        assert (wait.iterator, wait.batch) == (body.iterator, body.batch)


def test_a_fetch_is_reading_then_collating(recording: Recording) -> None:
    for fetch in recording.of("fetch"):
        inside = [
            row
            for row in recording.intervals
            if row.process == fetch.process
            and row.stage in ("dataset", "collate")
            and fetch.start_ns <= row.start_ns <= row.end_ns <= fetch.end_ns
        ]
        assert [row.stage for row in sorted(inside, key=lambda r: r.start_ns)] == [
            "dataset",
            "collate",
        ]
        assert all(row.cpu_ns is not None for row in [fetch, *inside])


def test_passes_are_numbered_and_their_end_is_known(recording: Recording) -> None:
    owned = [row for row in recording.iterators if row.role == "main"]
    assert [row.number for row in owned] == [1, 2, 3, 4]
    assert [row.phase for row in owned] == ["train", "evaluation"] * 2
    assert [row.epoch for row in owned] == [0, 0, 1, 1]
    assert all(row.exhausted for row in owned)


def test_loaders_are_named_after_where_they_were_made(recording: Recording) -> None:
    owned = [row for row in recording.loaders if row.role == "main"]
    assert len({row.created_at for row in owned}) == 1  # both in make_loader()
    assert [row.number for row in owned] == [1, 2]
    place = owned[0].created_at
    assert [row.name for row in owned] == [f"Numbers at {place}"] * 2
    assert owned[0].created_at.startswith("train.py:")
    assert owned[0].dataset_class == "__main__.Numbers"
    assert owned[0].batch_size == 2


def key(row: Row) -> tuple[int, int]:
    return (row.iterator, row.batch)


def test_a_batch_is_the_same_in_both_processes(with_workers: Recording) -> None:
    for stage in ("put_index", "fetch", "send", "receive"):
        assert sorted(map(key, with_workers.of(stage))) == sorted(
            map(key, with_workers.of("loader"))
        ), stage


def test_a_batch_comes_to_pass_in_order(with_workers: Recording) -> None:
    stages = ("put_index", "fetch", "send", "receive", "loader")
    rows = {stage: {key(r): r for r in with_workers.of(stage)} for stage in stages}
    for batch, wait in rows["loader"].items():
        put, fetch, send, receive = (rows[stage][batch] for stage in stages[:4])
        assert put.start_ns <= fetch.start_ns
        assert fetch.end_ns <= send.end_ns
        assert send.end_ns <= receive.end_ns
        assert receive.end_ns <= wait.end_ns


def test_receiving_and_putting_lie_in_the_wait(with_workers: Recording) -> None:
    for stage, where in (
        ("receive", {"loader"}),
        ("put_index", {"loader", "worker_start"}),
    ):
        for row in with_workers.of(stage):
            parent = with_workers.parent(row)
            assert parent is not None
            assert parent.stage in where


def test_workers_send_in_a_thread_of_their_own(with_workers: Recording) -> None:
    fetching = {(row.process, row.tid) for row in with_workers.of("fetch")}
    sending = {(row.process, row.tid) for row in with_workers.of("send")}
    assert len(fetching) == len(sending) == 2 * 4  # two workers in each of four passes
    assert not fetching & sending


def test_each_pass_starts_workers_anew(with_workers: Recording) -> None:
    workers = [row for row in with_workers.processes if row.role == "worker"]
    assert len(workers) == 2 * 4
    assert {row.ending for row in workers} == {"clean"}
    assert {row.start_method for row in workers} == {"fork"}
    assert sorted(row.worker_id for row in workers) == [0] * 4 + [1] * 4
    assert with_workers.count("worker_start", role="worker") == 2 * 4
    assert with_workers.count("worker_start", role="main") == 4
    assert with_workers.count("worker_stop", role="main") == 4


def test_a_worker_is_starting_waiting_or_fetching(with_workers: Recording) -> None:
    for worker in [row for row in with_workers.processes if row.role == "worker"]:
        rows = sorted(
            (
                row
                for row in with_workers.intervals
                if row.process == worker.uuid and row.depth == 0 and row.stage != "send"
            ),
            key=lambda row: row.start_ns,
        )
        assert rows[0].stage == "worker_start"
        assert rows[0].start_ns == worker.started_ns
        # An index for each fetch, and the end.
        assert [row.stage for row in rows[1:]][::2] == ["worker_idle"] * (
            len(rows) // 2
        )
        assert [row.stage for row in rows[2:]][::2] == ["fetch"] * (len(rows) // 2 - 1)


def test_files_are_as_many_as_workers_alive_at_once(with_workers: Recording) -> None:
    assert [file.name for file in with_workers.files] == [
        "run.db",
        "rank0-w00.db",
        "rank0-w01.db",
    ]


def test_persistent_workers_start_once_and_know_each_pass(
    persistent: Recording,
) -> None:
    workers = [row for row in persistent.processes if row.role == "worker"]
    assert len(workers) == 2 * 2  # of two loaders
    starts = persistent.of("worker_start", role="worker")
    assert len(starts) == 4
    assert all(row.dur_ns >= 200_000_000 for row in starts)  # worker_init_fn sleeps
    assert persistent.count("worker_resume", role="main") == 2
    assert {row.iterator for row in persistent.of("fetch")} == {1, 2, 3, 4}
    assert sorted(map(key, persistent.of("fetch"))) == sorted(
        map(key, persistent.of("loader"))
    )


def test_several_batches_make_a_step_when_gradients_are_accumulated(
    record: Record,
) -> None:
    recording = record(
        "train.py", "--epochs", 1, "--batches", 8, "--micro-batches", 4
    ).recording
    assert [row.step for row in recording.of("step")] == [0] * 4 + [1] * 4
    assert recording.count("optimizer") == 2
    assert recording.count("backward") == 8


def test_batches_out_of_order_are_tied_to_the_wait_that_they_end(
    record: Record,
) -> None:
    recording = record(
        "train.py", "--workers", 2, "--any-order", "--slow-worker", "--epochs", 1,
        "--batches", 12,
    ).recording  # fmt: skip
    waits = recording.of("loader")
    order = [row.batch for row in waits]
    assert sorted(order) == list(range(12))
    assert order != list(range(12))  # one worker is slow: others overtake it
    received = {row.batch: row for row in recording.of("receive")}
    for wait in waits:  # in any order a batch is delivered as soon as it is received
        assert wait.start_ns <= received[wait.batch].start_ns
        assert received[wait.batch].end_ns <= wait.end_ns


def test_the_end_of_a_workers_stream_is_no_batch(record: Record) -> None:
    recording = record(
        "train.py", "--iterable", "--workers", 2, "--epochs", 1, "--batches", 6
    ).recording
    for stage in ("fetch", "send", "receive", "loader"):
        assert recording.count(stage) == 6, stage


@pytest.mark.parametrize("workers", [0, 2])
def test_an_iterable_data_set_has_no_fetch_too_many(
    record: Record, workers: int
) -> None:
    recording = record(
        "train.py", "--iterable", "--workers", workers, "--epochs", 1, "--batches", 6
    ).recording
    assert recording.count("fetch") == recording.count("loader") == 6
    assert recording.count("collate") == 6


@pytest.mark.slow
@pytest.mark.parametrize("method", ["spawn", "forkserver"])
def test_workers_of_any_start_method_record_the_same(
    record: Record, with_workers: Recording, method: str
) -> None:
    recording = record(
        "train.py", "--workers", 2, "--start-method", method, *TRAINING
    ).recording
    assert recording.stages(role="worker") == with_workers.stages(role="worker")
    workers = [row for row in recording.processes if row.role == "worker"]
    assert {row.start_method for row in workers} == {method}
    assert {row.ending for row in workers} == {"clean"}
    assert len({row.run for row in recording.processes}) == 1
    # Such a worker imports torch: its start is dearer than a fork's.
    assert min(r.dur_ns for r in recording.of("worker_start", role="worker")) > max(
        r.dur_ns for r in with_workers.of("worker_start", role="worker")
    )


def test_workers_of_two_zipped_loaders_are_told_apart(
    record: Record, tmp_path: Path
) -> None:
    script = tmp_path / "zipped.py"
    script.write_text(
        "import torch\n"
        "from torch.utils.data import DataLoader\n"
        "numbers = DataLoader(torch.arange(8), num_workers=2)\n"
        "letters = DataLoader(list('abcdefgh'), num_workers=2)\n"
        "weight = torch.ones(1, requires_grad=True)\n"
        "optimizer = torch.optim.SGD([weight], lr=0.1)\n"
        "for number, letter in zip(numbers, letters):\n"
        "    (weight * number).sum().backward()\n"
        "    optimizer.step()\n"
    )
    recording = record(script).recording
    names = {row.number: row.name for row in recording.loaders if row.role == "main"}
    assert names == {1: "Tensor at zipped.py:3", 2: "list at zipped.py:4"}
    for loader in names:
        for stage in ("loader", "fetch", "send", "receive"):
            rows = recording.of(stage, loader=loader)
            assert sorted(row.batch for row in rows) == list(range(8)), stage
        assert {row.phase for row in recording.of("loader", loader=loader)} == {"train"}
    workers = [row for row in recording.processes if row.role == "worker"]
    of_loader = {
        worker.uuid: {row.loader for row in recording.of("fetch", process=worker.uuid)}
        for worker in workers
    }
    assert sorted(map(sorted, of_loader.values())) == [[1], [1], [2], [2]]
    assert recording.count("step") == 8


def test_a_data_loader_looks_as_without_us(record: Record, tmp_path: Path) -> None:
    script = tmp_path / "look.py"
    script.write_text(
        "import inspect\n"
        "from torch.utils.data import DataLoader\n"
        "names = inspect.getfullargspec(DataLoader.__init__).args\n"
        "print(names == list(inspect.signature(DataLoader.__init__).parameters), "
        "*names[:3])\n"
    )
    assert record(script).out == record(script, database=None).out


def test_a_source_file_may_have_any_name(record: Record, tmp_path: Path) -> None:
    script = os.fsencode(tmp_path) + b"/caf\xe9.py"
    with open(script, "wb") as file:
        file.write(
            b"from torch.utils.data import DataLoader\n"
            b"assert [int(b) for b in DataLoader(range(3))] == [0, 1, 2]\n"
        )
    outcome = record(os.fsdecode(script))
    assert outcome.err == ""
    assert outcome.recording.loaders[0].created_at == "caf\ufffd.py:2"
