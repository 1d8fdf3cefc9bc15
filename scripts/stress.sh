#!/usr/bin/env bash
# The long loops behind docs/reliability.md: processes killed at random instants, forks
# while the database is written, many short lives of workers, a run that is many times as
# large as its limit. Takes about half an hour.
#
# usage: scripts/stress.sh [--short]
#   --short   some rounds of each instead of a thousand, to try the script
#
# Prints a table of what was done and what went wrong: all but the first two columns are
# to be zero, and the exit code is 1 if one is not. Needs what scripts/test.sh installs.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
cd "$project_dir"

export MT_LONG_TESTS=1
epochs=(--passes 300 --workers 8 --turns 3)
large=(--turns 4000000 --limit-mb 100)
case ${1:-} in
    '') ;;
    --short)
        unset MT_LONG_TESTS
        epochs=(--passes 10 --workers 4 --turns 1)
        large=(--turns 200000 --limit-mb 5)
        ;;
    --help | -h) print_usage && exit ;;
    *) die "unknown argument '$1'; try --help" ;;
esac

export CMAKE_BUILD_PARALLEL_LEVEL=${CMAKE_BUILD_PARALLEL_LEVEL:-$(nproc)}
python=$venv_dir/bin/python
[ -x "$python" ] || die "no .venv here: run scripts/test.sh setup install first"
work_dir=$(mktemp -d)
trap 'rm -rf "$work_dir"' EXIT

heading "Build"
cmake --preset dev >"$work_dir/cmake.log" || { cat "$work_dir/cmake.log"; exit 1; }
cmake --build --preset dev --target recorder_stress_test

heading "Kills and forks"
result=0
build/dev/tests/faults/recorder_stress_test --gtest_brief=1 \
    --gtest_output="json:$work_dir/kills.json" || result=1

heading "Workers"
"$python" tests/faults/epochs.py "${epochs[@]}" >"$work_dir/epochs.json" || result=1

heading "A large run"
PATH=$venv_dir/bin:$PATH "$python" tests/faults/large_run.py "${large[@]}" \
    >"$work_dir/large.json" || result=1

heading "Summary"
"$python" - "$work_dir" <<'PYTHON' || result=1
import json
import re
import sys
from pathlib import Path

folder = Path(sys.argv[1])
columns = ("rounds", "records", "lost", "twice", "unnamed", "unsound", "hung")
rows = []
for suite in json.loads((folder / "kills.json").read_text())["testsuites"]:
    for test in suite["testsuite"]:
        words = re.sub(r"(?<!^)(?=[A-Z])", " ", test["name"])
        rows.append({**test, "name": words.capitalize(), "failed": "failures" in test})
for loop in ("epochs.json", "large.json"):
    if (folder / loop).stat().st_size > 0:
        rows.append(json.loads((folder / loop).read_text()))
width = max(len(row["name"]) for row in rows)
print(" " * width, *(f"{column:>8}" for column in columns))
bad = False
for row in rows:
    print(f"{row['name']:{width}}", *(f"{row.get(c, '-')!s:>8}" for c in columns))
    bad = bad or row.get("failed", False)
    bad = bad or any(int(row.get(column, 0)) for column in columns[2:])
for row in rows:
    if "note" in row:
        print(f"{row['name']}: {row['note']}")
sys.exit(bad)
PYTHON
exit $result
