"""What is recorded of a PET training of metatrain, without a change to it."""

import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from metatrain_timing import Run
from tests.python.support.recording import (
    Outcome,
    Recording,
    environment_for,
    run_recorded,
)

pytestmark = [pytest.mark.metatrain, pytest.mark.slow]

EXAMPLE = Path(__file__).parents[2] / "examples" / "metatrain"

# 40 structures: 4 to validate, 4 to test, 32 to train on in 4 batches of 8.
EPOCHS, TRAIN, VALIDATION = 2, 4, 1

OPTIONS = """
seed: 42
device: cpu
base_precision: 32
architecture:
  name: pet
  model:
    {{cutoff: 3.0, d_pet: 8, d_head: 8, d_node: 8, d_feedforward: 8, num_heads: 1,
      num_attention_layers: 1, num_gnn_layers: 1}}
  training: {{batch_size: 8, num_epochs: {epochs}, num_workers: {workers}}}
training_set:
  systems: {{read_from: ../structures.xyz, length_unit: angstrom}}
  targets: {{energy: {{key: energy, unit: eV, forces: {{key: forces}}}}}}
validation_set: 0.1
test_set: 0.1
"""

Train = Callable[..., Outcome]


@pytest.fixture(scope="module")
def train(tmp_path_factory: pytest.TempPathFactory) -> Train:
    """Train in a folder of its own, all with the same data."""
    root = tmp_path_factory.mktemp("metatrain")
    subprocess.run(
        [
            sys.executable,
            EXAMPLE / "make_dataset.py",
            "structures.xyz",
            "--count",
            "40",
        ],
        cwd=root,
        env=environment_for(None),
        check=True,
        timeout=300,
    )

    def run(name: str, workers: int, *arguments: str, database: str | None) -> Outcome:
        folder = root / name
        folder.mkdir(exist_ok=True)
        options = OPTIONS.format(workers=workers, epochs=EPOCHS)
        (folder / "options.yaml").write_text(options)
        return run_recorded(
            folder, "-m", "metatrain", "train", "options.yaml", *arguments,
            database=database, timeout_s=900,
        )  # fmt: skip

    return run


@pytest.fixture(scope="module")
def plain(train: Train) -> Outcome:
    return train("plain", 2, database=None)


@pytest.fixture(scope="module")
def outcome(train: Train) -> Outcome:
    return train("recorded", 2, database="run.db")


@pytest.fixture(scope="module")
def recording(outcome: Outcome) -> Recording:
    return outcome.recording


@pytest.fixture(scope="module")
def without_workers(train: Train) -> Recording:
    return train("no-workers", 0, database="run.db").recording


@pytest.fixture(scope="module")
def by_atoms(train: Train) -> Outcome:
    """Batches are limited by their atoms, by a sampler that packs them once."""
    return train(
        "by-atoms", 0, "-r", "architecture.training.max_atoms_per_batch=100",
        database="run.db",
    )  # fmt: skip


def epochs(outcome: Outcome) -> list[str]:
    """What the training printed of each epoch, without the time of day."""
    text = outcome.out + outcome.err
    return re.findall(r"Epoch: .*", text)


def tensors(value: Any) -> Iterator[bytes]:
    """The bytes of all tensors in what a checkpoint holds."""
    if hasattr(value, "numpy"):
        yield value.detach().numpy().tobytes()
    elif isinstance(value, dict):
        for key, item in value.items():
            # metatrain makes these tables of all elements by torch.empty and sets the
            # entries of those in the data: the rest is what was in memory.
            if not str(key).endswith("type_to_index"):
                yield from tensors(item)


def test_losses_and_weights_are_the_same_to_the_bit(
    plain: Outcome, outcome: Outcome
) -> None:
    torch = pytest.importorskip("torch")
    pytest.importorskip("metatomic.torch")  # whose classes a checkpoint holds
    assert len(epochs(plain)) == EPOCHS
    assert epochs(outcome) == epochs(plain)
    one, other = (
        torch.load(run.folder / "model.ckpt", weights_only=False)
        for run in (plain, outcome)
    )
    for key in ("best_model_state_dict", "optimizer_state_dict"):
        weights = list(tensors(one[key]))
        assert len(weights) > 10
        assert list(tensors(other[key])) == weights


