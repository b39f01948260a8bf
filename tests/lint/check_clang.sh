#!/bin/bash
# clang reads every C file without a warning. (gcc's warnings stop the build itself.) It reads and does not write code:
# its warnings come from there, and the tests run in gcc's build.
set -eu
cd "$(dirname "$0")/../.."
bin=${TICKPATH_BIN:-build}
shopt -s nullglob globstar
files=(src/**/*.c daemon/**/*.c client/**/*.c tests/**/*.c)
warnings=$(sed -n 's/^WARN := //p' Makefile)
[ -n "$warnings" ] || { echo "the Makefile holds no WARN line" && exit 1; }
read -ra warnings <<<"$warnings"
if ! printf '%s\0' "${files[@]}" | xargs -0 -n 4 -P 2 clang -std=c11 -O1 "${warnings[@]}" -D_GNU_SOURCE -Isrc -I. \
    -I"$bin/gen" -fsyntax-only; then
    echo "clang: warnings or errors above"
    exit 1
fi
echo "clang: ${#files[@]} files without a warning"
