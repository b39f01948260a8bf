#!/bin/bash
# Asks a daemon's stats port whether it serves: exit status 0 if /readyz (or the page given) says 200, else 1. Needs
# nothing but bash.
#
#   healthcheck.sh [HOST [PORT [PAGE]]]        127.0.0.1, 7879, /readyz
set -eu
host=${1:-127.0.0.1}
port=${2:-7879}
page=${3:-/readyz}
if [ "${TICKPATH_HEALTHCHECK:-}" != inside ]; then
    TICKPATH_HEALTHCHECK=inside timeout 3 "$0" "$host" "$port" "$page" || exit 1
    exit 0
fi
exec 3<>"/dev/tcp/$host/$port"
printf 'GET %s HTTP/1.1\r\nHost: %s\r\nConnection: close\r\n\r\n' "$page" "$host" >&3
read -r _ status _ <&3
if [ "$status" != 200 ]; then
    echo "$page says $status"
    exit 1
fi
