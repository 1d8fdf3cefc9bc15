"""What the start-up file in site-packages runs in every process that may be recorded.

It runs at interpreter start, so it installs an import hook and does nothing else: the
recorder is loaded when (and if) the process imports PyTorch's data loading.
"""

import os

from ._hooks import import_hook

DATABASE = "METATRAIN_TIMING_DB"
SWITCH = "METATRAIN_TIMING"


def is_requested() -> bool:
    """Whether the environment asks for recording."""
    return bool(os.environ.get(DATABASE) or os.environ.get(SWITCH))


def make_database_absolute() -> None:
    """Fix the path where the process starts: a later chdir must not move the files."""
    database = os.environ.get(DATABASE)
    if database and not os.path.isabs(database):
        os.environ[DATABASE] = os.path.abspath(database)


def activate() -> None:
    """Instrument what this process has imported and what it will import."""
    make_database_absolute()
    import_hook.install()


if is_requested():
    activate()
