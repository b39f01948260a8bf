#!/bin/bash
# The first half of the Dockerfile's build stage, as a script: installs what building needs, builds, and lays out the programs
# below OUT. docker-runtime.sh does the rest.
#
#   deploy/docker-build.sh [OUT]        OUT is /out unless given
#
# Run from anywhere, as root, in a checkout on Debian or Ubuntu: a container, a chroot or a machine.
set -eu
cd "$(dirname "$0")/.."
out=${1:-/out}

deploy/install-deps.sh --build
make -j"$(nproc)" build
install -d "$out/usr/local/bin"
install -s -m 755 build/tickpathd build/tickpath "$out/usr/local/bin"
