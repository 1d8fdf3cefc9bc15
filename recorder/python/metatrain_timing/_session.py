"""Recording in this process: how it starts, how it ends in any kind of process."""

import atexit
import os
import shutil
import sys
import tempfile
from collections.abc import Callable
from multiprocessing import process as mp_process
from typing import Any

from . import _native
from ._startup import DATABASE, make_database_absolute

_started = False
_warned: set[str] = set()
_after_fork: list[Callable[[], None]] = []
_fork_born_ns = -1
_reset_ns = 0


def start() -> bool:
    """
    Turn recording on in this process, into the file that the environment names.

    Without METATRAIN_TIMING_DB it goes to a private folder, which lives as long as this
    process: that is how `timing.report()` can include the workers.

    :return: whether recording is on.
    """
    global _started  # noqa: PLW0603
    if _started:
        return _native.recording()
    _started = True
    if not os.environ.get(DATABASE):
        _use_private_folder()
    make_database_absolute()
    from . import _facts

    on = _native.start(
        os.environ[DATABASE], _facts.command_line(), _facts.continues_previous()
    )
    os.register_at_fork(after_in_child=_begin_child)
    _end_with_process()
    return on


def fix_identity() -> dict[str, str]:
    """
    Fix the run's identity, and hand it to children however they are started.

    :return: the environment variables that tell them.
    """
    variables = _native.fix_identity()
    # Set already for the C library, of which os.environ is a copy: a program that
    # starts its children with changed variables starts from that copy.
    for name, value in variables.items():
        if os.environ.get(name) != value:
            os.environ[name] = value
    return variables


def after_fork(function: Callable[[], None]) -> None:
    """
    Call a function in every forked child, before anything else happens there.

    :param function: must not fail.
    """
    _after_fork.append(function)


def fork_born_ns() -> int:
    """When this process was forked, -1 if it was not."""
    return _fork_born_ns


def note_reset() -> None:
    """Remember that totals count from now on."""
    global _reset_ns  # noqa: PLW0603
    _reset_ns = _native.now_ns()


def reset_ns() -> int:
    """Since when totals count."""
    return _reset_ns


def warn(code: str, text: str) -> None:
    """
    Say something once, on stderr and in the recording; children leave it to the parent.

    :param code: word for the kind of problem.
    :param text: one line.
    """
    if text in _warned:
        return
    _warned.add(text)
    _native.note_problem(code, text)
    if mp_process.parent_process() is None:
        print(f"metatrain-timing: {text}", file=sys.stderr)


class _Anchor:
    """Something that can be referred to weakly and lives as long as the process."""


_anchor = _Anchor()


def _end_with_process() -> None:
    atexit.register(_end)
    _arm_child_end()  # this may be a child that has not begun its work
    if mp_process.parent_process() is not None:
        _stop_with_child(_anchor)


def _end() -> None:
    """
    End recording with the process, after the children that multiprocessing ends.

    It terminates its daemonic children, such as workers that a script kept alive, when
    the interpreter exits: their last records can only be saved after that.
    """
    _note_exception()
    _native.save_children()
    util: Any = sys.modules.get("multiprocessing.util")
    if util is None or getattr(util, "_exiting", False):
        _native.stop_after_children()
    else:
        util.Finalize(None, _native.stop_after_children, exitpriority=-100)


def _note_exception() -> None:
    """Note the exception that ends the process; where Python talks to people, none."""
    kind = getattr(sys, "last_type", None)
    if kind is not None and not hasattr(sys, "ps1") and "IPython" not in sys.modules:
        _native.set_fact("exit.exception", kind.__qualname__)


def _begin_child() -> None:
    """After a fork, in the child: forget what was the parent's."""
    global _fork_born_ns, _reset_ns  # noqa: PLW0603
    _fork_born_ns = _native.now_ns()
    _reset_ns = _fork_born_ns
    _native.forget_entered()
    for function in _after_fork:
        function()
    _arm_child_end()


def _arm_child_end() -> None:
    """
    End recording with a child of multiprocessing.

    Such a child leaves by os._exit, past atexit; what it does run are the finalizers
    that were registered after its start cleared the inherited ones.
    """
    util: Any = sys.modules.get("multiprocessing.util")
    if util is not None:
        util.register_after_fork(_anchor, _stop_with_child)


def _stop_with_child(_anchor: _Anchor) -> None:
    from multiprocessing import util

    # Late: the sender threads of queues are joined at priority -5.
    util.Finalize(None, _native.stop, exitpriority=-100)


def _use_private_folder() -> None:
    folder = tempfile.mkdtemp(prefix="metatrain-timing-")
    os.environ[DATABASE] = os.path.join(folder, "run.db")
    owner = os.getpid()

    def remove() -> None:
        if os.getpid() == owner:
            _native.stop()
            shutil.rmtree(folder, ignore_errors=True)

    atexit.register(remove)
