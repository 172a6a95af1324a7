# Defines a function that installs a system package, or explains how to install it. Scripts source this file and define `say` and
# `fail`.
install_package() { # package, what is wrong without it
    if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
        say "installing $1"
        apt-get update -qq
        DEBIAN_FRONTEND=noninteractive apt-get install -y -qq "$1" >/dev/null
    else
        fail "$2. Install it: sudo apt-get install -y $1"
    fi
}
