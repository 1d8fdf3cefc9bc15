"""Trains with a torch whose names are others than those we know.

usage: renamed.py DATABASE MODULE:NAME=remove|change ... -- ARGUMENTS of train.py
"""

import importlib
import os
import runpy
import sys
from pathlib import Path
from types import ModuleType
from typing import Any


def remove(owner: Any, name: str) -> None:
    """Hide a name from who looks for it; torch itself goes on to find it."""
    original = vars(owner)[name]
    delattr(owner, name)
    if isinstance(owner, ModuleType):

        def find_in_module(wanted: str) -> Any:
            if wanted == name:
                return original
            raise AttributeError(wanted)

        owner.__dict__["__getattr__"] = find_in_module
        return

    def find(self: Any, wanted: str) -> Any:
        if wanted == name:
            return original.__get__(self)
        raise AttributeError(wanted)

    owner.__getattr__ = find


def change(owner: Any, name: str) -> None:
    """Let a function take other arguments, by its signature."""
    original = vars(owner)[name]

    def changed(*anything: Any, **more: Any) -> Any:
        return original(*anything, **more)

    setattr(owner, name, changed)


def main() -> None:
    """Spoil the names, then instrument, then train."""
    split = sys.argv.index("--")
    for argument in sys.argv[2:split]:
        where, _, how = argument.partition("=")
        module, _, path = where.partition(":")
        owner: Any = importlib.import_module(module)
        *parents, name = path.split(".")
        for parent in parents:
            owner = getattr(owner, parent)
        {"remove": remove, "change": change}[how](owner, name)
    os.environ["METATRAIN_TIMING_DB"] = sys.argv[1]
    import metatrain_timing._startup  # noqa: F401

    script = str(Path(__file__).with_name("train.py"))
    sys.argv = [script, *sys.argv[split + 1 :]]
    runpy.run_path(script, run_name="__main__")


if __name__ == "__main__":
    main()
