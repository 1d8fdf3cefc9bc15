"""Page-locked memory: `pin`, in a thread of its own where there are workers."""

import functools
import weakref
from collections.abc import Callable
from typing import Any

from .. import _loops, _native
from .._loops import Pass, thread
from .._native import begin, end, set_context
from .patching import Point, replace

PIN = _native.stage("pin")

_MODULE = "torch.utils.data._utils.pin_memory"

# Iterators with workers, among which a pin thread finds the one it works for.
_iterators: "weakref.WeakSet[Any]" = weakref.WeakSet()


def install() -> None:
    """Instrument the pin thread and the copying."""
    replace(
        Point(_MODULE, "_pin_memory_loop", ("in_queue", "out_queue"), "receive"),
        _pin_memory_loop,
    )
    replace(Point(_MODULE, "pin_memory", ("data",), "stage pin"), _pin_memory)


def watch(iterator: Any) -> None:
    """
    Note an iterator that may start a pin thread.

    :param iterator: iterator of a DataLoader with workers.
    """
    _iterators.add(iterator)


class _CurrentPass(Pass):
    """The pass that an iterator is in now: a pin thread outlives the first."""

    __slots__ = ("_iterator",)

    def __init__(self, iterator: Any) -> None:
        super().__init__(-1)
        self._iterator = weakref.ref(iterator)

    @property
    def number(self) -> int:
        now: Pass | None = getattr(self._iterator(), _ATTRIBUTE, None)
        return -1 if now is None else now.number

    @number.setter
    def number(self, value: int) -> None:
        pass


_ATTRIBUTE = "_metatrain_timing_pass"


def _pin_memory_loop(original: Callable[..., None]) -> Callable[..., None]:
    @functools.wraps(original)
    def _pin_memory_loop(in_queue: Any, *args: Any, **kwargs: Any) -> None:
        for iterator in list(_iterators):
            if iterator.__dict__.get("_worker_result_queue") is in_queue:
                thread.receiving = _CurrentPass(iterator)
        iterator = None  # or this thread would keep it alive
        thread.in_pin_thread = True
        original(in_queue, *args, **kwargs)

    return _pin_memory_loop


def _pin_memory(original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def pin_memory(data: Any, *args: Any, **kwargs: Any) -> Any:
        # It calls itself for what a batch is made of; None comes with a signal.
        if thread.pinning or data is None:
            return original(data, *args, **kwargs)
        if thread.in_pin_thread and thread.receiving is not None:
            number = thread.receiving.number
            set_context(number, thread.received, _loops.steps_done())
        thread.pinning = True
        token = begin(PIN)
        try:
            return original(data, *args, **kwargs)
        finally:
            end(token)
            thread.pinning = False

    return pin_memory
