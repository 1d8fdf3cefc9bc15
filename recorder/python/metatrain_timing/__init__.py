"""What a training step spends its time on, inside DataLoader workers too.

    with metatrain_timing.timed("my stage"):
        ...

With METATRAIN_TIMING_DB=run.db in the environment, PyTorch's DataLoader, optimizers and
metatrain are recorded without a change to the training; `mt-analyze report run.db` or
`metatrain_timing.Run("run.db")` reads the result.

Names are loaded when they are first used: the start-up file in site-packages imports
this package in every Python process that has METATRAIN_TIMING_DB set, and most of those
never train. For the same reason nothing here is imported for types alone: `typing`
takes ten times as long as all the rest.
"""

from __future__ import annotations

import importlib

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .api import StepTracker, count, flush, health, phase
    from .benchmarker import Benchmarker
    from .reading import AnalyzerError, Run, diff, history, import_trace
    from .timing import (
        COLLATE_STAGES,
        ENABLED,
        STEP_BREAKDOWN,
        TOP_STAGES,
        TRANSFORM_PREFIX,
        count_systems,
        enable,
        report,
        reset,
        timed,
        timed_iter,
        timed_transform,
    )

_MODULE_OF = {
    "AnalyzerError": "reading",
    "Benchmarker": "benchmarker",
    "COLLATE_STAGES": "timing",
    "ENABLED": "timing",
    "Run": "reading",
    "STEP_BREAKDOWN": "timing",
    "StepTracker": "api",
    "TOP_STAGES": "timing",
    "TRANSFORM_PREFIX": "timing",
    "count": "api",
    "count_systems": "timing",
    "diff": "reading",
    "enable": "timing",
    "flush": "api",
    "health": "api",
    "history": "reading",
    "import_trace": "reading",
    "phase": "api",
    "report": "timing",
    "reset": "timing",
    "timed": "timing",
    "timed_iter": "timing",
    "timed_transform": "timing",
}

__all__ = [
    "COLLATE_STAGES",
    "ENABLED",
    "STEP_BREAKDOWN",
    "TOP_STAGES",
    "TRANSFORM_PREFIX",
    "AnalyzerError",
    "Benchmarker",
    "Run",
    "StepTracker",
    "count",
    "count_systems",
    "diff",
    "enable",
    "flush",
    "health",
    "history",
    "import_trace",
    "phase",
    "report",
    "reset",
    "timed",
    "timed_iter",
    "timed_transform",
]


def __getattr__(name: str) -> Any:
    module = _MODULE_OF.get(name)
    if module is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module(f"{__name__}.{module}"), name)
    if name != "ENABLED":  # which changes
        globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
