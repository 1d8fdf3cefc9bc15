"""torch's DataLoader in the training process: loaders, passes and waits."""

import functools
import inspect
import sys
import weakref
from collections.abc import Callable
from types import ModuleType
from typing import Any

from .. import _facts, _loops, _native, _session
from .._guard import guarded
from .._loops import Pass, thread
from .._native import add, begin, cancel, context, end, now_ns, set_context
from . import fetch, loaders, pin, transport, worker
from .patching import Point, replace

LOADER = _native.stage("loader")
LOADER_END = _native.stage("loader_end")
SAMPLER = _native.stage("sampler")
PUT_INDEX = _native.stage("put_index")
WORKER_START = _native.stage("worker_start")
WORKER_RESUME = _native.stage("worker_resume")
WORKER_STOP = _native.stage("worker_stop")

_MODULE = "torch.utils.data.dataloader"
_WITH_WORKERS = "_MultiProcessingDataLoaderIter"
_ATTRIBUTE = "_metatrain_timing_pass"


def install(_module: ModuleType) -> None:
    """Instrument data loading; runs when torch.utils.data.dataloader is imported."""
    _session.start()
    _session.after_fork(_loops.forget)
    _session.after_fork(loaders.forget)
    _session.after_fork(_facts.forget)
    install_points(_MODULE, _WITH_WORKERS)
    replace(
        Point(
            _MODULE,
            "DataLoader.__init__",
            ("self", "dataset"),
            "where loaders are made",
        ),
        _loader_init,
    )
    replace(
        Point(_MODULE, "_BaseDataLoaderIter.__init__", ("self", "loader"), "passes"),
        _iterator_init,
    )
    replace(
        Point(_MODULE, "_BaseDataLoaderIter.__next__", ("self",), "stage loader"),
        _next,
    )
    replace(
        Point(_MODULE, "_BaseDataLoaderIter._next_index", ("self",), "stage sampler"),
        _next_index,
    )
    fetch.install()
    worker.install("torch.utils.data._utils.worker", "_worker_loop")
    transport.install()
    pin.install()


def install_points(module: str, with_workers: str) -> None:
    """
    Instrument an iterator class that has workers.

    :param module: module of the class.
    :param with_workers: name of the class.
    """
    for point, make in (
        (
            Point(
                module, f"{with_workers}.__init__", ("self", "loader"), "worker_start"
            ),
            _workers_init,
        ),
        (
            Point(
                module, f"{with_workers}._reset", ("self", "loader"), "worker_resume"
            ),
            _reset,
        ),
        (
            Point(module, f"{with_workers}._try_put_index", ("self",), "put_index"),
            _try_put_index,
        ),
        (
            Point(module, f"{with_workers}._get_data", ("self",), "order of batches"),
            _get_data,
        ),
        (
            Point(
                module, f"{with_workers}._shutdown_workers", ("self",), "worker_stop"
            ),
            _shutdown_workers,
        ),
    ):
        replace(point, make)


def pass_of(iterator: Any) -> Pass | None:
    """
    The pass that an iterator of a DataLoader makes.

    :param iterator: the iterator; None if it is none of a DataLoader.
    """
    return getattr(iterator, "__dict__", {}).get(_ATTRIBUTE)


@guarded
def _begin_pass(iterator: Any, loader: Any) -> Pass | None:
    pass_ = loaders.begin_pass(loader)

    def died(_reference: Any, left: Callable[[Pass], None] = _loops.left) -> None:
        pass_.reference = None
        left(pass_)

    pass_.reference = weakref.ref(iterator, died)
    iterator.__dict__[_ATTRIBUTE] = pass_
    return pass_


def _loader_init(original: Callable[..., None]) -> Callable[..., None]:
    @functools.wraps(original)
    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:
        original(self, *args, **kwargs)
        loaders.note_made(self, sys._getframe(1))

    # For getfullargspec(), which does not look behind a wrapper.
    __init__.__signature__ = inspect.signature(original)  # type: ignore[attr-defined]
    return __init__


def _iterator_init(original: Callable[..., None]) -> Callable[..., None]:
    @functools.wraps(original)
    def __init__(self: Any, loader: Any, *args: Any, **kwargs: Any) -> None:
        if pass_of(self) is None and _native.recording():
            _begin_pass(self, loader)
        original(self, loader, *args, **kwargs)

    return __init__


def _workers_init(original: Callable[..., None]) -> Callable[..., None]:
    @functools.wraps(original)
    def __init__(self: Any, loader: Any, *args: Any, **kwargs: Any) -> None:
        pass_ = _begin_pass(self, loader) if _native.recording() else None
        if pass_ is None:
            original(self, loader, *args, **kwargs)
            return
        pin.watch(self)
        before = context()
        set_context(pass_.number, -1, before[2])
        token = begin(WORKER_START)
        try:
            with worker.starting(loaders.record_of(loader), pass_):
                original(self, loader, *args, **kwargs)
        finally:
            end(token)
            set_context(*before)

    return __init__


