"""How far `mt-analyze whatif` is off: predictions beside runs with those settings.

usage: python benchmarks/python/whatif_bench.py [--long] [--kinds sleep cpu]

Records whatif_loop.py with 2 workers and a prefetch factor of 2, predicts the grid of
settings from that, and runs every setting. Prints a table for docs/whatif.md.
"""

import json
import statistics
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from comparison import output_of, parser, print_table, progress, say

LOOP = Path(__file__).with_name("whatif_loop.py")
WORKERS = (0, 1, 2, 4)
PREFETCH = (1, 2, 4)


@dataclass(frozen=True)
class Settings:
    """Of a DataLoader."""

    num_workers: int
    prefetch_factor: int
    in_order: bool

    def arguments(self) -> list[str]:
        order = [] if self.in_order else ["--out-of-order"]
        return [
            f"--num-workers={self.num_workers}",
            f"--prefetch-factor={self.prefetch_factor}",
            *order,
        ]


RECORDED = Settings(2, 2, True)


def grid() -> list[Settings]:
    """All settings; without workers the others say nothing."""
    return [Settings(0, 2, True)] + [
        Settings(workers, prefetch, in_order)
        for workers in WORKERS[1:]
        for prefetch in PREFETCH
        for in_order in (True, False)
    ]


def run(kind: str, settings: Settings, steps: int, database: Path | None) -> float:
    """
    Run the loop in a new process.

    :param database: where it is recorded; None: not at all.
    :return: seconds of a step.
    """
    out = output_of(
        sys.executable,
        LOOP,
        kind,
        f"--steps={steps}",
        *settings.arguments(),
        database=database or "",
    )
    return float(json.loads(out)["step_s"])


def predict(database: Path) -> dict[Settings, tuple[float, float, float]]:
    """
    Step time and its interval for every setting of the grid.

    :param database: of the recorded run.
    """
    out = output_of(
        "mt-analyze",
        "whatif",
        database,
        "--format=json",
        f"--num-workers={','.join(map(str, WORKERS))}",
        f"--prefetch-factor={','.join(map(str, PREFETCH))}",
        "--in-order=true,false",
    )
    return {
        Settings(p["num_workers"], p["prefetch_factor"] or 2, p["in_order"]): (
            p["step_s"],
            p["low_s"],
            p["high_s"],
        )
        for p in json.loads(out)["predictions"]
    }


def ms(seconds: float) -> str:
    return f"{1000 * seconds:.1f}"


def compare(kind: str, steps: int) -> None:
    """
    Print the table of one kind of loop.

    :param kind: `sleep` or `cpu`.
    :param steps: of each run.
    """
    with tempfile.TemporaryDirectory() as folder:
        database = Path(folder) / "run.db"
        run(kind, RECORDED, steps, database)
        predictions = predict(database)
    rows = []
    errors = []
    held = 0
    for settings in grid():
        progress(f"{kind}: {settings}")
        truth = run(kind, settings, steps, None)
        predicted, low, high = predictions[settings]
        error = predicted / truth - 1
        errors.append(abs(error))
        held += low <= truth <= high
        rows.append(
            [
                str(settings.num_workers),
                str(settings.prefetch_factor) if settings.num_workers else "",
                ("yes" if settings.in_order else "no") if settings.num_workers else "",
                ms(truth),
                ms(predicted),
                f"{ms(low)} to {ms(high)}",
                f"{100 * error:+.1f} %",
            ]
        )
    print_table(
        f"A loop of kind {kind}: steps in ms",
        ["workers", "prefetch", "in order", "measured", "predicted", "95 %", "error"],
        rows,
    )
    say(
        f"{kind}: median error {100 * statistics.median(errors):.1f} %, greatest "
        f"{100 * max(errors):.1f} %; {held} of {len(errors)} intervals held"
    )


def main() -> None:
    arguments = parser(__doc__)
    arguments.add_argument("--kinds", nargs="+", default=["sleep", "cpu"])
    given = arguments.parse_args()
    for kind in given.kinds:
        compare(kind, 600 if given.long else 150)


if __name__ == "__main__":
    main()
