"""metatrain's collate function and the unpacking of its batches."""

import functools
import sys
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any

from .. import _native
from .._native import begin, end, inside
from ..timing import TRANSFORM_PREFIX, count_systems
from .patching import Point, replace

GROUP_AND_JOIN = _native.stage("group_and_join")
TRANSFORMS = _native.stage("transforms")
SERIALIZE = _native.stage("serialize")
UNPACK = _native.stage("unpack")

_MODULE = "metatrain.utils.data.dataset"
_TIMES_ITSELF = "metatrain.utils.timing"


def install(_module: ModuleType) -> None:
    """Instrument the data set module of metatrain."""
    replace(
        Point(_MODULE, "unpack_batch", ("batch",), "unpack, structures, atoms"),
        _unpack_batch,
        everywhere=True,
    )
    if _TIMES_ITSELF in sys.modules:
        return  # its collate function names its stages by itself
    replace(
        Point(_MODULE, "group_and_join", ("batch",), "group_and_join"), _group_and_join
    )
    replace(
        Point(
            _MODULE, "CollateFn.__call__", ("self", "batch"), "transforms, serialize"
        ),
        _collate,
    )


def transform_names(transforms: list[Callable[..., Any]]) -> list[str]:
    """
    Names that tell the transforms of one collate function apart.

    :param transforms: the callables, in order.
    :return: `__name__` where that is unique; else the qualified name without
        `.<locals>`; else that with #2, #3, ...
    """
    short = [_name(transform) for transform in transforms]
    long = [_qualified_name(transform) for transform in transforms]
    names = [long[i] if short.count(name) > 1 else name for i, name in enumerate(short)]
    seen: dict[str, int] = {}
    for i, name in enumerate(names):
        seen[name] = seen.get(name, 0) + 1
        if seen[name] > 1:
            names[i] = f"{name}#{seen[name]}"
    return names


def _name(transform: Callable[..., Any]) -> str:
    return str(getattr(transform, "__name__", None) or type(transform).__name__)


def _qualified_name(transform: Callable[..., Any]) -> str:
    name = getattr(transform, "__qualname__", None) or type(transform).__qualname__
    return str(name).replace(".<locals>", "")


class _TimedTransforms(list[Callable[..., Any]]):
    """The transforms of a collate function, which are timed by being iterated over.

    What follows the last one is `serialize`.
    """

    open = 0
    """Token of what is going on, `transforms` or `serialize`."""

    def __iter__(self) -> Iterator[Callable[..., Any]]:
        self.open = begin(TRANSFORMS, True)
        transforms = list(super().__iter__())
        for name, transform in zip(
            transform_names(transforms), transforms, strict=True
        ):
            token = begin(_transform_stage(name), True)
            yield transform
            end(token)
        end(self.open)
        self.open = begin(SERIALIZE, True)


@functools.cache
def _transform_stage(name: str) -> int:
    return _native.stage(TRANSFORM_PREFIX + name)


class _CollateView:
    """A collate function with timed transforms; the object itself stays as it is."""

    def __init__(self, collate: Any) -> None:
        self._collate = collate
        self.callables = _TimedTransforms(collate.callables)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._collate, name)


def _collate(original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def __call__(self: Any, batch: Any) -> Any:
        if not _native.recording():
            return original(self, batch)
        view = _CollateView(self)
        try:
            return original(view, batch)
        finally:
            end(view.callables.open)

    return __call__


def _group_and_join(original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def group_and_join(*args: Any, **kwargs: Any) -> Any:
        token = begin(GROUP_AND_JOIN, True)
        try:
            return original(*args, **kwargs)
        finally:
            end(token)

    return group_and_join


def _unpack_batch(original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def unpack_batch(batch: Any) -> Any:
        if inside(UNPACK):  # metatrain's own timing counts, too
            return original(batch)
        token = begin(UNPACK)
        try:
            unpacked = original(batch)
        finally:
            end(token)
        if _TIMES_ITSELF not in sys.modules:
            count_systems(unpacked[0])
        return unpacked

    return unpack_batch