def _reset(original: Callable[..., None]) -> Callable[..., None]:
    @functools.wraps(original)
    def _reset(
        self: Any, loader: Any, first_iter: bool = False, *args: Any, **kwargs: Any
    ) -> None:
        earlier = pass_of(self)
        if first_iter or earlier is None or not _native.recording():
            original(self, loader, first_iter, *args, **kwargs)
            return
        _loops.left(earlier)
        earlier.reference = None
        pass_ = _begin_pass(self, loader)
        if pass_ is None:
            original(self, loader, first_iter, *args, **kwargs)
            return
        before, receiving = context(), thread.receiving
        set_context(pass_.number, -1, before[2])
        thread.receiving = earlier  # what it left in the queue comes first
        token = begin(WORKER_RESUME)
        try:
            with worker.resuming(loaders.record_of(loader), pass_):
                original(self, loader, first_iter, *args, **kwargs)
        finally:
            end(token)
            thread.receiving = receiving
            set_context(*before)

    return _reset


def _next(original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def __next__(self: Any) -> Any:
        pass_ = pass_of(self)
        if pass_ is None:
            return original(self)
        outer = context() if thread.waiting else None
        loop = _loops.begin_wait(pass_, sys._getframe(1))
        step = _loops.steps_done()
        batch = _expected_batch(self, pass_)
        set_context(pass_.number, batch, step)
        receiving = thread.receiving
        thread.receiving = pass_
        stop: StopIteration | None = None
        start_ns = now_ns()
        thread.waiting += 1
        try:  # a signal handler of the program may raise anywhere in here
            token = begin(LOADER)
            try:
                data = original(self)
            except StopIteration as error:
                cancel(token)
                add(LOADER_END, start_ns, now_ns(), pass_.number, -1, step)
                stop = error
            except BaseException:
                end(token)  # a wait without a body
                raise
            else:
                delivered = _delivered_batch(self, pass_)
                if delivered == batch:
                    end(token)
                else:
                    cancel(token)
                    add(LOADER, start_ns, now_ns(), pass_.number, delivered, step)
                pass_.batches += 1
        finally:
            _after_wait(receiving, outer)
        if stop is not None:
            _loops.exhausted(pass_)
            try:
                raise stop
            finally:
                stop = None  # or its traceback would keep this frame alive
        _loops.end_wait(loop, pass_, delivered)
        return data

    return __next__


def _after_wait(receiving: Pass | None, outer: tuple[int, int, int] | None) -> None:
    thread.waiting -= 1
    thread.receiving = receiving
    if outer is not None:
        set_context(*outer)


def _expected_batch(iterator: Any, pass_: Pass) -> int:
    """Index of the batch that is waited for, if batches come in order."""
    index = iterator.__dict__.get("_rcvd_idx")
    return pass_.batches if index is None else int(index)


def _delivered_batch(iterator: Any, pass_: Pass) -> int:
    """Index of the batch that was just delivered."""
    attributes = iterator.__dict__
    index = attributes.get("_rcvd_idx")
    if index is None:
        return pass_.batches
    if attributes.get("_in_order", True):
        return int(index) - 1
    return pass_.last_received


def _next_index(original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def _next_index(self: Any) -> Any:
        token = begin(SAMPLER)
        try:
            return original(self)
        except StopIteration:
            cancel(token)
            raise
        finally:
            end(token)

    return _next_index


def _try_put_index(original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def _try_put_index(self: Any, *args: Any, **kwargs: Any) -> Any:
        pass_ = pass_of(self)
        if pass_ is None:
            return original(self, *args, **kwargs)
        index = self.__dict__.get("_send_idx", -1)
        before = context()
        set_context(pass_.number, index, before[2])
        token = begin(PUT_INDEX)
        try:
            return original(self, *args, **kwargs)
        finally:
            if self.__dict__.get("_send_idx", -1) == index:
                cancel(token)  # there was nothing left to put
            else:
                end(token)
            set_context(*before)

    return _try_put_index


def _get_data(original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def _get_data(self: Any) -> Any:
        received = original(self)
        pass_ = pass_of(self)
        if pass_ is not None and type(received[0]) is int:
            pass_.last_received = received[0]
        return received

    return _get_data


def _shutdown_workers(original: Callable[..., None]) -> Callable[..., None]:
    @functools.wraps(original)
    def _shutdown_workers(self: Any) -> None:
        opened = _begin_shutdown(self)
        if opened is None:
            original(self)
            return
        token, before = opened
        try:
            original(self)
        finally:
            end(token)
            set_context(*before)

    return _shutdown_workers


@guarded
def _begin_shutdown(iterator: Any) -> tuple[int, tuple[int, int, int]] | None:
    pass_ = pass_of(iterator)
    if pass_ is None or iterator.__dict__.get("_shutdown", True):
        return None
    if not thread.waiting:
        _loops.left(pass_)  # if its loop is still there, it was left by a break
    before = context()
    set_context(pass_.number, -1, before[2])
    return begin(WORKER_STOP), before
