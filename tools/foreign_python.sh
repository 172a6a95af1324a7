#!/usr/bin/env bash
# Tries a wheel for another processor or another C library on this machine: `foreign_python.sh NAME WHEEL`.
# - aarch64: Debian's Python for arm64, which qemu runs.
# - musl: a Python built from Debian's source packages with musl.
# It makes this Python in .foreign/NAME, which takes minutes, and installs the wheel with what its tests need. Afterwards,
# .foreign/NAME/python is an interpreter that other programs can call. Both need Debian or Ubuntu.
set -euo pipefail
cd "$(dirname "$0")/.."

say() { printf '== %s\n' "$*"; }
fail() {
    printf 'foreign_python: %s\n' "$*" >&2
    exit 1
}
. tools/install_package.sh

name=$1 wheel=$2
top=$PWD/.foreign/$name
root=$top/root
packages=$top/packages
sources=/etc/apt/sources.list.d/debian.sources

# Runs apt-get with its own lists, and leaves those of this machine alone.
apt() { # arguments...
    local options=(
        "Dir::State=$top/apt" "Dir::State::status=$top/apt/status" "Dir::Cache=$top/apt" "Dir::Etc::sourcelist=$top/apt/lists.sources"
        Dir::Etc::sourceparts=- APT::Sandbox::User=root Debug::NoLocking=true APT::Install-Recommends=false "${architecture[@]}"
    )
    apt-get -qq "${options[@]/#/-o}" "$@"
}

prepare_apt() { # deb or deb-src, then options of apt
    [ -f $sources ] || fail "no $sources here. This needs Debian 12 or newer"
    architecture=("${@:2}")
    mkdir -p "$top"/apt/{lists,archives}/partial
    sed "s/^Types: .*/Types: $1/" $sources >"$top/apt/lists.sources"
    : >"$top/apt/status"
    apt update
}

make_aarch64() {
    local package
    command -v qemu-aarch64 >/dev/null || install_package qemu-user "no qemu-aarch64 found, which runs programs for aarch64"
    prepare_apt deb APT::Architecture=arm64 APT::Architectures=arm64
    apt install --yes --download-only python3 libstdc++6
    mkdir -p "$root"
    for package in "$top"/apt/archives/*.deb; do
        dpkg -x "$package" "$root"
    done
    write_interpreter qemu-aarch64 -L "$root" "$root/usr/bin/python3"
}

# Libraries whose modules of Python headrace or its tests import.
make_musl() {
    local number machine options
    machine=$(uname -m)-linux-musl
    number=$(nproc)
    command -v musl-gcc >/dev/null || install_package musl-tools "no musl-gcc found"
    prepare_apt deb-src
    (cd "$top" && apt source --download-only --tar-only zlib bzip2 xz-utils libffi python3.11)
    mkdir -p "$root"
    export CC=musl-gcc CFLAGS='-O1 -fPIC' CPPFLAGS=-I$root/include LDFLAGS=-L$root/lib
    unpack() { # name; goes to its sources
        local directory=$top/sources/$1
        mkdir -p "$directory"
        tar -x --strip-components=1 -C "$directory" -f "$top/$1"_*.orig.tar.*[a-z0-9]
        cd "$directory"
    }
    (unpack zlib && ./configure --static --prefix="$root" >/dev/null && make -s -j "$number" install)
    (unpack bzip2 && make -s CC=$CC CFLAGS="$CFLAGS" libbz2.a && cp bzlib.h libbz2.a "$root/lib" && cp bzlib.h "$root/include")
    options=(--quiet --disable-shared --build="$machine" --prefix="$root")
    (unpack xz-utils && ./configure "${options[@]}" --disable-{xz,xzdec,lzmadec,lzmainfo,scripts,nls,doc} && make -s -j "$number" install)
    # The header for its other way of calling isn't in musl.
    (unpack libffi && ./configure "${options[@]}" --disable-exec-static-tramp --disable-docs && make -s -j "$number" install)
    (
        unpack python3.11
        # They would find the headers of this machine's own C library.
        sed -i 's/self.add_multiarch_paths()/pass/' setup.py
        sed -i 's/^ *MULTIARCH=\$(.*--print-multiarch.*$/MULTIARCH=/' configure
        # musl gives threads stacks of 128 KiB. Alpine Linux builds Python like this.
        export CFLAGS="$CFLAGS -DTHREAD_STACK_SIZE=0x100000"
        ./configure --quiet --build="$machine" --prefix="$root" --without-ensurepip --disable-test-modules
        make -s -j "$number" install
    )
    write_interpreter "$root/bin/python3.11"
}

write_interpreter() { # command of the Python
    mkdir -p "$packages"
    # Programs that start another Python have to start it in the same way.
    printf 'import os, sys\nsys.executable = os.environ["FOREIGN_PYTHON"]\n' >"$packages/sitecustomize.py"
    printf '#!/bin/sh\nexport FOREIGN_PYTHON=%q PYTHONPATH=%q\nexec %s "$@"\n' "$top/python" "$packages" "$*" >"$top/python"
    chmod +x "$top/python"
}

install_packages() { # requirements...
    local platforms version
    case $name in
        aarch64) platforms=(manylinux_2_28_aarch64 manylinux_2_27_aarch64 manylinux_2_17_aarch64 manylinux2014_aarch64) ;;
        musl) platforms=(musllinux_1_2_"$(uname -m)" musllinux_1_1_"$(uname -m)") ;;
    esac
    version=$("$top/python" -c 'import sys; print("%d.%d" % sys.version_info[:2])')
    .venv/bin/python -m pip install --quiet --no-warn-conflicts --upgrade --target "$packages" "${platforms[@]/#/--platform=}" --python-version "$version" \
        --implementation cp --abi "cp${version/./}" --abi abi3 --abi none --only-binary :all: "$@"
}

case $name in aarch64 | musl) ;; *) fail "expected aarch64 or musl, got $name" ;; esac
if [ ! -x "$top/python" ]; then
    say "making a Python for $name in .foreign/$name"
    rm -rf "$top"
    make_"$name"
fi
if [ ! -e "$packages/numpy" ]; then
    say "installing what tests need"
    # Debian 12 has musl 1.2.3. Later versions of NumPy need 1.2.4, and pyarrow crashes.
    install_packages "$([ "$name" = musl ] && echo 'numpy==2.0.*' || echo numpy)" click tqdm protobuf absl-py pytest pytest-timeout hypothesis cloudpickle
    [ "$name" = musl ] || install_packages pyarrow
fi
install_packages --no-deps "$wheel"
