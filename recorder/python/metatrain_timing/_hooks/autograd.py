"""`backward`: the call that makes a loop a training loop."""

import functools
from collections.abc import Callable
from types import ModuleType
from typing import Any

from .. import _loops, _native, _session
from .._loops import thread
from .._native import begin, end, inside
from .patching import Point, replace

BACKWARD = _native.stage("backward")


def install(_module: ModuleType) -> None:
    """Instrument torch.autograd.backward, which Tensor.backward calls too."""
    _session.start()
    replace(
        Point("torch.autograd", "backward", ("tensors",), "backward; training loops"),
        _backward,
    )


def _backward(original: Callable[..., None]) -> Callable[..., None]:
    running = 0

    @functools.wraps(original)
    def backward(*args: Any, **kwargs: Any) -> None:
        nonlocal running
        # Checkpointed segments run a backward of their own inside, on any thread.
        if running or thread.waiting or thread.fetching or inside(BACKWARD):
            if not running:
                _loops.training_seen()
            original(*args, **kwargs)
            return
        _loops.training_seen()
        running += 1
        token = begin(BACKWARD)
        try:
            original(*args, **kwargs)
        finally:
            end(token)
            running -= 1

    return backward
