"""Other versions of torch, torchdata and metatrain than those at hand."""

import importlib.util
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.python.support.recording import Outcome

pytestmark = pytest.mark.torch

Record = Callable[..., Outcome]

LOADER = "torch.utils.data.dataloader"
ITERATOR = f"{LOADER}:_BaseDataLoaderIter"
WORKERS = f"{LOADER}:_MultiProcessingDataLoaderIter"
UTILS = "torch.utils.data._utils"

# What another version may lack, what the warning names, stages that are then missing.
MISSING = [
    (f"{ITERATOR}._next_index=remove", "_next_index is not there", {"sampler"}),
    (f"{ITERATOR}._next_index=change", "_next_index takes other", {"sampler"}),
    (f"{WORKERS}._try_put_index=remove", "_try_put_index is not", {"put_index"}),
    (f"{WORKERS}._shutdown_workers=remove", "_shutdown_workers is", {"worker_stop"}),
    (f"{UTILS}.pin_memory:_pin_memory_loop=remove", "_pin_memory_loop is not", set()),
    (
        f"{UTILS}.fetch:_MapDatasetFetcher.fetch=change",
        "_MapDatasetFetcher.fetch takes other",
        {"fetch", "dataset", "collate"},
    ),
    (
        f"{UTILS}.worker:_worker_loop=remove",
        "_worker_loop is not there",
        {"worker_idle", "send"},
    ),
    (
        "torch.optim.optimizer:register_optimizer_step_pre_hook=remove",
        "register_optimizer_step_pre_hook is not there",
        {"optimizer"},
    ),
    ("torch.autograd:backward=change", "backward takes other", {"backward"}),
]


@pytest.fixture(scope="module")
def usual(record_once: Record) -> Outcome:
    outcome = record_once("train.py", "--workers", 1, "--epochs", 1)
    assert outcome.warnings == []
    return outcome


@pytest.mark.parametrize(("spoilt", "warning", "missing"), MISSING)
def test_a_name_that_is_gone_is_one_line_and_costs_its_stages(
    record: Record, usual: Outcome, spoilt: str, warning: str, missing: set[str]
) -> None:
    outcome = record(
        "renamed.py", "run.db", spoilt, "--", "--workers", 1, "--epochs", 1,
        database=None,
    )  # fmt: skip
    assert outcome.out == usual.out  # the same training, to the bit
    assert len(outcome.warnings) == 1, outcome.err
    assert warning in outcome.warnings[0]
    assert outcome.warnings[0].startswith("metatrain-timing: torch 2.")
    outcome.database = outcome.folder / "run.db"
    recording = outcome.recording
    expected = set(usual.recording.stages()) - missing
    assert set(recording.stages()) == expected
    assert recording.count("loader") == recording.count("step") == 5
    assert len(recording.problems) == 1


needs_torchdata = pytest.mark.skipif(
    importlib.util.find_spec("torchdata") is None, reason="torchdata is not installed"
)

STATEFUL = """
import sys, time
import torch
from torchdata.stateful_dataloader import StatefulDataLoader

class Data(torch.utils.data.Dataset):
    def __init__(self):
        self.state = torch.zeros(1000)
    def __len__(self): return 12
    def __getitem__(self, i): return torch.randn(3)
    def state_dict(self):
        time.sleep(0.03)  # what a snapshot costs
        return {"state": self.state.clone()}
    def load_state_dict(self, state): self.state = state["state"]

persistent = "--persistent" in sys.argv
workers = int(sys.argv[1])
torch.manual_seed(3)
loader = StatefulDataLoader(
    Data(), batch_size=2, num_workers=workers, persistent_workers=persistent
)
weight = torch.ones(3, requires_grad=True)
optimizer = torch.optim.SGD([weight], lr=0.1)
for _ in range(2):
    for batch in loader:
        (weight * batch).sum().backward()
        optimizer.step()
print(weight.tolist(), len(loader.state_dict()))
"""