def test_nothing_is_said_on_stderr(outcome: Outcome) -> None:
    assert outcome.warnings == []


@pytest.mark.parametrize("kind", ["recording", "without_workers"])
def test_training_steps_are_train_batches_are_train_collates(
    request: pytest.FixtureRequest, kind: str
) -> None:
    recording: Recording = request.getfixturevalue(kind)
    for stage in ("loader", "step", "backward", "optimizer", "collate", "fetch"):
        assert recording.count(stage, phase="train") >= EPOCHS * TRAIN, stage
    for stage in ("loader", "step", "unpack", "h2d", "forward", "loss", "backward"):
        assert recording.count(stage, phase="train") == EPOCHS * TRAIN, stage
    ended = recording.of("loader", phase="train")
    fetched = {(row.iterator, row.batch) for row in recording.of("collate")}
    assert {(row.iterator, row.batch) for row in ended} <= fetched
    assert [row.step for row in recording.of("step", phase="train")] == list(
        range(EPOCHS * TRAIN)
    )


def test_each_batch_is_collated_once(recording: Recording) -> None:
    phases = {
        row.number: row.phase for row in recording.iterators if row.role == "main"
    }
    used = [
        row for row in recording.of("collate", role="worker") if phases[row.iterator]
    ]
    train = [row for row in used if phases[row.iterator] == "train"]
    assert len(train) == EPOCHS * TRAIN
    # Prefetched for an epoch that never came: known as belonging to no phase.
    unused = [row.number for row in recording.iterators if row.role == "main"
              and row.phase is None and row.first_wait_ns is None]  # fmt: skip
    assert unused


def test_validation_and_what_fits_the_baselines_are_apart(recording: Recording) -> None:
    names = {row.number: row.name for row in recording.loaders if row.role == "main"}
    first_train = min(row.start_ns for row in recording.of("step", phase="train"))
    before = {
        names[row.loader]
        for row in recording.of("loader")
        if row.start_ns < first_train and row.phase == "evaluation"
    }
    assert {re.sub(r":\d+", "", name) for name in before} == {
        "Dataset at composition/trainer.py",
        "Dataset at scaler/trainer.py",
    }
    validation = [
        row
        for row in recording.of("step", phase="evaluation")
        if "pet/trainer.py" in names[row.loader]
    ]
    assert len(validation) == EPOCHS * VALIDATION


def test_collate_is_told_to_its_parts(recording: Recording) -> None:
    (training_loader,) = {row.loader for row in recording.of("loader", phase="train")}
    collates = recording.of("collate", role="worker", loader=training_loader)
    for collate in collates:
        inside = [
            row
            for row in recording.intervals
            if row.process == collate.process
            and row.tid == collate.tid
            and collate.start_ns <= row.start_ns <= row.end_ns <= collate.end_ns
            and row.depth == collate.depth + 1
        ]
        assert [row.stage for row in sorted(inside, key=lambda r: r.start_ns)] == [
            "group_and_join",
            "transforms",
            "serialize",
        ]


def test_five_closures_of_one_name_are_five_transforms(recording: Recording) -> None:
    (training_loader,) = {row.loader for row in recording.of("loader", phase="train")}
    stages = recording.stages(role="worker", loader=training_loader)
    transforms = {
        name: n for name, n in stages.items() if name.startswith("transforms/")
    }
    assert sorted(transforms) == [
        "transforms/apply_random_augmentations",
        "transforms/get_prepare_atomic_basis_targets_transform.transform",
        "transforms/get_remove_additive_transform.transform",
        "transforms/get_remove_scale_transform.transform",
        "transforms/get_system_with_neighbor_lists_transform.transform",
    ]
    assert set(transforms.values()) == {stages["collate"]}


