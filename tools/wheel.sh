#!/usr/bin/env bash
# Builds a wheel for Linux in dist/: abi3 for CPython 3.11 and newer, for every system with glibc 2.28 or newer. zig compiles and links, so that no
# container is needed. auditwheel looks whether the name is right. The wheel is tried in a fresh environment of each Python that is found.
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
wanted_bytes=5000000
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
# While linking, little is inlined from one crate into another; each crate has inlined what is its own by then.
linking=(-C linker="$PWD/tools/link.sh" -C linker-flavor=gcc -C llvm-args=-inlinedefault-threshold=25 -C llvm-args=-inlinehint-threshold=150)

say "building"
rm -rf dist build/wheel
maturin build --profile wheel --strip --zig --compatibility $platform --out build/wheel -- "${linking[@]}"
say "adding the licences of what is linked"
wheel unpack --dest build/wheel build/wheel/headrace-*.whl
directory=(build/wheel/headrace-*/)
licences=("${directory[0]}"headrace-*.dist-info/licenses)
python tools/licences.py "$machine-unknown-linux-gnu" "${licences[0]}/LINKED.txt"
mkdir -p dist
wheel pack --dest-dir dist "${directory[0]}"
file=(dist/headrace-*.whl)
say "compressing it better"
command -v advzip >/dev/null || install_package advancecomp "no advzip found, which compresses wheels"
advzip --recompress --shrink-insane --quiet "${file[0]}"
python -m zipfile --test "${file[0]}" >/dev/null

say "auditwheel"
auditwheel show "${file[0]}" | tee build/wheel/audit
grep -q "\"${platform}_$machine\"" build/wheel/audit || fail "auditwheel does not agree with $platform"
size=$(stat -c %s "${file[0]}")
say "${file[0]}: $size bytes, of $wanted_bytes that are the goal"

tried=0
for version in 3.11 3.12 3.13 3.14; do
    python=$(command -v "python$version" || true)
    if [ -z "$python" ] || ! "$python" -c '' 2>/dev/null; then
        say "no Python $version here: not tried"
        continue
    fi
    say "trying it with $("$python" --version)"
    environment=build/wheel/python$version
    "$python" -m venv --clear "$environment"
    "$environment/bin/python" -m pip install --quiet "${file[0]}[cli]"
    (cd build/wheel && "../../$environment/bin/python" ../../tools/try_wheel.py && "../../$environment/bin/headrace" --version)
    tried=$((tried + 1))
done
[ $tried -gt 0 ] || fail "no Python found to try it with"
