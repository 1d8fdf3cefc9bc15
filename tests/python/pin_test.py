"""Page-locked memory, on a machine that has no accelerator to lock it for."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.python.support.recording import WORKLOADS, Outcome

pytestmark = pytest.mark.torch

# What torch asks of an accelerator before it starts a pin thread, and the copy itself.
PRETENCE = """
import runpy, sys, types
import torch
torch.accelerator.is_available = lambda: True
pretended = types.SimpleNamespace(type="cuda")
# The optimizers ask with an argument, and shall not be fooled.
torch.accelerator.current_accelerator = lambda **asks: None if asks else pretended
torch.accelerator.current_device_index = lambda: 0
torch.accelerator.set_device_index = lambda index: None
torch.Tensor.pin_memory = lambda self, *a: self.clone()
runpy.run_path(sys.argv.pop(1), run_name="__main__")
"""


@pytest.mark.parametrize("workers", [0, 2])
def test_pinning_is_recorded_where_it_happens(
    record: Callable[..., Outcome], tmp_path: Path, workers: int
) -> None:
    script = tmp_path / "pretend.py"
    script.write_text(PRETENCE)
    command = [script, WORKLOADS / "train.py", "--pin", "--workers", workers]
    if workers:
        command.append("--persistent")
    plain = record(*command, database=None)
    outcome = record(*command)
    assert outcome.out == plain.out
    assert outcome.warnings == []
    recording = outcome.recording
    batches = sorted((row.iterator, row.batch) for row in recording.of("loader"))
    assert len(batches) == 10
    assert sorted((row.iterator, row.batch) for row in recording.of("pin")) == batches
    waiting = {row.tid for row in recording.of("loader")}
    pinning = {row.tid for row in recording.of("pin")}
    if workers:
        assert not pinning & waiting
        assert {row.tid for row in recording.of("receive")} == pinning
        assert (
            sorted((row.iterator, row.batch) for row in recording.of("receive"))
            == batches
        )
    else:
        assert pinning == waiting
