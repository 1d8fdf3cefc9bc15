"""Which waits and bodies belong together, in loops of all shapes."""

from collections.abc import Callable

import pytest

from tests.python.support.recording import Outcome, Recording, Row

pytestmark = pytest.mark.torch


@pytest.fixture(scope="module")
def recording(record_once: Callable[..., Outcome]) -> Recording:
    outcome = record_once("loops.py")
    assert outcome.warnings == []
    return outcome.recording


@pytest.fixture
def scenario(recording: Recording, request: pytest.FixtureRequest) -> "Scenario":
    return Scenario(recording, request.node.name.removeprefix("test_"))


class Scenario:
    """What was recorded while a scenario of the workload ran."""

    def __init__(self, recording: Recording, name: str) -> None:
        (around,) = recording.of(f"scenario/{name}")
        self.around = around
        self.rows = sorted(
            (
                row
                for row in recording.intervals
                if around.start_ns <= row.start_ns <= row.end_ns <= around.end_ns
                and row is not around
            ),
            key=lambda row: (row.start_ns, row.depth),
        )
        self._phases = {
            row.number: row.phase for row in recording.iterators if row.role == "main"
        }
        self._exhausted = {
            row.number: row.exhausted
            for row in recording.iterators
            if row.role == "main"
        }

    def of(self, stage: str) -> list[Row]:
        return [row for row in self.rows if row.stage == stage]

    def sequence(self, *stages: str) -> str:
        """The stages in order, by their initials: `l` for a wait, `s` for a body."""
        return "".join(row.stage[0] for row in self.rows if row.stage in stages)

    @property
    def turns(self) -> str:
        return self.sequence("loader", "step")

    def phases(self, stage: str = "loader") -> list[str]:
        """Phases of the passes waited for, each once, in order."""
        numbers = dict.fromkeys(row.iterator for row in self.of(stage))
        return [self._phases[number] for number in numbers]

    def exhausted(self) -> list[int]:
        numbers = dict.fromkeys(row.iterator for row in self.of("loader"))
        return [self._exhausted[number] for number in numbers]

    @property
    def steps(self) -> int:
        """Training steps done in the scenario's bodies."""
        steps = [row.step for row in self.of("step")]
        return int(steps[-1] - steps[0] + 1)


def test_zipped(scenario: Scenario) -> None:
    # The last request finds the first loader empty.
    assert scenario.turns == "lls" * 4
    waits = scenario.of("loader")
    # A body is known by the first wait of its turn.
    assert [(row.iterator, row.batch) for row in scenario.of("step")] == [
        (row.iterator, row.batch) for row in waits[::2]
    ]
    assert scenario.phases() == ["train", "train"]
    assert scenario.steps == 4
    assert len(scenario.of("loader_end")) == 1


def test_nested_validation(scenario: Scenario) -> None:
    assert scenario.turns == "ls" + "ls" + "lslsls" + "ls" + "ls" + "lslsls"
    assert scenario.phases() == ["train", "evaluation", "evaluation"]
    depths = [row.depth for row in scenario.of("step")]
    outer = scenario.around.depth + 1
    assert depths == [outer] * 2 + [outer + 1] * 3 + [outer] * 2 + [outer + 1] * 3
    assert scenario.steps == 4


def test_nested_validation_left_early(scenario: Scenario) -> None:
    assert scenario.turns == "ls" + "ls" + ("ls" + "ls") * 2
    # Each validation was left before its training step: that is not of its body.
    assert scenario.phases() == ["train", "evaluation", "evaluation", "evaluation"]
    assert len(scenario.of("optimizer")) == 3


def test_break_out(scenario: Scenario) -> None:
    assert scenario.turns == "ls" * 3
    assert scenario.steps == 3
    assert scenario.exhausted() == [0]
    assert all(row.dur_ns < 50_000_000 for row in scenario.of("step")[1:])


