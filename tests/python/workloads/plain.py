"""A program without torch that uses every name of the API."""

import sys
import time

import metatrain_timing
from metatrain_timing import count, timed, timing


class System:
    """Something with atoms."""

    def __init__(self, size: int) -> None:
        self.size = size

    def __len__(self) -> int:
        return self.size


def center(value: int) -> int:
    """A transform with a name."""
    return value


class Rotate:
    """A transform without one."""

    def __call__(self, value: int) -> int:
        return value


@timed("decorated")
def decorated(value: int) -> int:
    """Documented."""
    return value + 1


def main() -> None:
    """Six training steps, three evaluations."""
    for epoch in range(2):
        for item in timing.timed_iter(range(3), "loader", "step"):
            with timed("unpack"):
                timing.count_systems([System(3), System(4)])
            with timed("forward"):
                time.sleep(0.002)
            for transform in (center, Rotate()):
                with timing.timed_transform(transform):
                    transform(item)
            count("tokens", 5)
            decorated(epoch)
    with metatrain_timing.phase("evaluation"):
        for _ in timing.timed_iter(range(3), "loader", "step"):
            with timed("forward"):
                pass
    if "--report" in sys.argv:
        print(timing.report())
    assert "torch" not in sys.modules
    assert "numpy" not in sys.modules


if __name__ == "__main__":
    main()
