"""Runs a hook right after the module that it patches was imported.

Others bind the patched names with `from module import name` only after the module is
complete, so they get the replacements.

Every Python process with METATRAIN_TIMING_DB set imports this: no `importlib.abc`,
which takes longer than all the rest.
"""

from __future__ import annotations

import importlib
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from importlib.abc import Loader, MetaPathFinder
    from importlib.machinery import ModuleSpec
    from types import ModuleType
else:
    Loader = MetaPathFinder = object

# Module that was imported -> module of `_hooks` whose `install(module)` patches it.
HOOKS = {
    "torch.utils.data.dataloader": "dataloader",
    "torch.autograd": "autograd",
    "torch.optim.optimizer": "optimizer",
    "torch.profiler.profiler": "profiler",
    "torch.nn.utils.clip_grad": "gradients",
    "torchdata.stateful_dataloader.stateful_dataloader": "torchdata",
    "metatrain.utils.data.dataset": "metatrain_data",
    "metatrain.utils.data.combine_dataloaders": "metatrain_loader",
    "metatrain.utils.data.samplers": "metatrain_sampler",
    "metatrain.utils.transfer": "metatrain_step",
    "metatrain.utils.evaluate_model": "metatrain_step",
    "metatrain.utils.loss": "metatrain_step",
    "metatrain.utils.per_atom": "metatrain_step",
    "metatrain.utils.metrics": "metatrain_step",
    "metatrain.utils.abc": "metatrain_options",
    "metatrain.cli.train": "metatrain_options",
    "metatrain.utils.timing": "metatrain_timing_module",
}


def run_hook(module: ModuleType) -> None:
    """
    Patch a module that was just imported; a failure is said and goes no further.

    :param module: the module, fully initialised.
    """
    try:
        hook = importlib.import_module(f"{__package__}.{HOOKS[module.__name__]}")
        hook.install(module)
    except Exception as error:
        print(
            f"metatrain-timing: cannot instrument {module.__name__} "
            f"({type(error).__name__}: {error}); its stages will be missing",
            file=sys.stderr,
        )


class _PatchingLoader(Loader):
    """Loads a module as its own loader does, then runs the hook."""

    def __init__(self, loader: Loader) -> None:
        self._loader = loader

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        return self._loader.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        # From here on the module looks as if it had never been ours.
        module.__loader__ = self._loader
        if module.__spec__ is not None:
            module.__spec__.loader = self._loader
        self._loader.exec_module(module)
        run_hook(module)


class _Finder(MetaPathFinder):
    """Finds the modules of `HOOKS` by the other finders and adds the hook."""

    def find_spec(
        self,
        fullname: str,
        path: Sequence[str] | None,
        target: ModuleType | None = None,
    ) -> ModuleSpec | None:
        if fullname not in HOOKS:
            return None
        for finder in sys.meta_path:
            if finder is self:
                continue
            spec = finder.find_spec(fullname, path, target)
            if spec is None:
                continue
            if spec.loader is not None and hasattr(spec.loader, "exec_module"):
                spec.loader = _PatchingLoader(spec.loader)
            return spec
        return None


_finder = _Finder()


def install() -> None:
    """Watch for imports, and patch what is imported already. Idempotent."""
    if _finder in sys.meta_path:
        return
    sys.meta_path.insert(0, _finder)
    for name in HOOKS:
        module = sys.modules.get(name)
        # A module in the middle of its import is patched by whoever imports it.
        if module is not None and not _initializing(module):
            run_hook(module)


def _initializing(module: ModuleType) -> bool:
    return bool(getattr(module.__spec__, "_initializing", False))
