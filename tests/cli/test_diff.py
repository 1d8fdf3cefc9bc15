"""`mt-analyze diff` on recordings made by SQL, whose answers are worked out."""

import json
import math
import random
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.json_schema import check_schema, keys_not_in
from tests.support.made_run import MadeRun

ROOT = Path(__file__).resolve().parents[2]
SCHEMA = ROOT / "analyzer" / "schemas" / "diff.json"

Answer = Callable[..., dict[str, Any]]


def training(
    uuid: str,
    *,
    seed: int = 0,
    steps: int = 120,
    forward_ms: float = 10,
    noise: float = 0.05,
    **options: Any,
) -> MadeRun:
    """Steps of 36 ms: 4 of waiting, 10 forward, 20 backward, 2 optimizer."""
    draw = random.Random(seed or uuid)

    def times(ms: float) -> list[float]:
        return [ms * (1 + noise * draw.uniform(-1, 1)) for _ in range(steps)]

    stages = {
        "forward": times(forward_ms),
        "backward": times(20),
        "optimizer": times(2),
    }
    return MadeRun(uuid, times(4), stages, **options)


@pytest.fixture(autouse=True)
def no_noise_is_known(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("METATRAIN_TIMING_NOISE", str(tmp_path / "noise.json"))


@pytest.fixture
def run_diff(program: str) -> Callable[..., "subprocess.CompletedProcess[str]"]:
    def run(*arguments: object) -> "subprocess.CompletedProcess[str]":
        command = [program, "diff", *map(str, arguments)]
        return subprocess.run(command, capture_output=True, text=True, check=False)

    return run


@pytest.fixture
def diff(run_diff: Callable[..., "subprocess.CompletedProcess[str]"]) -> Answer:
    def run(*arguments: object) -> dict[str, Any]:
        done = run_diff(*arguments, "--format", "json", "--run-noise", "0.1%")
        assert done.returncode == 0, done.stderr
        answer: dict[str, Any] = json.loads(done.stdout)
        return answer

    return run


def metric(answer: dict[str, Any], name: str, stage: str | None = None) -> Any:
    (found,) = (
        m for m in answer["metrics"] if (m["name"], m["stage"]) == (name, stage)
    )
    return found


def numbers(part: Any) -> Iterator[float]:
    if isinstance(part, dict):
        part = list(part.values())
    if isinstance(part, list):
        for one in part:
            yield from numbers(one)
    elif isinstance(part, (int, float)):
        yield part


def test_a_slower_stage_is_the_cause(tmp_path: Path, diff: Answer) -> None:
    before = training("a").write(tmp_path / "a.db")
    after = training("b", forward_ms=12).write(tmp_path / "b.db")
    answer = diff(before, after)
    assert answer["verdict"] == "regressed"
    step = metric(answer, "step")
    assert step["rel"] == pytest.approx(2 / 36, abs=0.006)
    assert step["ci"][0] < step["rel"] < step["ci"][1]
    forward = metric(answer, "stage", "step/forward")
    assert forward["contrib_ms"] == pytest.approx(2, abs=0.1)
    assert forward["verdict"] == "regressed"
    tops = [metric(answer, "stage", top)["contrib_ms"] for top in ("loader", "step")]
    assert sum(tops) == pytest.approx(step["contrib_ms"], abs=1e-6)
    assert "`forward` +2" in answer["text"][1]


def test_what_is_printed_is_what_the_schema_promises(
    tmp_path: Path, diff: Answer
) -> None:
    answer = diff(
        training("a").write(tmp_path / "a.db"),
        training("b", steps=30).write(tmp_path / "b.db"),
    )
    check_schema(answer, SCHEMA)
    assert answer["verdict"] == "inconclusive"
    assert answer["metrics"][0]["needed"]["steps"] > 0


def test_docs_explain_every_key() -> None:
    assert keys_not_in((ROOT / "docs" / "diff.md").read_text(), SCHEMA) == []


def test_a_run_against_itself_is_no_difference(
    tmp_path: Path,
    diff: Answer,
    run_diff: Callable[..., "subprocess.CompletedProcess[str]"],
) -> None:
    path = training("a").write(tmp_path / "a.db")
    answer = diff(path, path)
    assert answer["verdict"] == "same"
    for one in answer["metrics"]:
        assert one["delta"] == 0, one
    assert [warning["code"] for warning in answer["warnings"]] == ["same_run"]
    done = run_diff(path, path)
    assert done.stderr.count("\n") == 1
    assert done.stdout == run_diff(path, path).stdout, "not the same text twice"


@pytest.mark.parametrize("steps", [1, 2, 3])
@pytest.mark.parametrize("noise", [0, 0.05])
def test_runs_of_few_or_constant_steps_hold_no_strange_number(
    tmp_path: Path, diff: Answer, steps: int, noise: float
) -> None:
    before = training("a", steps=steps, noise=noise)
    after = training("b", steps=steps, noise=noise, forward_ms=40)
    answer = diff(before.write(tmp_path / "a.db"), after.write(tmp_path / "b.db"))
    assert answer["verdict"] == "inconclusive"
    assert all(map(math.isfinite, numbers(answer)))


def test_stages_of_zeros_and_of_one_side(tmp_path: Path, diff: Answer) -> None:
    def run(uuid: str, **stages: float) -> Path:
        one = training(uuid, noise=0)
        more = {name: [ms] * 120 for name, ms in stages.items()}
        made = MadeRun(uuid, one.waits_ms, {**one.stages_ms, **more})
        return made.write(tmp_path / f"{uuid}.db")

    answer = diff(run("a", idle=0, nothing=0), run("b", check=3, idle=12, nothing=0))
    nothing = metric(answer, "stage", "step/nothing")
    assert (nothing["a"], nothing["b"], nothing["delta"]) == (0, 0, 0)
    assert nothing["verdict"] == "same"
    idle = metric(answer, "stage", "step/idle")
    assert (idle["a"], idle["rel"]) == (0, None)
    assert idle["delta"] == pytest.approx(0.012)
    check = metric(answer, "stage", "step/check")
    assert (check["a"], check["rel"], check["verdict"]) == (None, None, "new")
    assert all(map(math.isfinite, numbers(answer)))


def test_warm_up_is_left_out(tmp_path: Path, diff: Answer) -> None:
    warm_up = [79_000, 610, 115, 106]

    def run(uuid: str) -> Path:
        steps_ms = [*warm_up, *[100] * 56]
        stages = {"backward": [0.9 * ms for ms in steps_ms]}
        made = MadeRun(uuid, [0.1 * ms for ms in steps_ms], stages)
        return made.write(tmp_path / f"{uuid}.db")

    answer = diff(run("a"), run("b"))
    assert answer["verdict"] == "same"
    step = metric(answer, "step")
    assert step["a"] == pytest.approx(0.1, rel=1e-4)
    assert metric(answer, "median")["b"] == pytest.approx(0.1, rel=1e-4)
    assert answer["excluded"]["warm_up_steps"][0] >= 3
    # the first step begins the epoch; the others are warm-up
    parts = answer["per_step"]
    assert parts["epoch_start"]["a"] * 60 == pytest.approx(79 - 0.1, rel=1e-4)
    assert parts["warm_up"]["a"] * 60 == pytest.approx(0.51 + 0.015 + 0.006, rel=1e-3)
    others = sum(parts[name]["a"] for name in parts if name != "wall")
    assert others == pytest.approx(parts["wall"]["a"])


CPU = {
    "metatrain.device": "cpu",
    "metatrain.num_epochs": "2",
    "torch.version": "2.12.0",
    "git.commit": "aaaa",
}
CUDA = {
    "metatrain.device": "cuda",
    "metatrain.num_epochs": "6",
    "torch.version": "2.13.0",
    "git.commit": "bbbb",
}


def test_other_work_is_not_comparable_and_says_why(
    tmp_path: Path,
    run_diff: Callable[..., "subprocess.CompletedProcess[str]"],
) -> None:
    before = training("a", environment=CPU, batch_size=8).write(tmp_path / "a.db")
    after = training("b", environment=CUDA, batch_size=16, forward_ms=3)
    paths = (before, after.write(tmp_path / "b.db"), "--run-noise=0.1%")
    done = run_diff(*paths)
    assert done.returncode == 0
    assert done.stdout.startswith("NOT COMPARABLE")
    for word in ("metatrain.device cpu -> cuda", "batch_size 8 -> 16", "aaaa -> bbbb"):
        assert word in " ".join(done.stdout.split()), word
    assert "forward" in done.stdout, "the tables are shown all the same"
    gated = run_diff(*paths, "--fail-on", "regressed", "--quiet")
    assert gated.returncode == 4
    forced = run_diff(*paths, "--force", "--quiet")
    assert forced.stdout.startswith("IMPROVED")


def test_batches_of_other_sizes_are_compared_by_structure(
    tmp_path: Path, diff: Answer
) -> None:
    sizes = [8 + i % 5 for i in range(120)]

    def run(uuid: str, factor: int) -> Path:
        times = [0.5 * factor * size for size in sizes]
        made = MadeRun(
            uuid,
            [1.0] * 120,
            {"forward": times, "backward": [2 * ms for ms in times]},
            counted={"structures": [factor * size for size in sizes]},
            batch_size=8 * factor,
        )
        return made.write(tmp_path / f"{uuid}.db")

    answer = diff(run("a", 1), run("b", 2))
    assert answer["unit"]["name"] == "structures"
    assert answer["unit"]["a"] == pytest.approx(10, rel=0.01)
    assert answer["unit"]["b"] == pytest.approx(20, rel=0.01)
    step = metric(answer, "step")
    assert step["per"] == "structures"
    # 1 ms of waiting for 10 structures, then for 20
    assert step["a"] == pytest.approx(0.0016, rel=0.01)
    assert step["b"] == pytest.approx(0.00155, rel=0.01)
    assert answer["comparable"]["ok"]


def test_a_counter_that_misses_steps_divides_nothing(
    tmp_path: Path, diff: Answer
) -> None:
    before = training("a", counted={"samples": [8.0] * 120})
    after = training("b", counted={"samples": [8.0, 8.0, 0.0] * 40})
    answer = diff(before.write(tmp_path / "a.db"), after.write(tmp_path / "b.db"))
    assert answer["unit"] is None
    assert answer["verdict"] == "same"


def test_a_stall_in_some_steps_is_said(tmp_path: Path, diff: Answer) -> None:
    before = training("a").write(tmp_path / "a.db")
    made = training("b")
    stalls = [ms + (900 if i % 60 == 59 else 0) for i, ms in enumerate(made.waits_ms)]
    after = MadeRun("b", stalls, made.stages_ms).write(tmp_path / "b.db")
    answer = diff(before, after)
    assert answer["verdict"] == "same"
    assert "All in all a step takes 51." in answer["text"][1]
    assert "beyond the 97.5th percentile" in answer["text"][1]


GATES = [
    (("--fail-on", "regressed"), 3),
    (("--fail-on", "improved"), 0),
    (("--fail-on", "inconclusive"), 0),
    (("--gate", "step:2%"), 3),
    (("--gate", "step:10%"), 0),
    (("--gate", "step:6%"), 4),
    (("--gate", "forward:+1ms"), 3),
    (("--gate", "step:10%,step/forward:+3ms"), 0),
    (("--gate", "step:6%,forward:+1ms"), 3),
]


@pytest.mark.parametrize(("options", "code"), GATES)
def test_gates_end_with_their_codes(
    tmp_path: Path,
    run_diff: Callable[..., "subprocess.CompletedProcess[str]"],
    options: tuple[str, str],
    code: int,
) -> None:
    before = training("a").write(tmp_path / "a.db")
    after = training("b", forward_ms=12).write(tmp_path / "b.db")
    done = run_diff(before, after, "--run-noise=0.1%", "--quiet", *options)
    assert done.returncode == code, done.stdout
    assert done.stdout.startswith("REGRESSED")
    assert done.stdout.count("\n") == 1


def test_several_runs_a_side(tmp_path: Path, diff: Answer) -> None:
    sides = [
        [
            training(f"{side}{i}", forward_ms=ms).write(tmp_path / f"{side}{i}.db")
            for i in range(3)
        ]
        for side, ms in (("a", 10), ("b", 13))
    ]
    answer = diff(*sides[0], "--", *sides[1])
    assert answer["verdict"] == "regressed"
    assert len(answer["baseline"]) == len(answer["candidate"]) == 3


def test_it_does_not_matter_in_which_file_a_rank_is(
    tmp_path: Path, diff: Answer, program: str
) -> None:
    before = training("a", steps=80, ranks=2).write(tmp_path / "a.db")
    ranks = [
        training("b", seed=rank + 1, steps=80, forward_ms=12, rank=rank, ranks=2)
        for rank in (0, 1)
    ]
    answers = []
    for name, order in (("one", ranks), ("other", ranks[::-1])):
        folder = tmp_path / name
        (folder / "b.db.d").mkdir(parents=True)
        after = order[0].write(folder / "b.db")
        order[1].write(folder / "b.db.d" / "rank.db")
        answers.append(diff(before, after, "--force"))
    merged = tmp_path / "merged.db"
    subprocess.run([program, "merge", after, "-o", merged], check=True)
    answers.append(diff(before, merged, "--force"))
    assert answers[0]["verdict"] == "regressed"
    assert answers[0]["candidate"][0]["steps"] == 80
    for answer in answers:
        assert answer["metrics"] == answers[0]["metrics"]
        assert answer["per_step"] == answers[0]["per_step"]


@pytest.mark.parametrize("form", ["text", "markdown", "csv"])
def test_other_forms_say_the_verdict(
    tmp_path: Path,
    run_diff: Callable[..., "subprocess.CompletedProcess[str]"],
    form: str,
) -> None:
    before = training("a").write(tmp_path / "a.db")
    after = training("b", forward_ms=12).write(tmp_path / "b.db")
    done = run_diff(before, after, "--run-noise=0.1%", "--format", form)
    assert done.returncode == 0, done.stderr
    assert "regressed" in done.stdout
    assert "forward" in done.stdout
    if form == "text":
        assert max(map(len, done.stdout.splitlines())) <= 80


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (("a.db",), 2, "give two runs"),
        (("a.db", "b.db", "a.db"), 2, "with one --"),
        (("a.db", "--", "b.db", "--", "b.db"), 2, "with one --"),
        (("--", "b.db"), 2, "give two runs"),
        (("a.db", "a.db", "--", "b.db"), 2, "there twice"),
        (("a.db", "nothing.db"), 1, "nothing.db"),
        (("a.db", "empty.db"), 1, "nothing to compare"),
        (("a.db", "text.db"), 1, "text.db"),
        (("a.db", "b.db", "--phase", "evaluation"), 1, "evaluation"),
        (("a.db", "b.db", "--gate", "step"), 2, "METRIC:LIMIT"),
        (("a.db", "b.db", "--gate", "nothing:2%"), 2, "no such metric or stage"),
        (("a.db", "b.db", "--fail-on", "slower"), 2, "--fail-on slower"),
        (("a.db", "b.db", "--min-effect", "-1"), 2, "--min-effect -1"),
        (("a.db", "b.db", "--run-noise", "much"), 2, "--run-noise much"),
    ],
)
def test_a_question_without_sense_is_one_line(
    tmp_path: Path,
    program: str,
    arguments: tuple[str, ...],
    code: int,
    words: str,
) -> None:
    training("a").write(tmp_path / "a.db")
    training("b").write(tmp_path / "b.db")
    MadeRun("e", [], {"backward": []}).write(tmp_path / "empty.db")
    (tmp_path / "text.db").write_text("not a database" * 100)
    done = subprocess.run(
        [program, "diff", *arguments],
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
    )
    assert done.returncode == code, done.stderr
    assert done.stdout == ""
    errors = [line for line in done.stderr.splitlines() if "warning" not in line]
    assert len(errors) == 1
    assert words in errors[0]
