#!/bin/bash
# Dependencies point one way, and the library stays a machine that is handed work and time:
#   src/         includes libc headers without I/O, and src/
#   src/base/    includes src/base/ alone, and src/map/ that and src/map/
#   client/*.c   includes proto/ and client/
#   client/cli/  includes those and src/
#   daemon/      includes daemon/, proto/ and src/
#   only the daemon's server, life, acceptor, loops and connections know libuv, and the Redis store, whose loop is its own; what is between
#   a frame and a search does not reach it, not even through another header
#   libtickpath.a needs no symbol but a few of libc's
set -eu
cd "$(dirname "$0")/../.."
bin=${TICKPATH_BIN:-build}
bad=0
complain() {
    echo "$*"
    bad=1
}

libc_allowed=' assert.h errno.h float.h inttypes.h iso646.h limits.h math.h stdalign.h stdatomic.h stdbool.h stddef.h
 stdint.h stdlib.h stdnoreturn.h string.h '
libc_allowed=${libc_allowed//$'\n'/ }

# includes <files...>: prints "file line <name>" or "file line "name"" for each include.
includes() {
    grep -nHE '^[[:space:]]*#[[:space:]]*include' "$@" </dev/null |
        sed -E 's/^([^:]*):([0-9]+):[[:space:]]*#[[:space:]]*include[[:space:]]*([<"][^>"]*[>"]).*/\1 \2 \3/'
}

# layer_of <file> <name>: the top folder where a "name" in that file leads: beside the file, else under src/, else from the top.
layer_of() {
    local beside
    beside=$(dirname "$1")/$2
    if [ -e "$beside" ]; then
        beside=$(realpath --relative-to=. "$beside")
        echo "${beside%%/*}"
    elif [ -e "src/$2" ]; then
        echo src
    else
        echo "${2%%/*}"
    fi
}

# layer <words of the rule> <allowed folders> <files...>
layer() {
    local rule=$1 allowed=" $2 " file line name
    shift 2
    [ $# -gt 0 ] || return 0
    while read -r file line name; do
        case $name in
        \"*)
            name=${name//\"/}
            case $allowed in
            *" $(layer_of "$file" "$name") "*) ;;
            *) complain "$file:$line: includes \"$name\"; $rule" ;;
            esac
            ;;
        esac
    done < <(includes "$@")
}

shopt -s nullglob globstar
library=(src/**/*.[ch])
client=(client/*.[ch])
tool=(client/cli/**/*.[ch])
daemon=(daemon/**/*.[ch])
[ ${#library[@]} -gt 0 ] || complain "no file found under src/"

layer "src/ includes only src/" src "${library[@]}"
layer "the client library includes only proto/ and client/" "proto client" "${client[@]}"
layer "the tool includes only proto/, client/ and src/" "proto client src" "${tool[@]}"
layer "the daemon includes only daemon/, proto/ and src/" "proto daemon src" "${daemon[@]}"

# Within src/ the folders below know nothing of those above: base, then map.
while read -r file line name; do
    case $file:$name in
    src/base/*:\"base/* | src/map/*:\"base/* | src/map/*:\"map/* | *:\<*) ;;
    *) complain "$file:$line: includes $name; src/base/ includes only src/base/, and src/map/ only that and src/map/" ;;
    esac
done < <(includes src/base/*.[ch] src/map/*.[ch])

while read -r file line name; do
    case $name in
    \<*)
        name=${name//[<>]/}
        case $libc_allowed in
        *" $name "*) ;;
        *) complain "$file:$line: includes <$name>; src/ takes libc headers without I/O only" ;;
        esac
        ;;
    esac
done < <(includes "${library[@]}")

# The compiler says what is reached through other headers.
without_uv=()
for file in daemon/*.[ch] daemon/*/*.[ch]; do
    case ${file##*/} in
    server.[ch] | life.[ch] | acceptor.[ch] | loop.[ch] | connection.[ch] | redis_*.[ch] | store_redis.c) ;;
    *) without_uv+=("$file") ;;
    esac
done
[ ${#without_uv[@]} -gt 20 ] || complain "too few files found under daemon/"
for file in "${without_uv[@]}"; do
    if ! reached=$(gcc -std=c11 -D_GNU_SOURCE -M -Isrc -I. -I"$bin/gen" "$file" 2>&1); then
        complain "$file: gcc -M fails: $reached"
    elif grep -qE '/uv\.h' <<<"$reached"; then
        complain "$file: reaches uv.h; it must run without libuv, on a simulation's time"
    fi
done

# What the archive needs from outside. Sanitizers and the compiler's own arithmetic (libgcc) add symbols of theirs.
symbols_allowed='abort|aligned_alloc|bsearch|calloc|free|malloc|realloc|qsort'
symbols_allowed+='|mem(cpy|move|set|cmp|chr)|str(len|cmp|ncmp|chr|nlen)|sqrt|floor|ceil'
symbols_allowed+='|_GLOBAL_OFFSET_TABLE_|__stack_chk_fail|__(asan|ubsan|lsan|sanitizer)_.*|__[a-z]+[sdt]i[0-9]'
archive=$bin/libtickpath.a
if [ ! -f "$archive" ]; then
    complain "$archive is not there: build it first"
else
    needed=$(comm -23 <(nm --undefined-only "$archive" | awk 'NF == 2 {print $2}' | sort -u) \
        <(nm --defined-only "$archive" | awk 'NF == 3 {print $3}' | sort -u) |
        grep -vxE "$symbols_allowed" || true)
    for symbol in $needed; do
        complain "$archive needs $symbol, in: $(nm -A --undefined-only "$archive" |
            awk -v s="$symbol" '$NF == s {sub(/^[^:]*:/, ""); sub(/:.*/, ""); print}' | sort -u | tr '\n' ' ')"
    done
fi

[ $bad -eq 0 ] && echo "layers: ${#library[@]} + ${#client[@]} + ${#tool[@]} + ${#daemon[@]} files as they should be"
exit $bad
