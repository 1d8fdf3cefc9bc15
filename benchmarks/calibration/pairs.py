"""Pairs of sides: made, written, compared, deleted."""

import tempfile
import zlib
from collections.abc import Sequence
from itertools import groupby
from pathlib import Path

import numpy as np

from benchmarks.calibration.cells import Cell, Design
from benchmarks.calibration.made_runs import RunWriter
from benchmarks.calibration.noise_models import Floats
from benchmarks.calibration.program import Program
from benchmarks.calibration.rivals import mann_whitney_finds, welch_finds
from benchmarks.calibration.tally import VERDICTS, Outcome


class PairComparer:
    """Compares pairs of made-up runs; threads may share one."""

    def __init__(self, program: Program, folder: Path, seed: int) -> None:
        """
        Check that the program sees of made runs what is in them.

        :param program: `mt-analyze`.
        :param folder: for files, best in memory.
        :param seed: pairs of another seed are other ones.
        """
        self._program = program
        self._folder = folder
        self._seed = seed
        self._writer = RunWriter(folder)
        self._check()

    def compare(self, cells: Sequence[Cell], number: int) -> dict[Cell, Outcome]:
        """
        Compare a pair in several cells: they have the same noise.

        :param cells: of one design, those of one effect together.
        :param number: of the pair; with the seed and the design it determines all.
        """
        first, second = self._make(cells[0].design, number)
        outcomes = {}
        with tempfile.TemporaryDirectory(dir=self._folder) as folder:
            before = self._write(Path(folder), "a", first)
            for effect, same in groupby(cells, lambda cell: cell.effect):
                slower = [(1 + effect) * run for run in second]
                after = self._write(Path(folder), "b", slower)
                sides = np.concatenate(first), np.concatenate(slower), effect
                welch, mann_whitney = welch_finds(*sides), mann_whitney_finds(*sides)
                for cell in same:
                    said = self._program.diff(before, after, cell.run_noise)
                    if said.verdict not in VERDICTS:
                        raise RuntimeError(f"runs of one workload: {said}")
                    holds = said.low <= effect <= said.high
                    outcomes[cell] = Outcome(said.verdict, holds, welch, mann_whitney)
        return outcomes

    def _make(self, design: Design, number: int) -> tuple[list[Floats], list[Floats]]:
        name = f"{design.model.name} {design.steps} {design.runs}"
        key = zlib.crc32(name.encode())
        random = np.random.default_rng([self._seed, key, number])
        runs = [
            design.model.step_times_ns(random, design.steps)
            for _ in range(2 * design.runs)
        ]
        return runs[: design.runs], runs[design.runs :]

    def _write(self, folder: Path, side: str, runs: list[Floats]) -> list[Path]:
        paths = [folder / f"{side}{i}.db" for i in range(len(runs))]
        for path, step_times_ns in zip(paths, runs, strict=True):
            self._writer.write(path, step_times_ns)
        return paths

    def _check(self) -> None:
        path = self._folder / "check.db"
        self._writer.write(path, np.linspace(30e6, 50e6, 101))
        (phase,) = self._program.report(path)["phases"]
        path.unlink()
        assert phase["name"] == "train"
        assert phase["steps"] == 101
        stages = {row["stage"]: row for row in phase["stages"]}
        assert stages["backward"]["calls"] == 101
        assert abs(stages["loader"]["total_s"] - 101 * 0.008) < 1e-6
        assert abs(stages["step"]["total_s"] - 101 * 0.032) < 1e-6
