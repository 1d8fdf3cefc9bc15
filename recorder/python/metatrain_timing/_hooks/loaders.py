"""What is known of each DataLoader object: its row in the recording, its passes."""

import multiprocessing
import os
import sys
import weakref
from types import FrameType
from typing import Any

from .. import _facts, _loops, _native, _session
from .._guard import guarded

# Frames in these packages do not count as the place where a loader was made.
_NOT_A_PLACE = ("torch.", "torchdata.", "metatrain_timing.", "metatrain.utils.data.")


class LoaderRecord:
    """A DataLoader object as the recorder knows it."""

    def __init__(self, place: str) -> None:
        self.place = place
        self.number = -1
        """Number in this process, -1 until its first pass."""
        self.facts: dict[str, Any] = {}
        """Keyword arguments of `define_loader`."""
        self.epochs = 0
        """Passes begun."""


_records: dict[int, tuple["weakref.ref[Any]", LoaderRecord]] = {}


def forget() -> None:
    """In a forked child: places stay known, numbers are its own."""
    for _, record in _records.values():
        record.number = -1
        record.epochs = 0


@guarded
def note_made(loader: Any, frame: FrameType | None) -> None:
    """
    Remember where a loader was made.

    :param loader: the DataLoader.
    :param frame: who called its constructor.
    """
    _remember(loader, LoaderRecord(_place(loader, frame)))


def record_of(loader: Any) -> LoaderRecord:
    """
    The record of a loader, announced to the recorder.

    :param loader: the DataLoader.
    """
    entry = _records.get(id(loader))
    if entry is not None and entry[0]() is loader:
        record = entry[1]
    else:  # made before we came, or a copy
        record = _remember(loader, LoaderRecord(""))
    if record.number < 0:
        record.facts = _facts_of(loader, record.place)
        record.number = _native.define_loader(**record.facts)
    return record


def begin_pass(loader: Any) -> _loops.Pass:
    """
    Number a new pass over a loader.

    :param loader: the DataLoader.
    """
    _facts.gather()
    _session.fix_identity()
    record = record_of(loader)
    number = _native.define_iterator(record.number, record.epochs)
    record.epochs += 1
    return _loops.Pass(number)


def begin_plain_pass(kind: str, frame: FrameType) -> _loops.Pass:
    """
    Number a pass over something that is no DataLoader.

    :param kind: what it is.
    :param frame: who iterates.
    """
    _facts.gather()
    _session.fix_identity()
    place = _place(None, frame)
    name = f"{kind} at {_short(place)}"
    number, epochs = _plain.get(name, (-1, 0))
    if number < 0:
        number = _native.define_loader(name, created_at=place, dataset_class=kind)
    _plain[name] = (number, epochs + 1)
    return _loops.Pass(_native.define_iterator(number, epochs))


_plain: dict[str, tuple[int, int]] = {}


def _remember(loader: Any, record: LoaderRecord) -> LoaderRecord:
    key = id(loader)

    def forget_it(_reference: Any) -> None:
        _records.pop(key, None)

    _records[key] = (weakref.ref(loader, forget_it), record)
    return record


def _place(loader: Any, frame: FrameType | None) -> str:
    """`file:line` of the code that makes a loader, as short as it can be told apart."""
    at = frame
    while at is not None:
        module = str(at.f_globals.get("__name__")) + "."
        of_subclass = (
            at.f_code.co_name == "__init__" and at.f_locals.get("self") is loader
        )
        if not module.startswith(_NOT_A_PLACE) and not (
            of_subclass and loader is not None
        ):
            return f"{_as_text(_relative(at.f_code.co_filename))}:{at.f_lineno}"
        at = at.f_back
    return ""


def _relative(filename: str) -> str:
    """A file's path below the folder that Python imports it from."""
    candidates = [os.path.abspath(folder or ".") + os.sep for folder in sys.path]
    best = max((c for c in candidates if filename.startswith(c)), key=len, default="")
    return filename[len(best) :]


def _as_text(filename: str) -> str:
    """A file name that may not be UTF-8, as it can be stored."""
    return os.fsencode(filename).decode("utf-8", "replace")


def _short(place: str) -> str:
    """The last two parts of a place: `pet/trainer.py:270`."""
    return "/".join(place.split("/")[-2:])


def _facts_of(loader: Any, place: str) -> dict[str, Any]:
    # Not by truth: that would ask the user's sampler for its length.
    batched = loader.batch_sampler is not None
    sampler = loader.batch_sampler if batched else loader.sampler
    own_sampler = getattr(sampler, "sampler", None)  # of torch's BatchSampler
    workers = int(loader.num_workers)
    batch_size, prefetch = loader.batch_size, loader.prefetch_factor
    return {
        "name": _name(loader.dataset, place),
        "created_at": place,
        "dataset_class": _class_name(loader.dataset),
        "num_workers": workers,
        "batch_size": None if batch_size is None else int(batch_size),
        "prefetch_factor": int(prefetch) if workers and prefetch else None,
        "persistent_workers": bool(loader.persistent_workers),
        "pin_memory": bool(loader.pin_memory),
        "in_order": bool(getattr(loader, "in_order", True)),
        "start_method": _start_method(loader) if workers else "",
        "sampler_class": _type_name(sampler if own_sampler is None else own_sampler),
    }


def _name(dataset: Any, place: str) -> str:
    # Of loaders made at one place the analyzer sees which take each other's turn, like
    # those that a script makes anew for each epoch, and which are in use together.
    name = _class_name(dataset).rpartition("[")[2].rstrip("]").rpartition(".")[2]
    return f"{name} at {_short(place)}" if place else name


def _class_name(dataset: Any) -> str:
    """Qualified name of a data set's class; a Subset's with what it is of."""
    from torch.utils.data import Subset

    name = _type_name(dataset)
    if isinstance(dataset, Subset):
        return f"{name}[{_class_name(dataset.dataset)}]"
    return name


def _type_name(value: Any) -> str:
    return f"{type(value).__module__}.{type(value).__qualname__}"


def _start_method(loader: Any) -> str:
    context = loader.multiprocessing_context
    if context is not None:
        return str(context.get_start_method())
    chosen = multiprocessing.get_start_method(allow_none=True)
    return chosen or multiprocessing.get_all_start_methods()[0]
