"""A loop without torch that takes many turns; usage: turns.py TURNS.

Prints what the process itself counted, which no file has gone through, and the table of
its own, in JSON.
"""

import json
import sys

import metatrain_timing as timing
from metatrain_timing import _native
from metatrain_timing.timing import report

turns = int(sys.argv[1])
for turn in timing.timed_iter(range(turns), "loader", "step"):
    with timing.timed("forward"), timing.timed("layer"):
        pass
    with timing.timed("backward"):
        pass
    timing.count("structures", 2 + turn % 3)
    if turn % 500 == 0:
        timing.flush()  # so that no buffer gets full
timing.flush()
stages = {name: [calls, total_ns] for name, calls, total_ns in _native.totals()}
print(json.dumps({"stages": stages, "table": report()}))
