#!/usr/bin/env bash
# Builds wheels for Linux in dist/, for every system with glibc 2.28 or newer: one for CPython 3.11 and newer (abi3), and one for each free-threaded
# CPython that is found. zig compiles and links, so that no container is needed. auditwheel looks whether the names are right. A wheel is tried in a
# fresh environment of each Python that is found.
set -euo pipefail
cd "$(dirname "$0")/.."

say() { printf '== %s\n' "$*"; }
fail() {
    printf 'wheel: %s\n' "$*" >&2
    exit 1
}
. tools/install_package.sh
tools=.wheel
platform=manylinux_2_28
wanted_bytes=20000000
has_no_gil='import sysconfig; print(sysconfig.get_config_var("Py_GIL_DISABLED") or 0)'
machine=$(uname -m)
requirements=('maturin>=1.14,<2' 'ziglang>=0.13,<0.16' 'auditwheel>=6,<7' 'wheel>=0.45' 'cmake>=3.20,<5')
# Wheels for these also run where pages have 64 KiB.
[ "$machine" != aarch64 ] || export JEMALLOC_SYS_WITH_LG_PAGE=16

if [ "$(cat $tools/installed 2>/dev/null)" != "${requirements[*]}" ]; then
    say "installing what builds wheels into $tools"
    .venv/bin/python -m venv --clear $tools
    $tools/bin/python -m pip install --quiet "${requirements[@]}"
    printf '%s\n' "${requirements[*]}" >$tools/installed
fi
export PATH=$PWD/$tools/bin:$PATH

# Nothing unwinds through C.
export CFLAGS="${CFLAGS:-} -fno-asynchronous-unwind-tables -fno-unwind-tables"
# While linking, little is inlined from one crate into another; each crate has inlined what is its own by then. Loops are not unrolled where
# it is not known how often they run, and code is not aligned where that takes more than a byte: pipelines take the same
# time, of the kernels that were tried only cumsum of float32 along the first axis takes more (5 %), and a wheel has some 70 KB less.
linking=(-C linker="$PWD/tools/link.sh" -C linker-flavor=gcc)
for option in inlinedefault-threshold=25 inlinehint-threshold=150 unroll-runtime=false unroll-threshold=30 \
    max-bytes-for-alignment=1 tail-dup-size=1 tail-dup-placement-threshold=1; do
    linking+=(-C llvm-args=-$option)
done

rm -rf dist build/wheel
mkdir -p dist

build_wheel() { # the directory in build/wheel, then arguments of maturin; sets wheel
    local built=build/wheel/$1 directory licences
    say "building for $1"
    maturin build --profile wheel --strip --zig --compatibility $platform --out "$built" "${@:2}" -- "${linking[@]}"
    say "adding the licences of what is linked"
    wheel unpack --dest "$built" "$built"/headrace-*.whl
    directory=("$built"/headrace-*/)
    licences=("${directory[0]}"headrace-*.dist-info/licenses)
    python tools/licences.py "$machine-unknown-linux-gnu" "${licences[0]}/LINKED.txt"
    wheel=dist/$(basename "$built"/headrace-*.whl)
    wheel pack --dest-dir dist "${directory[0]}"
    say "compressing it better"
    command -v advzip >/dev/null || install_package advancecomp "no advzip found, which compresses wheels"
    advzip --recompress --shrink-insane --quiet "$wheel"
    python -m zipfile --test "$wheel" >/dev/null

    say "auditwheel"
    auditwheel show "$wheel" | tee "$built/audit"
    grep -q "\"${platform}_$machine\"" "$built/audit" || fail "auditwheel does not agree with $platform"
    size=$(stat -c %s "$wheel")
    say "$wheel: $size bytes"
    [ "$size" -lt $wanted_bytes ] || fail "$wheel has $size bytes, $wanted_bytes or more; see \"Systems\" in DESIGN.md"
}

find_python() { # version, with a t if it is to be free-threaded; sets python
    local expected=0
    case $1 in *t) expected=1 ;; esac
    python=$(command -v "python$1" || true)
    [ -n "$python" ] && [ "$("$python" -c "$has_no_gil" 2>/dev/null)" = $expected ]
}

try_wheel() { # version
    local environment=$PWD/build/wheel/python$1
    say "trying it with $("$python" --version)"
    "$python" -m venv --clear "$environment"
    "$environment/bin/python" -m pip install --quiet "${wheel}[cli]"
    (cd build/wheel && "$environment/bin/python" ../../tools/try_wheel.py && "$environment/bin/headrace" --version)
}

build_wheel abi3
tried=0
for version in 3.11 3.12 3.13 3.14; do
    if find_python $version; then
        try_wheel $version
        tried=$((tried + 1))
    else
        say "no Python $version here: not tried"
    fi
done
[ $tried -gt 0 ] || fail "no Python found to try it with"

# PyO3 leaves abi3 out for these by itself, and knows none before 3.14.
for version in 3.14t; do
    if find_python $version; then
        build_wheel $version --interpreter "$python"
        try_wheel $version
    else
        say "no free-threaded Python $version here: no wheel for it, and not tried"
    fi
done
