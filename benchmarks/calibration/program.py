"""The program that is calibrated, as others call it."""

import json
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class StepDifference:
    """What `mt-analyze diff` says of the step time."""

    verdict: str
    low: float  # of the interval, as a part of the step time
    high: float


class Program:
    """`mt-analyze`; every call is a process of its own."""

    def __init__(self, path: Path) -> None:
        """:param path: of the executable file."""
        self._path = path

    def report(self, run: Path) -> Any:
        """
        The report.

        :param run: file of a run.
        :return: its JSON.
        """
        return self._read("report", run)

    def diff(
        self, before: list[Path], after: list[Path], run_noise: float | None
    ) -> StepDifference:
        """
        The difference of two sides.

        :param before: files of one, a run each.
        :param after: of the other.
        :param run_noise: standard deviation of runs that is given, as a part; None: the
            program has to assume one.
        """
        given = [] if run_noise is None else [f"--run-noise={run_noise}"]
        between = ["--"] if len(before) > 1 else []
        answer = self._read("diff", *given, *before, *between, *after)
        (step,) = (row for row in answer["metrics"] if row["name"] == "step")
        low, high = step["ci"]
        return StepDifference(answer["verdict"], low, high)

    def _read(self, command: str, *arguments: object) -> Any:
        words = [str(self._path), command, "--format=json", *map(str, arguments)]
        done = subprocess.run(words, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise RuntimeError(f"{' '.join(words)} failed:\n{done.stdout}{done.stderr}")
        return json.loads(done.stdout)
