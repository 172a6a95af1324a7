#!/usr/bin/env bash
# Type-checks the Rust code for systems that aren't Linux: `check_systems.sh [RUST TARGET...]`, by default macOS and Windows.
# Their C compilers and headers aren't here. So C libraries aren't compiled: a placeholder writes empty files instead, and
# `cargo check` doesn't link them.
set -euo pipefail
cd "$(dirname "$0")/.."

targets=("$@")
[ $# -gt 0 ] || targets=(aarch64-apple-darwin x86_64-apple-darwin x86_64-pc-windows-msvc)
tools=$PWD/build/check_systems
mkdir -p "$tools"
cat >"$tools/cc" <<'END'
#!/bin/sh
while [ $# -gt 0 ]; do
    case $1 in
        -E) echo clang ;;
        -o) : >"$2" ;;
        -o* | -Fo* | -OUT:* | -out:*) : >"$(printf '%s' "$1" | sed 's/^-\(o\|Fo\|OUT:\|out:\)//')" ;;
        *.a | *.lib) : >"$1" ;;
    esac
    shift
done
END
printf '#!/bin/sh\n' >"$tools/cmake"
chmod +x "$tools/cc" "$tools/cmake"
: >"$tools/libjemalloc.a"
export CMAKE=$tools/cmake CMAKE_GENERATOR=Ninja
export JEMALLOC_OVERRIDE=$tools/libjemalloc.a TURBOJPEG_SOURCE=explicit TURBOJPEG_LIB_DIR=$tools TURBOJPEG_INCLUDE_DIR=$tools PYO3_NO_PYTHON=1

for target in "${targets[@]}"; do
    [ -d "$(rustc --print target-libdir --target "$target")" ] || rustup target add "$target"
    name=${target//-/_}
    export "CC_$name=$tools/cc" "CXX_$name=$tools/cc" "AR_$name=$tools/cc"
    echo "== checking for $target"
    cargo check --quiet --release --package headrace-python --target "$target"
done
