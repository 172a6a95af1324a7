#!/usr/bin/env bash
# Runs the tests that every change must pass. --nightly adds the slow tests, and checks models of locks at full depth.
# SKIP="models tf1" leaves out those models and the tests of TensorFlow 1. The Rust tests are built and run while the Python tests
# run, which spend much of their time waiting. `nice` keeps the compiler from slowing them down.
set -euo pipefail
cd "$(dirname "$0")/.."

python=.venv/bin/python
is_nightly=false
[ "${1:-}" != --nightly ] || is_nightly=true
is_skipped() { [[ " ${SKIP:-} " == *" $1 "* ]]; }
packages=(--workspace)
loom=headrace-pipeline/loom
if is_skipped tf1; then
    packages+=(--exclude headrace-tf1)
else
    loom+=,headrace-tf1/loom
fi
cargo_test() { nice -n 19 cargo test --quiet --release "${packages[@]}" "$@"; }

models() {
    if $is_nightly; then
        # Exploring all thread interleavings takes too long without optimisation, or with overflow checks.
        cargo_test --features $loom --test 'loom_*'
    else
        # Most defects need few preemptions. Limited to two, the tests can run without optimisation, which builds in seconds.
        LOOM_MAX_PREEMPTIONS=2 cargo_test --config tools/rust_tests.toml --features $loom --test 'loom_*'
    fi
    cargo_test --config tools/rust_tests.toml --features headrace-pipeline/shuttle --test simulation
}

rust_tests() {
    cargo_test --config tools/rust_tests.toml
    is_skipped models || models
}

pytest_options=(--numprocesses=auto --maxprocesses=4 --dist=worksteal --durations=15)
# The longest nightly tests have an hour.
! $is_nightly || pytest_options+=(--nightly -o faulthandler_timeout=3660)
! is_skipped tf1 || pytest_options+=(--ignore=tests/tf1)

log=$(mktemp)
(set -e; rust_tests) >"$log" 2>&1 &
rust=$!
status=0
$python -m pytest "${pytest_options[@]}" || status=$?
wait $rust || status=$?
cat "$log"
rm "$log"
exit "$status"
