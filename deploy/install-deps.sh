#!/bin/bash
# Installs the Debian/Ubuntu packages that tickpath needs, and only those that are missing.
#
#   deploy/install-deps.sh              all: what building and testing need
#   deploy/install-deps.sh --build      what `make` and `make demo` need
#   deploy/install-deps.sh --runtime    the shared libraries that the built programs need
#   deploy/install-deps.sh --package    what `make image-check` and `make deb` need, beside all
#   deploy/install-deps.sh --list       with one of the above: print what is missing, install nothing
#
# Where all is there it does nothing: no apt-get, no network. It asks for each thing itself (a command, a library's
# pkg-config file) and not for a package, so that a library built by hand counts too. No service
# is needed: the tests run their own Redis (the program is in redis-tools), HAProxy and Prometheus. Debian starts one with the packages
# haproxy, which as it comes serves no port, and prometheus, which serves 9090; systemctl disable --now haproxy prometheus ends them.
# Exit status: 0 all is there; 1 something is missing and could not be installed; 2 wrong usage.
set -u

usage() {
    sed -n '2,9s/^# \{0,1\}//p' "$0"
}

set_wanted=all
list_only=no
for argument in "$@"; do
    case $argument in
    --build) set_wanted=build ;;
    --runtime) set_wanted=runtime ;;
    --package) set_wanted=package ;;
    --list) list_only=yes ;;
    -h | --help)
        usage
        exit 0
        ;;
    *)
        echo "install-deps: unknown option $argument" >&2
        usage >&2
        exit 2
        ;;
    esac
done

# One line a need: <set> <kind> <what> <package>. Kinds: command (on the PATH, or where root's are; a|b for either), header
# (one that the C compiler finds), clang (one of its run-time libraries), pkgconfig (a module), python (a module of python3, or of the
# system's where another comes first on the PATH), library (a shared library's name before ".so"; its package has another name in
# each release, so it is taken from what the -dev package named depends on).
needs() {
    cat <<'TABLE'
build   command   gcc                           gcc
build   header    stdio.h                       libc6-dev
build   command   make                          make
build   command   ar                            binutils
build   command   pkg-config                    pkg-config
build   command   protoc-c                      protobuf-c-compiler
build   pkgconfig libprotobuf-c                 libprotobuf-c-dev
build   pkgconfig libuv                         libuv1-dev
build   pkgconfig hiredis                       libhiredis-dev
build   pkgconfig libmicrohttpd                 libmicrohttpd-dev
build   pkgconfig libpng                        libpng-dev
build   pkgconfig libzstd                       libzstd-dev
build   pkgconfig libxxhash                     libxxhash-dev
build   pkgconfig libsystemd                    libsystemd-dev
build   header    sys/sdt.h                     systemtap-sdt-dev
test    command   clang                         clang
test    clang     fuzzer                        libclang-rt-dev
test    pkgconfig check                         check
test    command   git                           git
test    command   curl                          curl
test    command   gnuplot                       gnuplot-nox
test    command   python3                       python3
test    python    google.protobuf               python3-protobuf
test    python    yaml                          python3-yaml
test    python    jsonschema                    python3-jsonschema
test    python    prometheus_client             python3-prometheus-client
test    command   prometheus                    prometheus
test    command   protoc                        protobuf-compiler
test    command   redis-server|redis-check-rdb  redis-tools
test    command   haproxy                       haproxy
test    command   systemd-analyze               systemd
test    command   bpftrace                      bpftrace
test    command   promtool                      prometheus
test    command   chromium                      chromium
test    command   node                          nodejs
test    command   npm                           npm
package command   debootstrap                   debootstrap
package command   unshare                       util-linux
package command   dpkg-buildpackage             dpkg-dev
package command   dh                            debhelper
package command   help2man                      help2man
package command   lintian                       lintian
runtime library   libuv                         libuv1-dev
runtime library   libprotobuf-c                 libprotobuf-c-dev
runtime library   libhiredis                    libhiredis-dev
runtime library   libmicrohttpd                 libmicrohttpd-dev
runtime library   libpng16                      libpng-dev
runtime library   libzstd                       libzstd-dev
runtime library   libxxhash                     libxxhash-dev
runtime library   libsystemd                    libsystemd-dev
TABLE
}

