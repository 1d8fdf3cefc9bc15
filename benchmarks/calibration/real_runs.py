"""Verdicts of `mt-analyze diff` on real runs: of one training, and with a change in it.

usage: python -m benchmarks.calibration.real_runs [--steps 400] [--build FOLDER]

Records a small training 18 times, in which nothing is changed, learns the noise of runs
from 6 of them, and compares all pairs of the other 12. Then a transform sleeps 3 ms a
batch: with 0 workers that is to be found, with its stage first; with 2 it is hidden.
Needs metatrain-timing and torch in the Python that runs it.
"""

import argparse
import itertools
import json
import os
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

from benchmarks.python.comparison import PROJECT, print_table, progress, say

LOOP = Path(__file__).with_name("real_loop.py")
LEARNED_FROM = 6
COMPARED = 12
MOST_FALSE = 3  # of 66 pairs
SLEEP_MS = 3
WORKERS = (0, 2)


class Recorder:
    """Records trainings into files of one folder and asks `mt-analyze`."""

    def __init__(self, folder: Path, program: Path, steps: int) -> None:
        """
        Set up.

        :param folder: for the files, and for what is learned of the noise.
        :param program: `mt-analyze`.
        :param steps: of each training.
        """
        self._folder = folder
        self._program = program
        self._steps = steps
        self._environment = {
            **os.environ,
            "METATRAIN_TIMING_NOISE": str(folder / "noise.json"),
        }

    def record(self, name: str, workers: int, sleep_ms: float = 0) -> Path:
        """
        Run the training once.

        :param name: of its file.
        :param workers: of its loader.
        :param sleep_ms: what a transform sleeps.
        """
        path = self._folder / f"{name}.db"
        subprocess.run(
            [sys.executable, LOOP, str(self._steps), str(workers), str(sleep_ms)],
            check=True,
            env={**os.environ, "METATRAIN_TIMING_DB": str(path)},
        )
        return path

    def ask(self, command: str, *runs: Path) -> Any:
        """
        The JSON of a command.

        :param command: `noise` or `diff`.
        :param runs: its arguments.
        """
        done = subprocess.run(
            [self._program, command, "--format=json", *runs],
            capture_output=True,
            text=True,
            check=True,
            env=self._environment,
        )
        return json.loads(done.stdout)


def compare_equals(recorder: Recorder, workers: int) -> tuple[list[str], list[Path]]:
    """
    Learn, and compare what is the same.

    :param recorder: makes the runs.
    :param workers: of their loaders.
    :return: a row of the table, and the runs compared.
    """
    paths = []
    for i in range(LEARNED_FROM + COMPARED):
        paths.append(recorder.record(f"same-{workers}-{i}", workers))
        progress(f"workers {workers}: run {i + 1} of {LEARNED_FROM + COMPARED}")
    noise = recorder.ask("noise", *paths[:LEARNED_FROM])
    compared = paths[LEARNED_FROM:]
    verdicts = Counter(
        recorder.ask("diff", a, b)["verdict"]
        for a, b in itertools.combinations(compared, 2)
    )
    false = verdicts["regressed"] + verdicts["improved"]
    row = [
        str(workers),
        f"{100 * noise['sigma_run']:.2g} %",
        *(str(verdicts[word]) for word in ("same", "inconclusive")),
        str(false),
        "yes" if false <= MOST_FALSE else "NO",
    ]
    return row, compared


def find_sleep(recorder: Recorder, workers: int, before: Path) -> list[str]:
    """
    Compare a run with one in which a transform sleeps.

    :param recorder: makes it.
    :param workers: of its loader.
    :param before: the run without.
    :return: a row of the table.
    """
    after = recorder.record(f"sleep-{workers}", workers, SLEEP_MS)
    answer = recorder.ask("diff", before, after)
    stages = [row for row in answer["metrics"] if row["name"] == "stage"]
    (wait,) = (row for row in stages if row["stage"] == "loader")
    leaves = [row for row in stages if "/" in (row["stage"] or "")]
    first = max(leaves, key=lambda row: abs(row["contrib_ms"]))
    made = {
        row["stage"]: row["delta"]
        for row in answer["metrics"]
        if row["name"] == "worker_stage"
    }
    slept = next(
        delta for stage, delta in made.items() if stage.endswith("transforms/neighbors")
    )
    return [
        str(workers),
        answer["verdict"],
        f"{answer['metrics'][0]['contrib_ms']:+.2f}",
        f"{wait['contrib_ms']:+.2f}",
        f"{1000 * slept:+.2f}",
        f"{first['stage']} {first['contrib_ms']:+.2f}",
    ]


def main() -> int:
    """
    Print two tables.

    :return: 1 where too many pairs of the same are said to differ.
    """
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=400)
    parser.add_argument("--build", type=Path, default=PROJECT / "build" / "release")
    options = parser.parse_args()
    program = options.build / "analyzer" / "mt-analyze"
    same, changed = [], []
    with tempfile.TemporaryDirectory() as folder:
        recorder = Recorder(Path(folder), program, options.steps)
        for workers in WORKERS:
            row, compared = compare_equals(recorder, workers)
            same.append(row)
            changed.append(find_sleep(recorder, workers, compared[-1]))
    print_table(
        f"{COMPARED} runs of one training of {options.steps} steps, all pairs",
        ("workers", "noise of runs", "same", "inconclusive", "false", "kept"),
        same,
    )
    print_table(
        f"{SLEEP_MS} ms of sleep in a transform of each batch, in ms a step",
        ("workers", "verdict", "step", "waiting", "making a batch", "first stage"),
        changed,
    )
    say(f"At most {MOST_FALSE} false of 66 pairs.")
    return 1 if any(row[-1] == "NO" for row in same) else 0


if __name__ == "__main__":
    sys.exit(main())
