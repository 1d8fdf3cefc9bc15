"""Reading recorded runs with the analyzer's own code, for notebooks and scripts."""

import json
import os
from collections.abc import Iterable, Mapping
from typing import Any, Union

from . import _native

AnalyzerError = _native.AnalyzerError


def _values(given: object) -> Iterable[object]:
    return given if isinstance(given, Iterable) else (given,)


def _lines_of(paths: Any) -> str:
    one = isinstance(paths, (str, os.PathLike))
    return "\n".join(os.fspath(path) for path in ([paths] if one else paths))


class Run:
    """One recorded run; files are opened read-only, and read again by every call."""

    def __init__(
        self, path: Union[str, "os.PathLike[str]"], run: str | int = ""
    ) -> None:
        """
        Name a run.

        :param path: a run file such as `run.db`, or a folder of run files.
        :param run: which run of it: an index as `mt-analyze runs` shows it, or the
            beginning of a uuid. Default: the newest.
        """
        self._path = os.fspath(path)
        self._options = {"run": str(run)} if run != "" else {}

    def report(self, *, phase: str = "") -> dict[str, Any]:
        """
        The report, as `mt-analyze report --format json` prints it.

        :param phase: show this one only, with verdict and advice about it: "train",
            "evaluation", "before-training" or a name given with `phase()`.
        :raises AnalyzerError: when there is nothing to read, or no such phase.
        """
        report: dict[str, Any] = self._analyze("report", phase=phase)
        return report

    def sql(self, query: str) -> list[dict[str, Any]]:
        """
        Answer a query over the whole run, workers and ranks included.

        :param query: a SELECT over the views of docs/schema.md.
        :return: the rows, each by column name.
        :raises AnalyzerError: when the query fails or there is nothing to read.
        """
        answer = self._analyze("sql", query=query)
        columns = answer["columns"]
        return [dict(zip(columns, row, strict=True)) for row in answer["rows"]]

    def whatif(
        self,
        *,
        num_workers: int | Iterable[int] = (),
        prefetch_factor: int | Iterable[int] = (),
        in_order: bool | Iterable[bool] = (),
        persistent_workers: bool | Iterable[bool] = (),
        pin_memory: bool | Iterable[bool] = (),
        scale: Mapping[str, float] | None = None,
        phase: str = "",
    ) -> dict[str, Any]:
        """
        Predict the step time with other settings of the DataLoader.

        Every combination of the values given, one or several of each, is predicted;
        what is not given stays as it was recorded.

        :param num_workers: numbers of workers to try.
        :param prefetch_factor: prefetch factors to try.
        :param in_order: whether batches keep their order.
        :param persistent_workers: whether workers live on between passes.
        :param pin_memory: whether batches are copied to page-locked memory.
        :param scale: stages made cheaper or dearer: which part of what they took they
            would take, as ``{"collate": 0.5}``.
        :param phase: of which the step time is predicted, as of `report()`; empty:
            the training that took longest, else the longest loop.
        :return: as `mt-analyze whatif --format json` prints it.
        :raises AnalyzerError: when there is nothing to read or to predict.
        """
        lists: dict[str, object] = {
            "num-workers": num_workers,
            "prefetch-factor": prefetch_factor,
            "in-order": in_order,
            "persistent-workers": persistent_workers,
            "pin-memory": pin_memory,
        }
        options = {
            name: ",".join(str(value).lower() for value in _values(given))
            for name, given in lists.items()
        }
        options["phase"] = phase
        options["scale"] = "\n".join(f"{k}={v}" for k, v in (scale or {}).items())
        answer: dict[str, Any] = self._analyze("whatif", **options)
        return answer

    def export(
        self,
        output: Union[str, "os.PathLike[str]"],
        *,
        steps: str = "",
        rank: int | str = "",
    ) -> dict[str, Any]:
        """
        Write the timeline of all processes as a Chrome trace.

        :param output: the file, compressed if it ends with `.gz`; one that exists is
            not overwritten.
        :param steps: these only, both included, as "100:120"; "": all.
        :param rank: this one and its workers only; "": all.
        :return: `intervals`, `bytes` (before compression) and `warnings`.
        :raises AnalyzerError: when there is nothing to read, or no such steps or rank.
        """
        answer: dict[str, Any] = self._analyze(
            "export", output=os.fspath(output), steps=steps, rank=str(rank)
        )
        return answer

    def runs(self) -> list[dict[str, Any]]:
        """
        The runs at this path, as `mt-analyze runs --format json` lists them.

        :raises AnalyzerError: when there is nothing to read.
        """
        text = _native.analyze(self._path, "runs", {})
        runs: list[dict[str, Any]] = json.loads(text)["runs"]
        return runs

    def _analyze(self, command: str, **options: str) -> Any:
        text = _native.analyze(self._path, command, {**self._options, **options})
        return json.loads(text)


