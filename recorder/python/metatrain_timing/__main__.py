"""`python -m metatrain_timing COMMAND ...`: record without the start-up file."""

import argparse
import os
import runpy
import shutil
import sys
from pathlib import Path

from . import _startup


def main() -> None:
    """Run the command of the command line in this process, instrumented."""
    parser = argparse.ArgumentParser(
        prog="python -m metatrain_timing",
        description="Run a Python command with its training recorded into "
        "METATRAIN_TIMING_DB.",
    )
    parser.add_argument(
        "-m",
        dest="module",
        action="store_true",
        help="COMMAND is a module, as for `python -m`",
    )
    parser.add_argument("command", help="Python script, or a program written in Python")
    parser.add_argument("arguments", nargs=argparse.REMAINDER, help="its arguments")
    options = parser.parse_args()
    if not os.environ.get(_startup.DATABASE):
        parser.error(f"{_startup.DATABASE} names no file to record into")
    _startup.activate()
    if options.module:
        sys.argv = [options.command, *options.arguments]
        sys.path[0] = os.getcwd()
        runpy.run_module(options.command, run_name="__main__", alter_sys=True)
        return
    if Path(options.command).name.startswith("python") and options.arguments:
        parser.error(
            "leave the interpreter out: python -m metatrain_timing "
            + " ".join(options.arguments)
        )
    script = _find(options.command)
    if script is None:
        parser.error(f"{options.command}: no Python script or program of this name")
    sys.argv = [str(script), *options.arguments]
    sys.path[0] = str(script.resolve().parent)
    runpy.run_path(str(script), run_name="__main__")


def _find(command: str) -> "Path | None":
    """The script of a command: a file, or a program on PATH that Python runs."""
    path = Path(command)
    if path.is_file():
        return path
    found = shutil.which(command)
    if found is None:
        return None
    return Path(found) if _is_python_program(found) else None


def _is_python_program(path: str) -> bool:
    with open(path, "rb") as file:
        first, second = file.readline(200), file.readline(200)
    # pip begins programs whose interpreter has a long path as shell scripts.
    return first.startswith(b"#!") and (
        b"python" in first or second.startswith(b"'''exec' ")
    )


if __name__ == "__main__":
    main()
