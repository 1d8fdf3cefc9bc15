#!/usr/bin/env bash
# Measures what recording costs, beside other tools, all in one run on this machine, and
# prints tables in Markdown; docs/benchmarks.md says what they mean.
#
# usage: scripts/benchmarks.sh [--long] [hot|python|drain|training|faults|report|whatif|diff|all]...
#   hot        C++: an interval beside its floor and LTTng-UST; instruction counts
#   python     a `timed` block beside nvtx, VizTracer, torch, OpenTelemetry, plain Python
#   drain      rows a second into SQLite; what the drain thread takes of a core
#   training   steps of a training with recording off, on, and under traceml-ai
#   faults     steps of a training whose disk is full, breaks, is slow or hangs
#   report     mt-analyze on 12 million intervals, beside pandas and DuckDB
#   whatif     predictions of mt-analyze whatif beside runs with those settings
#   diff       how often mt-analyze diff and history are right: on made-up pairs of runs, 20 of
#              each kind, with --long 1,000 (two hours), on made-up series, and on real runs
#   all        all of these (the default; took 23 minutes on two busy cores)
#   --long     more and longer rounds: some times as long
#
# The machine should do nothing else meanwhile. Debian packages are installed where they
# are missing, Python packages into build/benchmarks/venv.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
cd "$project_dir"

export MT_VENV_DIR=$project_dir/build/benchmarks/venv
venv_dir=$MT_VENV_DIR
python=$venv_dir/bin/python

long=()
sections=()
for argument in "$@"; do
    case $argument in
        hot | python | drain | training | faults | report | whatif | diff) sections+=("$argument") ;;
        all) sections=(hot python drain training faults report whatif diff) ;;
        --long) long=(--long) ;;
        --help | -h) print_usage && exit ;;
        *) die "unknown argument '$argument'; try --help" ;;
    esac
done
[ ${#sections[@]} -gt 0 ] || sections=(hot python drain training faults report whatif diff)

# bench NAME: runs one of benchmarks/python.
bench() { "$python" "benchmarks/python/$1_bench.py" "${long[@]}"; }

# A Python that has Apache Otava, which wants another numpy than the others.
otava_python() {
    local folder=build/benchmarks/otava
    [ -x "$folder/bin/python" ] || "$python" -m venv "$folder" >&2
    "$folder/bin/python" -m pip install --quiet -r scripts/requirements-otava.txt >&2
    printf '%s\n' "$folder/bin/python"
}

run_section() {
    case $1 in
        hot) bench hot && "$python" benchmarks/python/count_bench.py ;;
        python) bench timed ;;
        drain) bench drain ;;
        training) bench step ;;
        faults) bench fault ;;
        report) bench report ;;
        whatif) bench whatif ;;
        diff)
            local otava pairs=20 series=100
            [ ${#long[@]} -eq 0 ] || pairs=1000 series=1000
            "$python" -m benchmarks.calibration --pairs "$pairs"
            otava=$(otava_python)
            "$python" -m benchmarks.calibration.history --series "$series" --otava "$otava"
            "$python" -m benchmarks.calibration.real_runs
            ;;
    esac
}

describe_machine() {
    say "$(date -u '+%Y-%m-%d %H:%M UTC'), commit $(git rev-parse --short HEAD 2>/dev/null || echo unknown)"
    say "$(nproc) cores of $(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1), Linux $(uname -r)"
    say "clock source $(cat /sys/devices/system/clocksource/clocksource0/current_clocksource), $("$python" --version), $("${CXX:-c++}" --version | head -n 1)"
    say "load before: $(cut -d ' ' -f 1-3 /proc/loadavg)"
}

scripts/setup.sh benchmarks >&2
{
    heading "Build (preset release)"
    cmake --preset release
    cmake --build --preset release --target benchmarks/all
    heading "Install metatrain-timing into build/benchmarks/venv"
    install_project
} >&2
describe_machine
for section in "${sections[@]}"; do
    run_section "$section"
done