def test_break_out_of_persistent(scenario: Scenario) -> None:
    assert scenario.turns == ("ls" * 3 + "ls" * 2) * 2
    assert scenario.phases() == ["train", "evaluation"] * 2
    assert scenario.exhausted() == [0, 1, 0, 1]
    assert {row.depth for row in scenario.of("step")} == {scenario.around.depth + 1}


def test_exception(scenario: Scenario) -> None:
    assert scenario.turns == "ls" * 3
    assert len(scenario.of("optimizer")) == 2
    assert scenario.exhausted() == [0]


def test_generator(scenario: Scenario) -> None:
    assert scenario.turns == "ls" * 10
    assert scenario.phases() == ["train"] * 3
    assert scenario.exhausted() == [1, 1, 0]
    assert scenario.steps == 10


def test_zipped_generators(scenario: Scenario) -> None:
    # The last round asks both before the range says that it is over.
    assert scenario.turns.startswith("lls" * 4)
    assert scenario.phases() == ["train", "train"]


def test_next_in_a_method(scenario: Scenario) -> None:
    assert scenario.turns == "ls" * 4
    assert scenario.phases() == ["train"]
    assert scenario.steps == 4


def test_next_in_a_loop_then_for(scenario: Scenario) -> None:
    assert scenario.turns == "ls" * 3 + "ls" * 4
    assert scenario.phases() == ["evaluation", "train"]
    assert {row.depth for row in scenario.of("step")} == {scenario.around.depth + 1}
    assert scenario.of("step")[2].dur_ns >= 50_000_000


@pytest.mark.parametrize(
    ("name", "turns"), [("next_in_a_for", 4), ("two_next_in_a_while", 3)]
)
def test_a_second_loader_in_the_body_is_of_the_same_turn(
    recording: Recording, name: str, turns: int
) -> None:
    scenario = Scenario(recording, name)
    assert scenario.turns == "lls" * turns
    assert scenario.phases() == ["train", "train"]
    assert {row.depth for row in scenario.of("step")} == {scenario.around.depth + 1}
    assert scenario.steps == turns


def test_next_in_a_while(scenario: Scenario) -> None:
    assert scenario.turns == "ls" * 4 + "ls" * 2
    assert scenario.phases() == ["train", "evaluation"]
    assert {row.depth for row in scenario.of("step")} == {scenario.around.depth + 1}


def test_prefetching_thread(scenario: Scenario) -> None:
    assert scenario.turns == "l" * 4
    assert {row.tid for row in scenario.of("loader")} != {
        row.tid for row in scenario.of("optimizer")
    }
    # No loop on the training thread: its steps are the optimizer's.
    steps = [row.step for row in scenario.of("optimizer")]
    assert [step - steps[0] for step in steps] == [0, 1, 2, 3]


def test_named_phase(scenario: Scenario) -> None:
    assert scenario.phases() == ["warm-up"]
    assert len(scenario.of("phase/warm-up")) == 1


def test_loader_in_a_data_set(scenario: Scenario) -> None:
    # Two waits of the loop, and in each three of the loader inside.
    assert scenario.turns == "lllls" * 2
    assert scenario.steps == 2
    assert scenario.phases() == ["train", "evaluation", "evaluation"]


def test_timed_iter_over_a_loader(scenario: Scenario) -> None:
    assert scenario.turns == "ls" * 3
    assert len(scenario.of("backward")) == len(scenario.of("optimizer")) == 3
    assert scenario.phases() == ["train"]


def test_timed_iter_with_other_names(scenario: Scenario) -> None:
    assert scenario.sequence("data", "loader", "step", "work") == "dlsw" * 3
    assert scenario.phases() == ["train"]


def test_timed_iter_over_a_list(scenario: Scenario) -> None:
    assert scenario.turns == "ls" * 3
    assert scenario.phases() == ["train"]
    assert scenario.steps == 3


def test_no_loop(scenario: Scenario) -> None:
    assert scenario.turns == ""
    # Two optimizers, three rounds: three steps.
    steps = [row.step for row in scenario.of("optimizer")]
    assert [step - steps[0] for step in steps[::2]] == [0, 1, 2]
    assert steps[-1] - steps[0] == 3