@needs_torchdata
@pytest.mark.parametrize("arguments", [("0",), ("2",), ("2", "--persistent")])
def test_a_stateful_loader_is_recorded_and_its_snapshots_are_not_collates(
    record: Record, tmp_path: Path, arguments: tuple[str, ...]
) -> None:
    script = tmp_path / "stateful.py"
    script.write_text(STATEFUL)
    plain = record(script, *arguments, database=None)
    outcome = record(script, *arguments)
    assert outcome.out == plain.out
    assert outcome.warnings == []
    recording = outcome.recording
    for stage in ("loader", "step", "fetch", "collate", "dataset"):
        assert recording.count(stage) == 12, stage
    assert [row.step for row in recording.of("step")] == list(range(12))
    assert {row.phase for row in recording.of("loader")} == {"train"}
    assert all(row.dur_ns < 30_000_000 for row in recording.of("collate"))
    if arguments[0] != "0":
        in_workers = recording.of("snapshot", role="worker")
        assert sum(row.dur_ns >= 30_000_000 for row in in_workers) >= 12
        keys = {(row.iterator, row.batch) for row in recording.of("loader")}
        assert {(row.iterator, row.batch) for row in recording.of("send")} == keys
        assert {(row.iterator, row.batch) for row in recording.of("fetch")} == keys


NEWER_TIMING = """
from contextlib import nullcontext
ENABLED = False
def enable(): pass
def timed(stage): return nullcontext()
def timed_transform(transform): return nullcontext()
def timed_iter(iterable, stage, body): return iter(iterable)
def count_systems(systems): pass
def reset(): pass
def report(): return "theirs"
"""

NEWER_DATASET = """
from ..timing import timed, timed_transform

def group_and_join(batch, join_kwargs=None):
    return batch

def center(batch): return batch
def shift(batch): return batch

class CollateFn:
    callables = (center, shift)
    def __call__(self, batch):
        with timed("group_and_join"):
            batch = group_and_join(batch)
        with timed("transforms"):
            for callable in self.callables:
                with timed_transform(callable):
                    batch = callable(batch)
        with timed("serialize"):
            return list(batch)

def unpack_batch(batch):
    return batch, {}, {}
"""

NEWER_TRAINER = """
import torch
from torch.utils.data import DataLoader
from metatrain.utils.data.dataset import CollateFn, unpack_batch
from metatrain.utils import timing
from metatrain.utils.timing import count_systems, timed, timed_iter

weight = torch.ones(1, requires_grad=True)
optimizer = torch.optim.SGD([weight], lr=0.1)
data = [[0] * n for n in (1, 2, 3, 4)]
loader = DataLoader(data, batch_size=2, num_workers=2, collate_fn=CollateFn())
for batch in timed_iter(loader, "loader", "step"):
    with timed("unpack"):
        systems, _, _ = unpack_batch(batch)
        count_systems(systems)
    with timed("backward"):
        (weight * len(systems)).sum().backward()
    with timed("optimizer"):
        optimizer.step()
if timing.ENABLED:
    print(timing.report())
"""


@pytest.mark.parametrize("variable", ["METATRAIN_TIMING_DB", "METATRAIN_TIMING"])
def test_a_metatrain_that_times_itself_records_through_us(
    record: Record, tmp_path: Path, variable: str
) -> None:
    package = tmp_path / "site" / "metatrain"
    for folder in ("", "utils", "utils/data"):
        (package / folder).mkdir(parents=True, exist_ok=True)
        (package / folder / "__init__.py").write_text("__version__ = '2027.1'\n")
    (package / "utils/timing.py").write_text(NEWER_TIMING)
    (package / "utils/data/dataset.py").write_text(NEWER_DATASET)
    script = tmp_path / "trainer.py"
    script.write_text(NEWER_TRAINER)
    environment = {"PYTHONPATH": str(tmp_path / "site")}
    if variable == "METATRAIN_TIMING_DB":
        outcome = record(script, environment=environment)
    else:
        environment["METATRAIN_TIMING"] = "1"
        outcome = record(script, environment=environment, database=None)
    assert outcome.warnings == []
    lines = [line.split() for line in outcome.out.splitlines()]
    rows = {line[0]: line[1] for line in lines if len(line) > 1}
    for stage in ("loader", "step", "unpack", "backward", "optimizer"):
        assert rows[stage] == "2", outcome.out
    for stage in ("group_and_join", "transforms", "serialize", "transforms/center"):
        assert rows[stage] == "2", outcome.out  # although workers did it
    if variable == "METATRAIN_TIMING_DB":
        counters = outcome.recording.counters
        assert sum(row.value for row in counters if row.name == "structures") == 4
        assert sum(row.value for row in counters if row.name == "atoms") == 10
