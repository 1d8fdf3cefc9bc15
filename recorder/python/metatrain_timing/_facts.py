"""Facts about the training for the recording: named ones, nothing secret."""

import os
import re
import shlex
import sys
from pathlib import Path
from typing import Any

from . import _native
from ._guard import guarded

# Words of an option's name whose value stays out of the recording.
_SECRET = r"(?:token|passw(?:or)?d|passphrase|secret|api[-_]?key|key|credentials?|auth)"
_SECRET_NAME = re.compile(rf"(?:^|[-_.]){_SECRET}(?:$|[-_.])", re.IGNORECASE)
_URL_CREDENTIALS = re.compile(r"(?<=://)[^/@\s]+(?=@)")
_MASK = "***"

# Variables of schedulers and of thread libraries, by name.
_VARIABLES = (
    "CUDA_VISIBLE_DEVICES",
    "MKL_NUM_THREADS",
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "LOCAL_RANK",
    "LOCAL_WORLD_SIZE",
    "RANK",
    "WORLD_SIZE",
    "TORCHELASTIC_RESTART_COUNT",
    "TORCHELASTIC_RUN_ID",
    "SLURM_ARRAY_JOB_ID",
    "SLURM_ARRAY_TASK_ID",
    "SLURM_CPUS_PER_TASK",
    "SLURM_JOB_ID",
    "SLURM_JOB_NODELIST",
    "SLURM_NTASKS",
    "SLURM_PROCID",
    "SLURM_RESTART_COUNT",
    "SLURM_STEP_ID",
    "PBS_JOBID",
    "LSB_JOBID",
    "OMPI_COMM_WORLD_RANK",
    "OMPI_COMM_WORLD_SIZE",
    "PMI_RANK",
    "PMI_SIZE",
)
_PACKAGES = ("torch", "numpy", "metatrain", "torchdata")
_gathered = False


def mask_arguments(arguments: list[str]) -> list[str]:
    """
    Command line arguments with the secret ones replaced by three stars.

    :param arguments: arguments as the process got them.
    :return: as many arguments.
    """
    masked = []
    hide_next = False
    for argument in arguments:
        if hide_next and not argument.startswith("-"):
            masked.append(_MASK)
            hide_next = False
            continue
        name, equals, value = argument.partition("=")
        secret = _SECRET_NAME.search(name.lstrip("-")) is not None
        hide_next = secret and argument.startswith("-") and not equals
        if secret and equals and value:
            masked.append(f"{name}={_MASK}")
        else:
            masked.append(_URL_CREDENTIALS.sub(_MASK, argument))
    return masked


def command_line() -> str:
    """The command of this process as one line, secrets masked."""
    arguments = list(getattr(sys, "argv", [])) or [sys.executable or "python"]
    text = shlex.join(mask_arguments(arguments))
    return text.encode("utf-8", "replace").decode()


def continues_previous() -> bool:
    """Whether this is `mtt train --restart`, which goes on with an earlier run."""
    arguments = list(getattr(sys, "argv", []))
    if "train" not in arguments[1:]:
        return False
    program = Path(arguments[0])
    of_metatrain = program.name == "mtt" or "metatrain" in program.parts
    return of_metatrain and any(
        argument.partition("=")[0] in ("--restart", "-c", "--continue")
        for argument in arguments[1:]
    )


@guarded
def gather() -> None:
    """Note the facts once, when the training has imported what it needs."""
    global _gathered  # noqa: PLW0603
    if _gathered:
        return
    _gathered = True
    facts: dict[str, str | None] = {
        "python.version": ".".join(map(str, sys.version_info[:3])),
        "gpu.name": _gpu_names(),
        "git.commit": git_commit(Path.cwd()),
    }
    for package in _PACKAGES:
        module = sys.modules.get(package)
        facts[f"{package}.version"] = getattr(module, "__version__", None)
    torch: Any = sys.modules.get("torch")
    if torch is not None:
        facts["torch.threads"] = str(torch.get_num_threads())
    for variable in _VARIABLES:
        facts[f"env.{variable}"] = os.environ.get(variable)
    for key, value in facts.items():
        if value is not None:
            _native.set_fact(key, str(value))


def forget() -> None:
    """In a forked child: its facts are its own."""
    global _gathered  # noqa: PLW0603
    _gathered = False


def git_commit(folder: Path) -> str | None:
    """
    The commit that is checked out in a folder, read without running git.

    :param folder: a folder in a work tree.
    :return: its commit, or None outside a repository.
    """
    try:
        git = _git_folder(folder)
        if git is None:
            return None
        head = (git / "HEAD").read_text().strip()
        if not head.startswith("ref: "):
            return head
        return _resolve(git, head.removeprefix("ref: "))
    except (OSError, UnicodeDecodeError):
        return None


def _git_folder(folder: Path) -> Path | None:
    for candidate in (folder, *folder.parents):
        git = candidate / ".git"
        if git.is_dir():
            return git
        if git.is_file():  # a worktree or a submodule
            return (
                candidate / git.read_text().strip().removeprefix("gitdir: ")
            ).resolve()
    return None


def _resolve(git: Path, reference: str) -> str | None:
    common = git / "commondir"
    folders = [git]
    if common.is_file():
        folders.append((git / common.read_text().strip()).resolve())
    for folder in folders:
        if (folder / reference).is_file():
            return (folder / reference).read_text().strip()
        packed = folder / "packed-refs"
        if packed.is_file():
            for line in packed.read_text().splitlines():
                commit, _, name = line.partition(" ")
                if name == reference:
                    return commit
    return None


def _gpu_names() -> str | None:
    """The driver's list: asking CUDA would make a context."""
    names = []
    for path in sorted(Path("/proc/driver/nvidia/gpus").glob("*/information")):
        try:
            text = path.read_text()
        except OSError:
            continue
        found = re.search(r"^Model:\s*(.+?)\s*$", text, re.MULTILINE)
        if found:
            names.append(found[1])
    return ", ".join(names) or None
