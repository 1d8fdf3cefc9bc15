"""Changes that Apache Otava finds in series: a line with a JSON array of values in, a
line with a JSON array of positions out. Runs in a Python that has apache-otava and need
have nothing else of ours.
"""

import json
import sys

from otava.analysis import compute_change_points


def main() -> None:
    for line in sys.stdin:
        changes, _ = compute_change_points(json.loads(line))
        print(json.dumps([int(change.index) for change in changes]))


if __name__ == "__main__":
    main()
