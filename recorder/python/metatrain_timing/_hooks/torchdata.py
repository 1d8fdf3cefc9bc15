"""torchdata's StatefulDataLoader: iterators and a worker loop of its own."""

import functools
from collections.abc import Callable
from types import ModuleType
from typing import Any

from .. import _native
from .._native import begin, end
from . import dataloader, worker
from .patching import Point, replace

SNAPSHOT = _native.stage("snapshot")

_WORKER = "torchdata.stateful_dataloader.worker"
_STATE = "torchdata.stateful_dataloader.incremental_state"
_WITH_WORKERS = "_StatefulMultiProcessingDataLoaderIter"


def install(module: ModuleType) -> None:
    """
    Instrument the stateful loader; what it has from torch's is instrumented there.

    :param module: torchdata.stateful_dataloader.stateful_dataloader.
    """
    name = module.__name__
    dataloader.install_points(name, _WITH_WORKERS)
    worker.install(name, "_worker_loop")
    for point in (
        Point(_WORKER, "_make_state_dict", ("worker_id",), "snapshot"),
        Point(_STATE, "_IncrementalWorkerState.generate_delta", ("self",), "snapshot"),
        Point(name, f"{_WITH_WORKERS}._take_snapshot", ("self",), "snapshot"),
        Point(name, f"{_WITH_WORKERS}._update_worker_snapshot", ("self",), "snapshot"),
    ):
        replace(point, _snapshot)


def _snapshot(original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def snapshot(*args: Any, **kwargs: Any) -> Any:
        token = begin(SNAPSHOT)
        try:
            return original(*args, **kwargs)
        finally:
            end(token)

    return snapshot