# have <kind> <what>: whether the machine has it.
have() {
    local name
    case $1 in
    command)
        for name in ${2//|/ }; do
            PATH=$PATH:/sbin:/usr/sbin command -v "$name" >/dev/null 2>&1 && return 0
        done
        return 1
        ;;
    pkgconfig) pkg-config --exists "$2" 2>/dev/null ;;
    python) python3 -c "import $2" 2>/dev/null || /usr/bin/python3 -c "import $2" 2>/dev/null ;;
    clang)
        for name in "libclang_rt.$2-$(uname -m).a" "libclang_rt.$2.a"; do
            [ -e "$(clang "-print-file-name=$name" 2>/dev/null)" ] && return 0
        done
        return 1
        ;;
    header) echo "#include <$2>" | gcc -E -x c - >/dev/null 2>&1 ;;
    library) PATH=$PATH:/sbin:/usr/sbin ldconfig -p 2>/dev/null | grep -qF "$2.so" ;;
    esac
}

# Prints the packages of the set that are missing, one a line.
missing() {
    local set kind what package
    while read -r set kind what package; do
        case $set_wanted:$set in
        all:build | all:test | build:build | runtime:runtime | package:build | package:test | package:package) ;;
        *) continue ;;
        esac
        have "$kind" "$what" || echo "$package"
    done < <(needs)
}

# The library packages that the -dev packages given depend on.
libraries_of() {
    apt-cache depends --no-recommends --no-suggests --no-conflicts --no-breaks --no-replaces --no-enhances "$@" |
        sed -n 's/^ *Depends: \(lib[^ <>]*\)$/\1/p' | grep -v -- '-dev$' | sort -u
}

mapfile -t packages < <(missing)
if [ ${#packages[@]} -eq 0 ]; then
    exit 0
fi
if [ $list_only = yes ]; then
    printf '%s\n' "${packages[@]}"
    exit 1
fi

if ! command -v apt-get >/dev/null 2>&1; then
    echo "install-deps: missing here: ${packages[*]}" >&2
    echo "install-deps: these are Debian's names, and this machine has no apt-get: install what they hold by hand." >&2
    exit 1
fi

as_root=()
if [ "$(id -u)" -ne 0 ]; then
    if command -v sudo >/dev/null 2>&1 && sudo -n true 2>/dev/null; then
        as_root=(sudo -n)
    else
        echo "install-deps: missing here: ${packages[*]}" >&2
        echo "install-deps: only root may install them. Type this, then try again:" >&2
        if [ $set_wanted = runtime ]; then
            echo "    sudo $0 --runtime" >&2
        else
            echo "    sudo apt-get update && sudo apt-get install --no-install-recommends ${packages[*]}" >&2
        fi
        exit 1
    fi
fi

# apt-get's own words go to a file that is shown when it fails.
log=$(mktemp)
trap 'rm -f "$log"' EXIT
apt() {
    "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive LC_ALL=C.UTF-8 apt-get -y -q -o DPkg::Lock::Timeout=120 \
        "$@" </dev/null >>"$log" 2>&1
}

# Package lists may be absent (a fresh machine) or old: they are fetched when a package can't be installed as it is.
install() {
    local names=("${packages[@]}")
    if [ $set_wanted = runtime ]; then
        mapfile -t names < <(libraries_of "${packages[@]}" 2>/dev/null)
        [ ${#names[@]} -gt 0 ] || return 1
    fi
    apt install --no-install-recommends "${names[@]}"
}

echo "install-deps: installing ${packages[*]}" >&2
if ! install; then
    echo "install-deps: fetching the package lists first" >&2
    if ! apt update || ! install; then
        tail -n 20 "$log" >&2
        echo "install-deps: apt-get failed (its last words stand above); missing: ${packages[*]}" >&2
        exit 1
    fi
fi

# What was installed may have brought only a part (pkg-config before the libraries): look again.
mapfile -t packages < <(missing)
if [ ${#packages[@]} -gt 0 ]; then
    echo "install-deps: still missing after apt-get: ${packages[*]}" >&2
    exit 1
fi
