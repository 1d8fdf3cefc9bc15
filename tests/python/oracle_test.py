"""Waits and their causes, as reported, against what follows by arithmetic."""

import json
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

from metatrain_timing import Run
from tests.python.support.again import holds
from tests.python.support.oracle import Config, work_out
from tests.python.support.recording import Outcome
from tests.python.support.stamps import Loop, read_stamps

pytestmark = pytest.mark.torch

CONFIGS = [
    Config(workers=0),
    Config(workers=0, step_ms=40),
    Config(workers=0, slow_every=6, slow_batch=5),
    Config(workers=0, sampler_ms=10),
    Config(workers=1, prefetch=1),
    Config(workers=1),
    Config(workers=1, prefetch=4),
    Config(workers=1, step_ms=19),
    Config(workers=1, step_ms=30),
    Config(workers=1, sampler_ms=8),
    Config(workers=1, prefetch=1, slow_every=5, slow_batch=4),
    Config(workers=2, prefetch=1),
    Config(workers=2),
    Config(workers=2, prefetch=4),
    Config(workers=2, step_ms=4),
    Config(workers=2, step_ms=9.5),
    Config(workers=2, in_order=False, step_ms=4),
    Config(workers=2, persistent=True, step_ms=4),
    Config(workers=2, slow_worker=3),
    Config(workers=2, slow_worker=3, in_order=False),
    Config(workers=2, slow_worker=3, prefetch=4, step_ms=4),
    Config(workers=2, slow_every=6, slow_batch=6),
    Config(workers=2, slow_every=6, slow_batch=6, in_order=False),
    Config(workers=2, sampler_ms=8),
    Config(workers=2, sampler_ms=8, in_order=False, step_ms=4),
    Config(workers=4, prefetch=1, step_ms=2),
    Config(workers=4, step_ms=2),
    Config(workers=4, prefetch=4, step_ms=2),
    Config(workers=4, slow_worker=8, step_ms=4),
    Config(workers=4, slow_worker=8, step_ms=4, in_order=False),
    Config(workers=4, slow_every=8, slow_batch=10, step_ms=3),
    Config(workers=4, slow_every=8, slow_batch=10, step_ms=3, prefetch=1),
    Config(workers=8, dataset_ms=60, step_ms=3, steps=40),
    Config(workers=8, dataset_ms=60, step_ms=3, steps=40, prefetch=1),
    Config(workers=8, dataset_ms=60, step_ms=3, steps=40, slow_worker=3),
]

# Batches take their time to be handed over, and a wake-up may be late.
PER_STEP_MS = 2.0
SHARE = 0.03


@dataclass(frozen=True)
class Measured:
    """What was recorded of one loop, and what its own clock said."""

    phase: dict[str, Any]
    """Of the report."""
    loop: Loop

    def causes_ms(self) -> dict[tuple[str, str], float]:
        """Of the report, by cause and stage, workers put together."""
        found: dict[tuple[str, str], float] = defaultdict(float)
        for cause in self.phase["wait_causes"]:
            found[cause["cause"], cause["stage"] or ""] += 1000 * cause["total_s"]
        return found


Measure = Callable[[list[Config]], list[Measured]]


@pytest.fixture(scope="module")
def measure(
    record_once: Callable[..., Outcome], tmp_path_factory: pytest.TempPathFactory
) -> Measure:
    """Record loops, one after the other."""

    def run(configs: list[Config]) -> list[Measured]:
        file = tmp_path_factory.mktemp("oracle") / "configs.json"
        file.write_text(json.dumps([config.as_json() for config in configs]))
        outcome = record_once("oracle.py", file)
        assert outcome.warnings == []
        phases = {p["name"]: p for p in Run(outcome.database).report()["phases"]}
        loops = read_stamps(file.with_suffix(".stamps"))
        return [Measured(phases[f"c{n:02}"], loops[n]) for n in range(len(configs))]

    return run


@pytest.fixture(scope="module")
def measured(measure: Measure) -> list[Measured]:
    return measure(CONFIGS)


def check_what_the_clock_saw(config: Config, one: Measured) -> None:
    seen, found = one.loop.waits(), one.causes_ms()
    assert one.phase["steps"] == config.steps
    allowed = max(SHARE * seen.total_ms, PER_STEP_MS * config.steps)
    assert 1000 * one.phase["exposed_wait_s"] == pytest.approx(
        seen.total_ms, abs=allowed
    )
    assert sum(found.values()) == pytest.approx(1000 * one.phase["exposed_wait_s"])
    # What the loop's clock could not see: an idle worker, and a batch on its way.
    for key in {*found, *seen.causes} - {("worker_idle", "worker_idle")}:
        assert found[key] == pytest.approx(seen.causes[key], abs=allowed), key


def check_what_arithmetic_gives(config: Config, one: Measured) -> None:
    waits = work_out(config, one.loop.starts(), one.loop.lengths())
    allowed = max(SHARE * waits.total_ms, PER_STEP_MS * config.steps)
    # Where wake-ups were late, arithmetic says nothing of this loop.
    allowed += abs(one.loop.waits().total_ms - waits.total_ms)
    found = one.causes_ms()
    for key in {*found, *waits.causes}:
        assert found[key] == pytest.approx(waits.causes.get(key, 0), abs=allowed), key

    # Even workers are level: which of two is ahead, a late wake-up decides.
    if config.workers > 1 and config.slow_worker == 1 and config.slow_batch == 1:
        return
    held_ms = sum(1000 * cause["head_of_line_s"] for cause in one.phase["wait_causes"])
    assert held_ms == pytest.approx(waits.head_of_line_ms, abs=allowed)


CHECKS = {
    "the loop's own clock": check_what_the_clock_saw,
    "arithmetic": check_what_arithmetic_gives,
}


@pytest.mark.parametrize("number", range(len(CONFIGS)))
@pytest.mark.parametrize("by", CHECKS)
def test_waits_have_the_causes_that_are_known(
    measured: list[Measured], measure: Measure, by: str, number: int
) -> None:
    config = CONFIGS[number]
    holds(
        lambda one: CHECKS[by](config, one),
        lambda: measure([config])[0],
        measured[number],
    )
