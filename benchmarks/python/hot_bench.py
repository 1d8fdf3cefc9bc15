"""What an interval costs a C++ program, beside its floor and LTTng-UST.

usage: python benchmarks/python/hot_bench.py [--long] [--build FOLDER]

Runs `interval_bench` and `lttng_bench` of the build folder, each time in new processes.
"""

import contextlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from comparison import (
    difference,
    estimate,
    parser,
    print_table,
    progress,
    ratio,
    run_rounds,
    say,
)

FLOOR = "two TSC reads, 32 bytes stored"
EMPTY = "empty loop"
OURS = "interval on"
OFF = "interval off"
LTTNG = "LTTng-UST event pair"
LTTNG_OFF = "LTTng-UST event pair, no session"

NAMES = {
    "EmptyLoop": EMPTY,
    "TwoTicksAndAStore": FLOOR,
    "TwoClockReads": "two clock_gettime",
    "IntervalOff": OFF,
    "IntervalOn": OURS,
    "BeginAndEnd": "begin() and end() on",
    "IntervalWithCpuTime": "interval with CPU time",
    "Count": "count() on",
}
ORDER = (
    EMPTY,
    FLOOR,
    "two clock_gettime",
    OFF,
    OURS,
    "begin() and end() on",
    "count() on",
    "interval with CPU time",
    LTTNG_OFF,
    LTTNG,
)

Costs = dict[str, tuple[float, float]]  # party: median and p99.9, ns


def run_google_benchmark(program: Path, environment: dict[str, str]) -> Costs:
    """
    The costs a program of Google Benchmark finds, one repetition of each.

    :param program: its path.
    :param environment: added to ours.
    """
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "costs.json"
        subprocess.run(
            [
                program,
                "--benchmark_repetitions=1",
                f"--benchmark_out={out}",
                "--benchmark_out_format=json",
            ],
            env={**os.environ, **environment, "METATRAIN_TIMING_DB": ""},
            check=True,
            capture_output=True,
        )
        found = json.loads(out.read_text())["benchmarks"]
    dropped = sum(entry.get("dropped", 0) for entry in found)
    if dropped:
        raise RuntimeError(f"{dropped:.0f} records were dropped: nothing is measured")
    return {
        entry["name"].split("/")[0]: (entry["median_ns"], entry["p999_ns"])
        for entry in found
    }


class LttngSession:
    """A tracing session of LTTng that discards events when its buffers are full."""

    name = f"metatrain-timing-{os.getpid()}"

    def __init__(self, folder: Path) -> None:
        self.environment = {
            **os.environ,
            "LTTNG_HOME": str(folder),
            "LTTNG_UST_REGISTER_TIMEOUT": "-1",  # wait for the daemon
        }
        self.folder = folder

    def command(self, *arguments: str) -> str:
        """
        What the program lttng prints.

        :param arguments: its arguments.
        """
        return subprocess.run(
            ["lttng", "--no-sessiond", *arguments],  # it would leave one behind
            env=self.environment,
            check=True,
            capture_output=True,
            text=True,
        ).stdout

    def create(self) -> None:
        """Begin to trace the events of lttng_events.inc."""
        self.command("create", self.name, f"--output={self.folder / 'trace'}")
        self.command(
            "enable-channel", "--userspace", f"--session={self.name}", "--discard",
            "--subbuf-size=4M", "--num-subbuf=8", "channel",
        )  # fmt: skip
        self.command(
            "enable-event", "--userspace", f"--session={self.name}",
            "--channel=channel", "metatrain_timing_bench:*",
        )  # fmt: skip
        self.command("start", self.name)

    def destroy(self) -> None:
        """End the session."""
        self.command("destroy", self.name)

    def discarded_count(self) -> int:
        """Events that found no room."""
        for line in self.command("list", self.name).splitlines():
            if "Discarded events:" in line:
                return int(line.split(":")[1])
        raise RuntimeError("lttng list does not tell the discarded events")


@contextlib.contextmanager
def lttng_session() -> Iterator[LttngSession]:
    """A session, by a session daemon of its own unless this user runs one already."""
    with tempfile.TemporaryDirectory() as folder:
        session = LttngSession(Path(folder))
        daemon = subprocess.Popen(
            ["lttng-sessiond", "--no-kernel"],
            env=session.environment,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        try:
            for _ in range(50):
                try:
                    session.create()
                    break
                except subprocess.CalledProcessError:
                    time.sleep(0.1)
            else:
                raise RuntimeError("the session daemon does not answer")
            yield session
            session.destroy()
        finally:
            daemon.terminate()
            daemon.wait()


def with_session(program: Path) -> Costs:
    """
    The costs of LTTng's events while they are traced.

    :param program: lttng_bench.
    """
    with lttng_session() as session:
        costs = run_google_benchmark(program, session.environment)
        discarded = session.discarded_count()
    if discarded:
        raise RuntimeError(f"LTTng discarded {discarded} events: nothing is measured")
    return {LTTNG: costs["EventPair"]}


def why_no_lttng(program: Path) -> str:
    """
    Why LTTng cannot take part; empty: it can.

    :param program: lttng_bench.
    """
    if not program.exists():
        return "the build found no LTTng-UST (package liblttng-ust-dev)"
    if shutil.which("lttng-sessiond") is None:
        return "there is no lttng-sessiond (package lttng-tools)"
    try:
        with lttng_session():
            return ""
    except (RuntimeError, subprocess.CalledProcessError) as error:
        return str(error)


def main() -> int:
    """Print the table."""
    options = parser(__doc__).parse_args()
    bench = options.build / "benchmarks"
    progress("C++ hot path")
    parties = {
        "ours": lambda: {
            NAMES[name]: cost
            for name, cost in run_google_benchmark(bench / "interval_bench", {}).items()
        }
    }
    no_lttng = why_no_lttng(bench / "lttng_bench")
    if not no_lttng:
        parties["lttng off"] = lambda: {
            LTTNG_OFF: run_google_benchmark(
                bench / "lttng_bench", {"LTTNG_UST_REGISTER_TIMEOUT": "0"}
            )["EventPair"]
        }
        parties["lttng"] = lambda: with_session(bench / "lttng_bench")
    rounds = run_rounds(parties, 25 if options.long else 9)

    median: dict[str, list[float]] = {}
    tail: dict[str, list[float]] = {}
    for costs in (entry for found in rounds.values() for entry in found):
        for name, (median_ns, p999_ns) in costs.items():
            median.setdefault(name, []).append(median_ns)
            tail.setdefault(name, []).append(p999_ns)

    def row(name: str) -> list[str]:
        over = difference(median[name], median[EMPTY])
        return [
            name,
            estimate(median[name]).text_with_interval(),
            over.text(),
            ratio(median[name], median[FLOOR]).text_with_interval(),
            estimate(tail[name]).text(),
        ]

    print_table(
        "C++: one interval, in ns",
        [
            "party",
            "median (95 %)",
            "over the loop",
            "of the floor (95 %)",
            "p99.9",
        ],
        [row(name) for name in ORDER if name in median],
    )
    if no_lttng:
        say(f"Without LTTng-UST: {no_lttng}.")
    else:
        of_lttng = ratio(median[OURS], median[LTTNG])
        say(f"{OURS} / {LTTNG}: {of_lttng.text_with_interval()}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
