"""metatrain's batch sampler by atoms: it packs all batches once, when it is made."""

import functools
from types import ModuleType

from .. import _native
from .patching import Point, replace, timed_call

SAMPLER_SETUP = _native.stage("sampler_setup")


def install(module: ModuleType) -> None:
    """
    Instrument the class.

    :param module: metatrain.utils.data.samplers.
    """
    replace(
        Point(
            module.__name__,
            "MaxAtomDistributedBatchSampler.__init__",
            ("self", "dataset", "max_atoms"),
            "sampler_setup",
        ),
        functools.partial(timed_call, stage=SAMPLER_SETUP),
    )
