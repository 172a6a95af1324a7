#!/usr/bin/env bash
# Runs all tests. Those in Rust are built and run beside those in Python, which wait much of their time; `nice` keeps the
# compiler from making these late.
set -euo pipefail
cd "$(dirname "$0")/.."

python=.venv/bin/python
cargo_test() { nice -n 19 cargo test --quiet --release --workspace "$@"; }

rust_tests() {
    cargo_test --config tools/rust_tests.toml
    cargo_test --config tools/rust_tests.toml --features headrace-pipeline/shuttle --test simulation
    # Exploring all orders of threads takes too long without optimisation, and with checks.
    cargo_test --features headrace-pipeline/loom \
        --test loom_queue --test loom_staging --test loom_barrier --test loom_fair_lock --test loom_stop --test loom_pipeline
}

log=$(mktemp)
(set -e; rust_tests) >"$log" 2>&1 &
rust=$!
status=0
$python -m pytest --numprocesses=auto --maxprocesses=4 --dist=worksteal --durations=15 || status=$?
wait $rust || status=$?
cat "$log"
rm "$log"
exit "$status"
