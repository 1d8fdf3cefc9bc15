"""A loop without torch that takes many turns; usage: turns.py TURNS."""

import sys

import metatrain_timing as timing

turns = int(sys.argv[1])
for turn in timing.timed_iter(range(turns), "loader", "step"):
    with timing.timed("forward"), timing.timed("layer"):
        pass
    with timing.timed("backward"):
        pass
    timing.count("structures", 2 + turn % 3)
    if turn % 500 == 0:
        timing.flush()  # so that no buffer gets full
