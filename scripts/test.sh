#!/usr/bin/env bash
# Builds and tests everything, in stages, and stops at the first that fails.
#
# usage: scripts/test.sh [STAGE]...
#   without STAGE all run, in this order:
#   setup     install what is missing (scripts/setup.sh test)
#   style     clang-format, ruff, shell syntax
#   cpp       build with warnings as errors, C++ tests (preset dev)
#   install   pip install . into .venv
#   types     mypy
#   tidy      clang-tidy (preset tidy)
#   asan      C++ tests under AddressSanitizer and UBSan
#   tsan      C++ tests under ThreadSanitizer
#   fuzz      each fuzzer for a short while (MT_FUZZ_SECONDS, default 20)
#   wheels    a wheel for each CPython from 3.10 that is here, its torch-free tests
#   python    pytest: the Python package, the programs, whole trainings
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
cd "$project_dir"

all_stages=(setup style cpp install types tidy asan tsan fuzz wheels python)
export PATH="$venv_dir/bin:$PATH"
# Objects of one build folder serve the others: paths are hashed relative to the checkout.
export CCACHE_BASEDIR=$project_dir CCACHE_NOHASHDIR=1
export CMAKE_BUILD_PARALLEL_LEVEL=${CMAKE_BUILD_PARALLEL_LEVEL:-$(nproc)}
export PIP_DISABLE_PIP_VERSION_CHECK=1

stage_setup() { scripts/setup.sh test; }

stage_style() {
    git ls-files -z '*.cpp' '*.hpp' | xargs -0 -r clang-format --dry-run --Werror
    ruff check .
    ruff format --check .
    local script
    for script in scripts/*.sh .ci/run; do bash -n "$script"; done
    say "sources are formatted"
}

stage_cpp() { cmake --workflow --preset dev; }

stage_install() { install_project; }

stage_types() { mypy; }

stage_tidy() { cmake --workflow --preset tidy; }

stage_asan() { cmake --workflow --preset asan; }

# With address randomization at its widest, ThreadSanitizer of older compilers may find its
# shadow memory taken and end at once; setarch -R takes the randomness away.
stage_tsan() {
    if setarch -R true 2>/dev/null; then
        setarch -R cmake --workflow --preset tsan
    else
        cmake --workflow --preset tsan
    fi
}

stage_fuzz() {
    cmake --workflow --preset fuzz
    local fuzzer name seeds corpus found=0
    for fuzzer in build/fuzz/tests/fuzz/*_fuzz; do
        [ -x "$fuzzer" ] || continue
        found=1
        name=$(basename "$fuzzer")
        seeds=tests/fuzz/corpus/$name
        corpus=build/fuzz/corpus/$name
        mkdir -p "$corpus"
        say "$name"
        "$fuzzer" -max_total_time="${MT_FUZZ_SECONDS:-20}" -timeout=20 -rss_limit_mb=2048 \
            -verbosity=0 -print_final_stats=1 -artifact_prefix=build/fuzz/ "$corpus" \
            $([ ! -d "$seeds" ] || printf '%s' "$seeds")
    done
    [ $found = 1 ] || die "no fuzzer was built"
}

# The interpreter of one CPython version, wherever it is found and works.
find_python() {
    local version=$1 base=${1%t} candidate  # 3.13t: free-threaded
    for candidate in "$(command -v "python$version" || true)" \
        "$HOME"/.pyenv/versions/"$base".*/bin/"python$version" \
        "$HOME"/.local/share/uv/python/cpython-"$base".*/bin/"python$version" \
        /opt/python*/bin/"python$version"
    do
        if [ -x "$candidate" ] && "$candidate" -c 'import ensurepip, os, sysconfig
assert os.path.exists(os.path.join(sysconfig.get_path("include"), "Python.h"))' 2>/dev/null
        then
            printf '%s\n' "$candidate"
            return
        fi
    done
}

stage_wheels() {
    local version python env wheel
    rm -rf build/wheels
    mkdir -p build/wheels
    for version in 3.10 3.11 3.12 3.13 3.14 3.13t 3.14t; do
        # Outside of .venv, whose python3.X would be found first.
        python=$(PATH=${PATH#"$venv_dir/bin:"} find_python "$version")
        if [ -z "$python" ]; then
            say "CPython $version: not here (or without its headers), skipped"
            continue
        fi
        say "CPython $version: $("$python" --version)"
        env=$project_dir/build/wheels/$version
        "$python" -m venv "$env"
        "$env/bin/python" -m pip wheel --quiet --no-deps --wheel-dir "$env" .
        wheel=$(ls "$env"/*.whl)
        # Some have wheels of older versions only, for a Python without GIL.
        "$env/bin/python" -m pip install --quiet --prefer-binary "$wheel[test]"
        "$env/bin/mt-analyze" --version
        # Away from the sources, so that the installed package is what is imported.
        (cd "$env" && PATH=$env/bin:$PATH VIRTUAL_ENV=$env "$env/bin/python" -m pytest -q \
            -c "$project_dir/pyproject.toml" --rootdir "$project_dir" \
            -p no:cacheprovider "$project_dir/tests/python")
    done
}

stage_python() { python -m pytest; }

if [ "${1:-}" = --help ] || [ "${1:-}" = -h ]; then print_usage && exit; fi
stages=("$@")
[ $# -gt 0 ] || stages=("${all_stages[@]}")
for stage in "${stages[@]}"; do
    declare -F "stage_$stage" >/dev/null || die "unknown stage '$stage'; known: ${all_stages[*]}"
done

summary=()
began=$SECONDS
for stage in "${stages[@]}"; do
    heading "Stage $stage"
    stage_began=$SECONDS
    set +e # in a condition, a function would go on after a failed command
    (
        set -e
        "stage_$stage"
    )
    result=$?
    set -e
    verdict=passed
    [ $result = 0 ] || verdict="FAILED (exit code $result)"
    summary+=("$(printf '%-8s %4d s  %s' "$stage" $((SECONDS - stage_began)) "$verdict")")
    [ $result = 0 ] || break
done

heading "Summary: ${#summary[@]} of ${#stages[@]} stages in $((SECONDS - began)) s"
printf '   %s\n' "${summary[@]}"
exit $result