def test_structures_and_atoms_are_counted(recording: Recording) -> None:
    iterators = {row.iterator for row in recording.of("step", phase="train")}
    totals = {
        name: sum(
            row.value
            for row in recording.counters
            if row.name == name and row.iterator in iterators
        )
        for name in ("structures", "atoms")
    }
    assert totals["structures"] == EPOCHS * TRAIN * 8
    assert totals["atoms"] % 4 == 0  # of cells of 16, 32 and 48 atoms
    assert totals["atoms"] >= 16 * totals["structures"]


def test_batches_by_atoms_differ_in_size_and_are_packed_once(by_atoms: Outcome) -> None:
    # One sampler of the training set, one of the validation set.
    assert by_atoms.recording.count("sampler_setup") == 2
    report = Run(by_atoms.database).report()
    (setup,) = [
        row for row in report["run_time"]["rows"] if row["what"] == "sampler_setup"
    ]
    assert setup["total_s"] > 0
    (phase,) = [phase for phase in report["phases"] if phase["name"] == "train"]
    counters = {row["name"]: row for row in phase["counters"]}
    busy_s = sum(
        row["total_s"]
        for row in phase["stages"]
        if row["level"] == 0 and row["stage"] in ("loader", "step")
    )
    for name in ("structures", "atoms"):
        counted, spread = counters[name], counters[name]["per_batch"]
        assert counted["each_s"] * counted["total"] == pytest.approx(busy_s, rel=1e-6)
        assert spread["batches"] == phase["steps"]
        assert spread["min"] <= spread["median"] <= spread["max"]
        assert spread["min"] < spread["max"]
    assert counters["structures"]["total"] == EPOCHS * 32
    assert 48 < counters["atoms"]["per_batch"]["max"] <= 100


def test_forward_is_of_the_step_not_of_a_transform(recording: Recording) -> None:
    assert recording.count("forward", role="worker") == 0
    for row in recording.of("forward", phase="train"):
        parent = recording.parent(row)
        assert parent is not None
        assert parent.stage == "step"


def test_the_end_of_an_epoch_holds_the_start_of_the_next_workers(
    recording: Recording,
) -> None:
    ends = recording.of("loader_end", phase="train")
    assert len(ends) == EPOCHS
    for end in ends:
        inside = {
            row.stage
            for row in recording.of("worker_start") + recording.of("worker_stop")
            if end.start_ns <= row.start_ns <= row.end_ns <= end.end_ns
        }
        assert inside == {"worker_start", "worker_stop"}


def test_all_of_a_pass_was_taken(recording: Recording) -> None:
    for row in recording.iterators:
        if row.role == "main" and row.phase == "train":
            assert row.exhausted == 1


def test_options_and_versions_are_noted(recording: Recording) -> None:
    facts = recording.facts
    assert facts["metatrain.architecture.name"] == "pet"
    assert facts["metatrain.batch_size"] == "8"
    assert facts["metatrain.num_epochs"] == str(EPOCHS)
    assert facts["metatrain.num_workers"] == "2"
    assert facts["metatrain.seed"] == "42"
    assert facts["metatrain.version"].startswith("2026.")
    assert facts["torch.version"].startswith("2.")


def test_little_of_a_step_and_of_a_fetch_is_unattributed(recording: Recording) -> None:
    for stage, phase, most in (("step", "train", 0.25), ("fetch", None, 0.1)):
        rows = recording.of(stage, phase=phase) if phase else recording.of(stage)
        total = sum(row.dur_ns for row in rows)
        inside = sum(
            child.dur_ns
            for row in rows
            for child in recording.intervals
            if child.process == row.process
            and child.tid == row.tid
            and child.depth == row.depth + 1
            and row.start_ns <= child.start_ns <= child.end_ns <= row.end_ns
        )
        # Generous: these steps are tiny, and the machine may be busy.
        assert total * (1 - most) <= inside <= total, stage


def test_a_restart_is_the_next_attempt_of_the_same_job(
    train: Train, outcome: Outcome
) -> None:
    again = train("recorded", 2, "--restart", "model.ckpt", database="run.db")
    runs = {row.uuid: row for row in again.recording.runs if row.attempt is not None}
    assert sorted(row.attempt for row in runs.values()) == [1, 2]
    assert len({row.job for row in runs.values()}) == 1
