# Sourced by the scripts beside it: messages, and where things are.
# shellcheck shell=bash

project_dir=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
venv_dir=${MT_VENV_DIR:-$project_dir/.venv}

# say TEXT...: what is being done, on stdout.
say() { printf '%s\n' "-- $*"; }

# heading TEXT...: the beginning of a larger part.
heading() { printf '\n== %s\n' "$*"; }

# die TEXT...: ends the script with a reason.
die() {
    printf '%s: %s\n' "$(basename "$0")" "$*" >&2
    exit 1
}

# install_project: installs metatrain-timing into $venv_dir. Without build isolation, so that
# the build folder stays valid and a second time compiles only what changed.
install_project() {
    "$venv_dir/bin/python" -m pip install --quiet --disable-pip-version-check \
        --no-build-isolation --no-deps --force-reinstall "$project_dir"
}

# print_usage: the comment at the head of the script that runs.
print_usage() { sed -n '2,/^set/{/^set/d;s/^# \{0,1\}//;p}' "$0"; }
