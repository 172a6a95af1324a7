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
tools=.wheel
platform=manylinux_2_28
most_bytes=20000000
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

# The extension unwinds with the system's libgcc_s, not with the library of zig's that would be linked into it. A daemon
# thread that Python ends while it exits is unwound by libgcc_s, whose notes another library misreads: the process would crash.
libgcc=$("${CC:-cc}" -print-file-name=libgcc_s.so.1)

rm -rf dist build/wheel
mkdir -p dist

build_wheel() { # the directory in build/wheel, then arguments of maturin; sets wheel
    local built=build/wheel/$1 directory licences
    say "building for $1"
    maturin build --release --strip --zig --compatibility $platform --out "$built" "${@:2}" -- -C link-arg="$libgcc"
    say "adding the licences of what is linked"
    wheel unpack --dest "$built" "$built"/headrace-*.whl
    directory=("$built"/headrace-*/)
    licences=("${directory[0]}"headrace-*.dist-info/licenses)
    python tools/licences.py "$machine-unknown-linux-gnu" "${licences[0]}/LINKED.txt"
    wheel=dist/$(basename "$built"/headrace-*.whl)
    wheel pack --dest-dir dist "${directory[0]}"

    say "auditwheel"
    auditwheel show "$wheel" | tee "$built/audit"
    grep -q "\"${platform}_$machine\"" "$built/audit" || fail "auditwheel does not agree with $platform"
    size=$(stat -c %s "$wheel")
    say "$wheel: $size bytes"
    [ "$size" -lt $most_bytes ] || fail "$wheel has $size bytes, expected less than $most_bytes"
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
