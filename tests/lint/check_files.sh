#!/bin/bash
# The tracked files: scripts parse and may be run, no file names a place of one machine, no tabs or trailing
# blanks, C files stay readable in length, `make help` lists every target.
set -eu
cd "$(dirname "$0")/../.."
bad=0
complain() {
    echo "$*"
    bad=1
}

if git rev-parse --is-inside-work-tree >/dev/null 2>&1; then
    mapfile -t files < <(git ls-files | while read -r f; do [ -f "$f" ] && echo "$f"; done)
else
    mapfile -t files < <(find . -type f -not -path './build*' -not -path './.git/*' | sed 's|^\./||')
fi

scripts=0
for file in "${files[@]}"; do
    first=
    IFS= read -r first <"$file" 2>/dev/null || true
    first=${first%%$'\r'}
    case $first in
    '#!/bin/sh'* | '#!/bin/bash'* | '#!/usr/bin/env bash'*)
        scripts=$((scripts + 1))
        bash -n "$file" || complain "$file: bash -n fails"
        [ -x "$file" ] || complain "$file: begins with #! and is not executable"
        ;;
    '#!'*python*)
        [ -x "$file" ] || complain "$file: begins with #! and is not executable"
        ;;
    '#!'*) ;;
    *)
        case $file in
        *.sh) complain "$file: a shell script without a #! line" ;;
        esac
        ;;
    esac
    case $file in
    *.py)
        python3 -c 'import ast, sys; ast.parse(open(sys.argv[1], encoding="utf-8").read(), sys.argv[1])' "$file" ||
            complain "$file: python3 can't parse it"
        ;;
    esac
done
[ $scripts -gt 0 ] || complain "no shell script found"

# refuse <words> <grep option and pattern> <files>: complains of every line that matches.
refuse() {
    local words=$1 found
    shift
    found=$(grep -nHI "$@" || true)
    [ -z "$found" ] || complain "${found//$'\n'/$'   <- '$words$'\n'}   <- $words"
}

# Places of one machine. The brackets keep the pattern from matching itself.
refuse "a place of one machine" -E '/[w]ork/|/[h]ome/[a-z]|/[r]oot/|/[U]sers/[A-Za-z]|/[t]mp/(helpers|build-)' "${files[@]}"

# Pages that are not part of the project: what they say is said here, or in the README.
refuse "a page that is not here" -E '\b([p]apers|[u]sers)\.md\b|\b[D]ESIGN\b' "${files[@]}"

for file in "${files[@]}"; do
    case $file in
    *.c | *.h | *.proto | *.py | *.sh) refuse "a tab" -P '\t' "$file" ;;
    esac
    case $file in
    *.c | *.h | *.proto | *.py | *.sh | *.mk | Makefile | .ci/run)
        refuse "blanks at the end of the line" -E '[[:space:]]+$' "$file"
        ;;
    esac
    case $file in
    src/*.c | src/*.h | daemon/*.c | daemon/*.h | client/*.c | client/*.h)
        lines=$(wc -l <"$file")
        [ "$lines" -le 700 ] || complain "$file: $lines lines; a file is to be read top to bottom (600 or so)"
        ;;
    esac
done

# Every target that a person may type is listed by `make help` with its sentence.
help=$(make --no-print-directory help)
mapfile -t targets < <({ make --no-print-directory -qp help || true; } 2>/dev/null | sed -n 's/^\.PHONY:[[:space:]]*//p' | tr -s ' ' '\n')
[ ${#targets[@]} -gt 10 ] || complain "make tells no targets"
for target in "${targets[@]}"; do
    grep -qE "^${target} +[^ ]" <<<"$help" || complain "make help does not list the target $target"
done
for target in build check check-long check-papers demo bench clean help; do
    grep -qE "^${target} " <<<"$help" || complain "make help lists no target $target"
done

[ $bad -eq 0 ] && echo "files: ${#files[@]} tracked, $scripts shell scripts"
exit $bad
