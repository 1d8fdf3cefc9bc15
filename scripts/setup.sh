#!/usr/bin/env bash
# Installs what this project needs on Debian 12 or Ubuntu 24.04 and newer, and only that
# which is missing:
#   - Debian packages by apt-get (with sudo, unless run as root),
#   - Python packages into the virtual environment .venv of this checkout.
#
# usage: scripts/setup.sh [demo|test|benchmarks]
#   demo         to build, install, train and report: what scripts/demo.sh needs (the default)
#   test         the same, and what scripts/test.sh checks with
#   benchmarks   to build and install, and what scripts/benchmarks.sh compares with
#
# MT_VENV_DIR names another virtual environment than .venv.
# PYTHON names the Python (3.10 or newer) that .venv is made with; default python3.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

build_packages=(
    g++ cmake ninja-build libsqlite3-dev libsqlitecpp-dev libfmt-dev libcli11-dev
    nlohmann-json3-dev rapidjson-dev zlib1g-dev libboost-math-dev python3 python3-dev python3-venv
)
test_packages=(
    libgtest-dev libgmock-dev libbenchmark-dev ccache clang-14 libclang-rt-14-dev
    sqlite3 lsof git
)
benchmark_packages=(libgtest-dev libgmock-dev libbenchmark-dev)
# Without these some rows of the benchmarks' tables are missing, no more.
other_parties=(lttng-tools liblttng-ust-dev valgrind)

# Which of the packages are not installed.
missing_packages() {
    local package
    for package in "$@"; do
        dpkg-query -W -f '${db:Status-Status}\n' "$package" 2>/dev/null |
            grep -qx installed || printf '%s\n' "$package"
    done
}

install_debian_packages() {
    local missing run=()
    if ! command -v apt-get >/dev/null; then
        say "no apt-get here: taking for granted what these packages hold: $*"
        return
    fi
    mapfile -t missing < <(missing_packages "$@")
    if [ ${#missing[@]} -eq 0 ]; then
        say "Debian packages: all ${#} are installed"
        return
    fi
    if [ "$(id -u)" != 0 ]; then
        command -v sudo >/dev/null || die "needs root to run: apt-get install ${missing[*]}"
        run=(sudo)
    fi
    say "Debian packages: installing ${missing[*]}"
    run+=(env DEBIAN_FRONTEND=noninteractive apt-get -qq -o Dpkg::Use-Pty=0)
    "${run[@]}" update
    "${run[@]}" install --yes --no-install-recommends "${missing[@]}" >/dev/null
}

make_venv() {
    local python=${PYTHON:-python3}
    if [ -x "$venv_dir/bin/python" ] && "$venv_dir/bin/python" -m pip --version >/dev/null 2>&1
    then
        return
    fi
    "$python" -c 'import sys; sys.exit(sys.version_info < (3, 10))' ||
        die "$python is older than Python 3.10; set PYTHON to a newer one"
    say "Python packages: making $venv_dir with $("$python" --version)"
    "$python" -m venv --clear "$venv_dir"
}

install_python_packages() {
    local requirements=$1 stamp wanted
    # The stamp holds what was installed: a changed pin installs again.
    stamp=$venv_dir/.installed-$(basename "$requirements" .txt)
    wanted=$(cat "$project_dir"/scripts/requirements-*.txt | cksum)
    if [ -e "$stamp" ] && [ "$(cat "$stamp")" = "$wanted" ]; then
        say "Python packages: those of scripts/$(basename "$requirements") are installed"
        return
    fi
    say "Python packages: installing those of scripts/$(basename "$requirements") into $venv_dir (some minutes)"
    "$venv_dir/bin/python" -m pip install --quiet --disable-pip-version-check \
        --requirement "$requirements"
    printf '%s\n' "$wanted" >"$stamp"
}

case ${1:-demo} in
    demo) packages=("${build_packages[@]}") ;;
    test) packages=("${build_packages[@]}" "${test_packages[@]}") ;;
    benchmarks) packages=("${build_packages[@]}" "${benchmark_packages[@]}") ;;
    *) die "unknown set '$1'; known: demo, test, benchmarks" ;;
esac
heading "Setup (${1:-demo})"
install_debian_packages "${packages[@]}"
if [ "${1:-demo}" = benchmarks ]; then
    install_debian_packages "${other_parties[@]}" || say "not all of these can be had"
fi
make_venv
install_python_packages "$project_dir/scripts/requirements-${1:-demo}.txt"
