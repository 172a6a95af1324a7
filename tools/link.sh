#!/usr/bin/env bash
# Links what tools/wheel.sh builds; rustc calls it. zig says how it links, and Rust's own lld does the same, but puts functions and data that
# resemble each other side by side, where they compress better: a twentieth of each wheel. zig's lld has no such option.
# Where Rust's has none either, what zig has linked stays.
set -euo pipefail

zig=CARGO_TARGET_$(uname -m | tr '[:lower:]' '[:upper:]')_UNKNOWN_LINUX_GNU_LINKER # Set by maturin.
if ! said=$("${!zig}" -v "$@" 2>&1); then
    printf '%s\n' "$said" >&2
    exit 1
fi
lld=$(rustc --print target-libdir)/../bin/gcc-ld/ld.lld
line=$(grep '^ld\.lld ' <<<"$said" || true)
case $("$lld" --help 2>/dev/null) in
    *--bp-compression-sort*) ;;
    *) line= ;;
esac
if [ -z "$line" ]; then
    echo "link: Rust's lld or zig's command line was not found: similar functions are not put side by side" >&2
    exit
fi
read -ra arguments <<<"$line"
"$lld" "${arguments[@]:1}" -O2 --hash-style=gnu --bp-compression-sort=both
