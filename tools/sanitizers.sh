#!/bin/sh
# Runs the tests of the engine and its JPEG decoder under AddressSanitizer and ThreadSanitizer: tools/sanitizers.sh
# [address|thread]... RUSTC_BOOTSTRAP=1 makes a stable compiler accept the flags. The standard library isn't rebuilt, so errors
# inside it go unnoticed. With clang, AddressSanitizer also checks C code. It never checks libjpeg-turbo's assembly, so the
# decoder's tests run a second time without it.
set -eu
cd "$(dirname "$0")/.."
host=$(rustc -vV | sed -n 's/^host: //p')
export RUSTC_BOOTSTRAP=1 CARGO_PROFILE_TEST_OPT_LEVEL=1 CARGO_PROFILE_DEV_OPT_LEVEL=1 CARGO_PROFILE_DEV_DEBUG=1 CARGO_INCREMENTAL=0
clang=
for name in clang-21 clang-20 clang-19 clang-18 clang; do
    if command -v "$name" >/dev/null; then
        clang=$name
        break
    fi
done

# Repeats the tests of queues and pipelines with many more threads than processors: stress SANITIZER [options].
stress() {
    for word in execution nodes queue program reader; do
        for _ in 1 2 3 4 5; do
            under "$@" -p headrace-engine -p headrace-tf1 -p headrace-pipeline --lib "$word" -- --test-threads 32
        done
    done
}

# Runs cargo test with a sanitizer, in a separate target directory.
under() {
    sanitizer=$1
    shift
    RUSTFLAGS="-Zsanitizer=$sanitizer -Cunsafe-allow-abi-mismatch=sanitizer" \
        cargo test --quiet --target "$host" --target-dir "target/$sanitizer" "$@"
}

address() {
    export ASAN_OPTIONS="detect_leaks=1:strict_string_checks=1:detect_stack_use_after_return=1"
    if [ -n "$clang" ]; then
        export CC=$clang CFLAGS="-fsanitize=address -g1"
    else
        echo "There is no clang, so libjpeg-turbo and zstd are not checked." >&2
    fi
    export HEADRACE_MUTATIONS=30000
    under address -p headrace-engine -p headrace-tf1 -p headrace-pipeline -p headrace-jpeg -p headrace-video -p headrace-fuzz-targets --lib --tests
    JSIMD_FORCENONE=1 under address -p headrace-jpeg --lib --tests
    unset HEADRACE_MUTATIONS
    stress address
    unset CC CFLAGS
}

thread() {
    export TSAN_OPTIONS="suppressions=$PWD/tools/sanitizers/thread.supp:halt_on_error=1:history_size=4"
    under thread -p headrace-engine -p headrace-tf1 -p headrace-pipeline --features headrace-pipeline/thread-sanitizer --lib --tests
    stress thread --features headrace-pipeline/thread-sanitizer
}

for sanitizer in ${*:-address thread}; do
    echo "== $sanitizer"
    "$sanitizer"
done
