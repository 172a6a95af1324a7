#!/usr/bin/env bash
# Links what tools/wheel.sh builds; rustc calls it. zig says how it links, and the lld that comes with Rust does the same, but
# - puts functions and data that resemble each other side by side, where they compress better: a twentieth of each wheel. zig's lld has no
#   such option, and before Rust 1.91 there is none either;
# - makes one of functions and of constants that are equal, which nobody here tells apart by their address;
# - unwinds with the system's libgcc_s, not with a library of zig's in the extension. A daemon thread that Python ends while it exits is
#   unwound by libgcc_s, whose notes another library misreads: the process would crash.
set -euo pipefail

zig=CARGO_TARGET_$(uname -m | tr '[:lower:]' '[:upper:]')_UNKNOWN_LINUX_GNU_LINKER # Set by maturin.
if ! said=$("${!zig}" -v "$@" 2>&1) || ! line=$(grep '^ld\.lld ' <<<"$said"); then
    printf '%s\n' "$said" >&2
    exit 1
fi
lld=$(rustc --print target-libdir)/../bin/gcc-ld/ld.lld
libgcc=$("${CC:-cc}" -print-file-name=libgcc_s.so.1)
read -ra arguments <<<"$line"
arguments=("${arguments[@]/#*\/libunwind.a/$libgcc}")
case $("$lld" --help) in
    *--bp-compression-sort=*) arguments+=(--bp-compression-sort=both) ;;
esac
"$lld" "${arguments[@]:1}" -O2 --hash-style=gnu --icf=all
