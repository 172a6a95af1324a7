#!/usr/bin/env bash
# Runs all checks, even if one of them fails, and lists the failed ones at the end.
set -uo pipefail
cd "$(dirname "$0")/.."

python=.venv/bin/python
failed=()

say() { printf '== %s\n' "$*"; }
fail() {
    printf 'check: %s\n' "$*" >&2
    exit 1
}
. tools/install_package.sh

check() { # name, command...
    local name=$1
    shift
    say "$name"
    "$@" || failed+=("$name")
}

# Checks the licences, sources and duplicates of the extension's dependencies. Skipped if the files below are unchanged since the
# last successful check. cargo-deny is built without optimisation, which takes minutes less.
deny() {
    local inputs=(deny.toml Cargo.lock Cargo.toml crates/*/Cargo.toml) passed=tools/deny.sha256
    ! sha256sum "${inputs[@]}" | cmp -s - $passed || return 0
    PATH=$PWD/.deny/bin:$PATH
    command -v cargo-deny >/dev/null ||
        CARGO_PROFILE_RELEASE_OPT_LEVEL=0 CARGO_PROFILE_RELEASE_CODEGEN_UNITS=256 \
            cargo install cargo-deny --version '^0.20' --locked --quiet --root .deny || return
    cargo deny --log-level error check licenses bans sources || return
    sha256sum "${inputs[@]}" >$passed
    echo "$passed has changed: commit it, so that this is not checked again"
}

command -v valgrind >/dev/null || install_package valgrind "no valgrind found. It counts instructions"

check "ruff format" $python -m ruff format --check .
check "ruff check" $python -m ruff check .
check "mypy --strict" $python -m tools.type_checks
check "stubtest" $python -m mypy.stubtest headrace._native
check "lists of files in rooms" $python -m tools.rooms --check
check "pages of operations" $python tools/ops_pages.py --check
check "page of TensorFlow 1's names" $python -m tools.docs.supported --check
check "zizmor" .venv/bin/zizmor --offline --quiet .github/workflows
check "cargo fmt" cargo fmt --all --check
check "cargo deny" deny
# With the release profile, the C libraries don't have to be rebuilt.
check "cargo clippy" cargo clippy --quiet --release --workspace --all-targets -- -D warnings
check "instructions" $python -m benchmarks.instructions

if [ ${#failed[@]} -gt 0 ]; then
    printf 'failed: %s\n' "${failed[@]}" >&2
    exit 1
fi
echo "all checks passed"
