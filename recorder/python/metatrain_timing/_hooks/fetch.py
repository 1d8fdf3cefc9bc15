"""Reading and collating one batch: in a worker, or in the training process itself."""

import functools
import os
from collections.abc import Callable, Iterator
from typing import Any

from .. import _native, _session
from .._loops import thread
from .._native import begin, cancel, end
from .patching import Point, replace

FETCH = _native.stage("fetch")
DATASET = _native.stage("dataset")
COLLATE = _native.stage("collate")
SAMPLE = _native.stage("sample")

_MODULE = "torch.utils.data._utils.fetch"
_PARAMETERS = ("self", "possibly_batched_index")


def install() -> None:
    """Instrument both kinds of fetchers."""
    detail = os.environ.get("METATRAIN_TIMING_DETAIL") or "stage"
    if detail not in ("stage", "sample"):
        _session.warn(
            "unknown_detail",
            f"METATRAIN_TIMING_DETAIL={detail}: neither 'stage' nor 'sample'; "
            "recording stages",
        )
    each_sample = detail == "sample"
    make = functools.partial(_fetch, each_sample=each_sample)
    for fetcher in ("_MapDatasetFetcher", "_IterableDatasetFetcher"):
        replace(
            Point(_MODULE, f"{fetcher}.fetch", _PARAMETERS, "fetch, dataset, collate"),
            make,
        )


def _fetch(original: Callable[..., Any], each_sample: bool) -> Callable[..., Any]:
    @functools.wraps(original)
    def fetch(self: Any, possibly_batched_index: Any) -> Any:
        if not _native.recording():
            return original(self, possibly_batched_index)
        collate = self.collate_fn
        if type(collate) is not _TimedCollate:
            self.collate_fn = collate = _TimedCollate(collate)
            if each_sample:
                _time_each_sample(self)
        thread.fetching += 1
        token = begin(FETCH, True)
        collate.reading = begin(DATASET, True)
        try:
            return original(self, possibly_batched_index)
        except StopIteration:
            cancel(collate.reading)
            cancel(token)  # the end of the data is no batch
            raise
        finally:
            end(token)  # and what an exception left open inside
            thread.fetching -= 1

    return fetch


class _TimedCollate:
    """A collate function that ends `dataset` and records `collate`."""

    def __init__(self, function: Callable[[Any], Any]) -> None:
        self._function = function
        self.reading = 0
        """Token of the open `dataset`."""
        functools.update_wrapper(self, function, updated=())

    def __call__(self, samples: Any) -> Any:
        end(self.reading)
        token = begin(COLLATE, True)
        try:
            return self._function(samples)
        finally:
            end(token)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._function, name)


def _time_each_sample(fetcher: Any) -> None:
    if hasattr(fetcher, "dataset_iter"):
        fetcher.dataset_iter = _timed_samples(fetcher.dataset_iter)
    elif _reads_one_by_one(fetcher.dataset):
        fetcher.dataset = _TimedDataset(fetcher.dataset)


def _reads_one_by_one(dataset: Any) -> bool:
    """Whether reading a batch at once is no more than reading its samples in turn."""
    from torch.utils.data import Subset

    while type(dataset) is Subset:
        dataset = dataset.dataset
    return not getattr(dataset, "__getitems__", None)


class _TimedDataset:
    """A data set that records each `__getitem__`."""

    __getitems__ = None

    def __init__(self, dataset: Any) -> None:
        self._dataset = dataset

    def __getitem__(self, index: Any) -> Any:
        token = begin(SAMPLE, True)
        try:
            return self._dataset[index]
        finally:
            end(token)

    def __len__(self) -> int:
        return len(self._dataset)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._dataset, name)


class _timed_samples:
    """An iterator over samples that records each."""

    def __init__(self, samples: Iterator[Any]) -> None:
        self._samples = samples

    def __iter__(self) -> "_timed_samples":
        return self

    def __next__(self) -> Any:
        token = begin(SAMPLE, True)
        try:
            return next(self._samples)
        except StopIteration:
            cancel(token)
            raise
        finally:
            end(token)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._samples, name)
