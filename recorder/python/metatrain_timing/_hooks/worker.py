"""DataLoader workers: who they are, their start, and their waits for an index."""

import contextlib
import dataclasses
import functools
import inspect
import threading
from collections.abc import Callable, Iterator
from typing import Any

from torch.utils.data._utils import worker as torch_worker

from .. import _native, _session
from .._guard import guarded
from .._loops import Pass, thread
from .._native import add, begin, cancel, end, now_ns, set_context
from . import transport, worker_entry
from .loaders import LoaderRecord
from .patching import Point, replace
from .worker_entry import WorkerFacts

WORKER_START = _native.stage("worker_start")
WORKER_IDLE = _native.stage("worker_idle")


class _Starting(threading.local):
    facts: WorkerFacts | None = None
    resumed: tuple[int, int] = (-1, 0)


_starting = _Starting()


@contextlib.contextmanager
def starting(record: LoaderRecord, pass_: Pass) -> Iterator[None]:
    """
    Start workers for a pass; a worker that is forked in here knows whose it is.

    :param record: the loader.
    :param pass_: the pass.
    """
    _starting.facts = WorkerFacts(
        loader=record.facts,
        loader_number=record.number,
        iterator_number=pass_.number,
        epoch=record.epochs - 1,
        environment=_session.fix_identity(),
        requested_ns=-1,
    )
    try:
        yield
    finally:
        _starting.facts = None


@contextlib.contextmanager
def resuming(record: LoaderRecord, pass_: Pass) -> Iterator[None]:
    """
    Let workers that live on begin a new pass.

    :param record: the loader.
    :param pass_: the pass.
    """
    _starting.resumed = (pass_.number, record.epochs - 1)
    try:
        yield
    finally:
        _starting.resumed = (-1, 0)


_ResumeIteration: Any = getattr(torch_worker, "_ResumeIteration", object)


class NumberedResume(_ResumeIteration):
    """torch's signal for a new pass, with the number of that pass."""

    iterator_number: int
    epoch: int

    def __init__(self, seed: int | None = None) -> None:
        super().__init__(seed)
        # The base is frozen; its instances have a __dict__, which is what is pickled.
        number, epoch = _starting.resumed
        self.__dict__.update(iterator_number=number, epoch=epoch)


def install(module: str, name: str) -> None:
    """
    Instrument the main function of workers.

    :param module: module in which it is looked up when a worker is started.
    :param name: its name there.
    """
    replace(
        Point(module, name, ("dataset_kind", "dataset", "index_queue"), "workers"),
        functools.partial(WorkerLoop, module, name),
    )
    replace(
        Point(
            torch_worker.__name__,
            "_ResumeIteration",
            ("seed",),
            "which pass a persistent worker works for",
        ),
        lambda original: NumberedResume,
    )


class WorkerLoop:
    """The main function of a worker, which says first whose worker it is.

    A forked worker finds that in the thread that forked it; for others it travels with
    this object, which is then a pickled argument of the process.
    """

    def __init__(
        self,
        module: str,
        name: str,
        original: Callable[..., None],
        facts: WorkerFacts | None = None,
    ) -> None:
        self.module = module
        self.name = name
        self.original = original
        self.facts = facts
        functools.update_wrapper(self, original, updated=())

    def __reduce__(self) -> tuple[Any, ...]:
        facts = _starting.facts
        if facts is not None:
            facts = dataclasses.replace(facts, requested_ns=now_ns())
        return worker_entry.load, (self.module, self.name, facts)

    def __call__(self, *args: Any, **kwargs: Any) -> None:
        facts = self.facts or _starting.facts
        _starting.facts = None
        if facts is not None and _native.recording():
            self._introduce(facts, args, kwargs)
        self.original(*args, **kwargs)

    @guarded
    def _introduce(
        self, facts: WorkerFacts, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> None:
        bound = inspect.signature(self.original).bind(*args, **kwargs).arguments
        _Worker(facts).attach(
            int(bound["worker_id"]), bound["index_queue"], bound["data_queue"]
        )


class _Worker:
    """Records when the worker waits for work and which batch it works on."""

    def __init__(self, facts: WorkerFacts) -> None:
        self._facts = facts
        self._number = facts.iterator_number
        self._born_ns = facts.requested_ns
        if self._born_ns < 0:
            self._born_ns = _session.fork_born_ns()
        self._starting = 0
        self._idle = 0
        self._idle_since_ns = 0
        self._get: Callable[..., Any]
        self._put: Callable[..., Any]

    def attach(self, worker_id: int, index_queue: Any, data_queue: Any) -> None:
        """
        Introduce this process to the recorder, and listen to its queues.

        :param worker_id: its number in the loader.
        :param index_queue: where work comes from.
        :param data_queue: where batches go.
        """
        facts = self._facts
        thread.bodies = False
        _native.set_process(
            "worker",
            worker_id,
            facts.loader_number,
            str(facts.loader["start_method"]),
            self._born_ns,
        )
        _native.define_loader(**facts.loader, number=facts.loader_number)
        _native.define_iterator(facts.loader_number, facts.epoch, self._number)
        set_context(self._number)
        self._starting = begin(WORKER_START)
        self._get, index_queue.get = index_queue.get, self._timed_get
        self._put, data_queue.put = data_queue.put, self._noted_put

    def _timed_get(self, *args: Any, **kwargs: Any) -> Any:
        if self._starting:
            cancel(self._starting)
            self._starting = 0
            add(WORKER_START, self._born_ns, now_ns(), self._number)
        if not self._idle:  # else it is a retry after a timeout
            set_context(self._number)
            self._idle_since_ns = now_ns()
            self._idle = begin(WORKER_IDLE)
        item = self._get(*args, **kwargs)
        if type(item) is tuple and type(item[0]) is int:
            cancel(self._idle)
            add(WORKER_IDLE, self._idle_since_ns, now_ns(), self._number, item[0])
            set_context(self._number, item[0])
        else:
            end(self._idle)
            if isinstance(item, NumberedResume):
                self._resume(item)
        self._idle = 0
        return item

    def _resume(self, signal: NumberedResume) -> None:
        self._number = signal.iterator_number
        _native.define_iterator(self._facts.loader_number, signal.epoch, self._number)
        set_context(self._number)

    def _noted_put(self, item: Any, *args: Any, **kwargs: Any) -> Any:
        if transport.is_batch(item):
            transport.expect(item, self._number)
        return self._put(item, *args, **kwargs)