def diff(
    before: Union[str, "os.PathLike[str]", Iterable[Union[str, "os.PathLike[str]"]]],
    after: Union[str, "os.PathLike[str]", Iterable[Union[str, "os.PathLike[str]"]]],
    *,
    phase: str = "",
    min_effect: float | str = "",
    run_noise: float | str = "",
    strict: bool = False,
    force: bool = False,
) -> dict[str, Any]:
    """
    Compare runs: whether the second side is faster, and because of which stage.

    :param before: a run file or a folder, with ``@RUN`` for one run of several; or
        several of these, runs in which nothing was changed.
    :param after: the same of the other side.
    :param phase: what to compare. Default: the training.
    :param min_effect: the least difference that matters, as a part of the step time.
    :param run_noise: standard deviation of runs in which nothing was changed, as a part
        of the step time.
    :param strict: say "regressed" only where `min_effect` is surely exceeded.
    :param force: judge runs of different work too.
    :return: as `mt-analyze diff --format json` prints it.
    :raises AnalyzerError: when there is nothing to read or to compare.
    """
    options = {
        "before": _lines_of(before),
        "after": _lines_of(after),
        "phase": phase,
        "min-effect": str(min_effect),
        "run-noise": str(run_noise),
        "strict": str(strict).lower(),
        "force": str(force).lower(),
    }
    answer: dict[str, Any] = json.loads(_native.analyze("", "diff", options))
    return answer


def import_trace(
    traces: Union[str, "os.PathLike[str]", Iterable[Union[str, "os.PathLike[str]"]]],
    output: Union[str, "os.PathLike[str]"],
    *,
    source: str = "chrome",
) -> dict[str, Any]:
    """
    Make a run file of traces that another tool recorded.

    :param traces: Chrome traces, compressed by gzip or not; several are ranks of one
        training.
    :param output: the run file; one that exists is not overwritten.
    :param source: who wrote them: "kineto" (torch.profiler), "viztracer", or "chrome"
        for any other, `Run.export()` too.
    :return: `intervals`, `events` and `warnings`.
    :raises AnalyzerError: when a trace cannot be read.
    """
    options = {"from": source, "output": os.fspath(output)}
    answer: dict[str, Any] = json.loads(
        _native.analyze(_lines_of(traces), "import", options)
    )
    return answer


def history(
    paths: Union[str, "os.PathLike[str]", Iterable[Union[str, "os.PathLike[str]"]]],
    *,
    metric: str = "step",
    phase: str = "",
    by: str = "",
    min_effect: float | str = "",
) -> dict[str, Any]:
    """
    Find when the step time changed over many runs, and because of which stage.

    :param paths: run files, and folders of them at any depth; ``FILE@RUN`` for one of
        several in a file.
    :param metric: "step", "mean", "median", "p95", "p99" or a stage by its path.
    :param phase: of which phase. Default: the training.
    :param by: a setting, as "loader.num_workers", whose values are to be series of
        their own.
    :param min_effect: the least change that is told, as a part.
    :return: as `mt-analyze history --format json` prints it.
    :raises AnalyzerError: when there is nothing to read.
    """
    options = {
        "paths": _lines_of(paths),
        "metric": metric,
        "phase": phase,
        "by": by,
        "min-effect": str(min_effect),
    }
    answer: dict[str, Any] = json.loads(_native.analyze("", "history", options))
    return answer
