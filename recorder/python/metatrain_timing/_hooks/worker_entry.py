"""How a spawned worker gets to know whose it is.

This module is what the pickled arguments of such a process refer to. It must not import
torch: the import hook comes first.
"""

import importlib
import os
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class WorkerFacts:
    """What a worker must know of the loader and pass that it is started for."""

    loader: dict[str, Any]
    loader_number: int
    iterator_number: int
    epoch: int
    environment: dict[str, str]
    """Variables that a fork server may have been started without."""
    requested_ns: int
    """When the training process asked for the worker; -1: it is forked."""


def load(module: str, name: str, facts: WorkerFacts | None) -> Any:
    """
    Instrument this process, and get the main function that it is to run.

    :param module: module of the main function of workers.
    :param name: its name.
    :param facts: whose worker this is; None: nobody's, get the original function.
    """
    if facts is None:
        return getattr(importlib.import_module(module), name)
    os.environ.update(facts.environment)
    # Only now: that may instrument torch at once, by modules that need this one.
    from .. import _startup

    _startup.activate()
    loop = getattr(importlib.import_module(module), name)
    from .worker import WorkerLoop

    if isinstance(loop, WorkerLoop):
        return WorkerLoop(module, name, loop.original, facts)
    return loop
