"""A batch on its way from a worker: `send` where it is pickled, `receive` where not."""

from multiprocessing import queues
from typing import Any

from .. import _loops, _native
from .._loops import thread
from .._native import add, begin, end, now_ns, set_context
from .patching import Point, replace

SEND = _native.stage("send")
RECEIVE = _native.stage("receive")

# Batches put into a queue and not pickled yet: id of the item -> (iterator, batch). The
# queue holds the item until its sender thread has pickled it, so ids are not reused.
_on_the_way: dict[int, tuple[int, int]] = {}


def install() -> None:
    """Instrument what the queues of multiprocessing pickle with."""
    replace(
        Point(queues.__name__, "_ForkingPickler", None, "send, receive"), _timed_pickler
    )


def is_batch(item: object) -> bool:
    """
    Whether an item of a result queue is a batch, not a signal to the training process.

    :param item: what a worker sent.
    """
    if type(item) is not tuple or len(item) != 2 or type(item[0]) is not int:
        return False
    data = item[1]
    if type(data) is tuple and data:  # of torchdata: with the state of the worker
        data = data[0]
    return type(data).__name__ != "_IterableDatasetStopIteration"


def expect(item: tuple[int, Any], iterator: int) -> None:
    """
    Announce a batch that is about to be put into a queue.

    :param item: batch index and data, the very object that is put.
    :param iterator: number of its pass.
    """
    _on_the_way[id(item)] = (iterator, item[0])


def _timed_pickler(original: Any) -> Any:
    original_dumps, original_loads = original.dumps, original.loads

    class TimedForkingPickler(original):
        """multiprocessing's pickler, which records batches of DataLoaders."""

        @staticmethod
        def dumps(obj: Any, *args: Any, **kwargs: Any) -> Any:
            batch = _on_the_way.pop(id(obj), None) if _on_the_way else None
            if batch is None:
                return original_dumps(obj, *args, **kwargs)
            set_context(*batch)
            token = begin(SEND, True)
            try:
                return original_dumps(obj, *args, **kwargs)
            finally:
                end(token)

        @staticmethod
        def loads(*args: Any, **kwargs: Any) -> Any:
            pass_ = thread.receiving
            if pass_ is None:
                return original_loads(*args, **kwargs)
            start_ns = now_ns()
            item = original_loads(*args, **kwargs)
            if is_batch(item):
                thread.received = item[0]
                add(
                    RECEIVE,
                    start_ns,
                    now_ns(),
                    pass_.number,
                    item[0],
                    _loops.steps_done(),
                )
            return item

    return TimedForkingPickler
