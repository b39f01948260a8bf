#!/bin/bash
# The build stage of the Dockerfile, as a script: installs what building needs, builds, and lays out below OUT what
# the runtime stage takes.
#
#   deploy/docker-build.sh [OUT]        OUT is /out unless given
#
# Run from anywhere, as root, in a checkout on Debian or Ubuntu: a container, a chroot or a machine.
set -eu
cd "$(dirname "$0")/.."
out=${1:-/out}

deploy/install-deps.sh --build
make -j"$(nproc)" build
mkdir -p "$out/usr/local/bin" "$out/usr/local/lib/tickpath"
install -s -m 755 build/tickpathd build/tickpath "$out/usr/local/bin"
install -m 755 deploy/install-deps.sh deploy/docker-runtime.sh deploy/healthcheck.sh "$out/usr/local/lib/tickpath"
install -D -m 644 LICENSE "$out/usr/share/doc/tickpath/LICENSE"
