#!/bin/sh
# Fuzzes one target: fuzz/run.sh TARGET [libFuzzer's options]; see README.md beside it.
set -e
cd "$(dirname "$0")/.."
target=$1
shift
mkdir -p "fuzz/work/$target" "fuzz/artifacts/$target"
# More memory than 2 GiB, or one piece of more than 600 MiB, is a finding, and so are 10 seconds.
set -- "-artifact_prefix=fuzz/artifacts/$target/" -max_len=4096 -timeout=10 -rss_limit_mb=2560 -print_final_stats=1 "$@" \
    "fuzz/work/$target" "fuzz/corpus/$target"
if ! grep -qx "name = \"$target\"" fuzz/Cargo.toml; then
    exec "${PYTHON:-.venv/bin/python}" -m fuzz.python "$target" "$@"
fi
# For cmake, if the system has none.
export PATH="$PATH:$PWD/.venv/bin"
# With clang, the C code of libjpeg-turbo and zstd is checked as well.
for clang in clang-21 clang-20 clang-19 clang-18 clang; do
    if command -v "$clang" >/dev/null; then
        export CC="$clang" CFLAGS="-fsanitize=address,fuzzer-no-link -g1"
        break
    fi
done
# A stable compiler takes the flags of sanitizers with this.
export RUSTC_BOOTSTRAP=1 CARGO_PROFILE_RELEASE_INCREMENTAL=false
export ASAN_OPTIONS="detect_odr_violation=0:allocator_may_return_null=1:$ASAN_OPTIONS"
cargo fuzz build "$target" 2>"fuzz/work/build.log" || { cat fuzz/work/build.log >&2; exit 1; }
exec "fuzz/target/$(rustc -vV | sed -n 's/^host: //p')/release/$target" -malloc_limit_mb=600 "$@"
