"""A metatrain that times itself records through us: its module gets our functions."""

from types import ModuleType

from .. import timing


def install(module: ModuleType) -> None:
    """
    Replace what metatrain's timing module has by what ours has under the same name.

    :param module: metatrain.utils.timing.
    """
    timing.enable()

    def enable() -> None:
        timing.enable()
        module.__dict__["ENABLED"] = timing.ENABLED

    for name in timing.__all__:
        setattr(module, name, getattr(timing, name))
    module.__dict__["enable"] = enable
