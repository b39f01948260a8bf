#!/bin/bash
# clang reads every C file without a warning. (gcc's warnings stop the build itself.) It reads and does not write code:
# its warnings come from there, and the tests run in gcc's build. Then both compilers read the files of the daemon that an option
# of the build changes, as they are without any: no libsystemd, no metrics, no probes.
set -eu
cd "$(dirname "$0")/../.."
bin=${TICKPATH_BIN:-build}
shopt -s nullglob globstar
files=(src/**/*.c daemon/**/*.c client/**/*.c tests/**/*.c)
warnings=$(sed -n 's/^WARN := //p' Makefile)
[ -n "$warnings" ] || { echo "the Makefile holds no WARN line" && exit 1; }
read -ra warnings <<<"$warnings"
options=()
! pkg-config --exists libsystemd || options=(-DTP_HAS_SYSTEMD)

# reads COMPILER FLAG... -- FILE...
reads() {
    local command=()
    while [ "$1" != -- ]; do
        command+=("$1")
        shift
    done
    shift
    printf '%s\0' "$@" | xargs -0 -n 4 -P 2 "${command[@]}" -std=c11 -O1 "${warnings[@]}" -D_GNU_SOURCE -Isrc -I. -I"$bin/gen" -fsyntax-only
}

if ! reads clang "${options[@]}" -- "${files[@]}"; then
    echo "clang: warnings or errors above"
    exit 1
fi
echo "clang: ${#files[@]} files without a warning"

mapfile -t files < <(grep -lE 'TP_METRICS|TP_HAS_SYSTEMD|TP_PROBE[0-9]' daemon/*.c daemon/*/*.c)
for name in daemon/supervisor.c daemon/serve/shard.c daemon/serve/commands_tick.c; do
    [[ " ${files[*]} " == *" $name "* ]] || { echo "$name is not among what options change: ${files[*]}" && exit 1; }
done
for compiler in gcc clang; do
    if ! reads $compiler -DTP_METRICS=0 -DTP_NO_PROBES -- "${files[@]}"; then
        echo "$compiler: warnings or errors above, where libsystemd, metrics and probes are left out"
        exit 1
    fi
done
echo "gcc and clang: ${#files[@]} files without a warning where options are left out"
