#!/bin/bash
# Builds the Debian packages of this checkout and asks lintian about them.
#
#   deploy/package.sh OUT        OUT is the folder that takes the packages; made if it is not there
#
# dpkg-buildpackage wants a folder debian/ at the top of the sources: they are copied, with deploy/debian/ in that place, to a folder
# that is removed again. What git does not know is not copied. DEB_BUILD_OPTIONS is dpkg-buildpackage's own. Where DEBFULLNAME and DEBEMAIL are
# set the packages name them as their maintainer, in place of an address that can't exist.
set -eu
cd "$(dirname "$0")/.."
out=$(mkdir -p "${1:?which folder takes the packages?}" && cd "$1" && pwd)
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

mkdir "$folder/tickpath"
if git rev-parse --is-inside-work-tree >/dev/null 2>&1; then
    git ls-files -z --deduplicate | while IFS= read -r -d '' file; do [ ! -e "$file" ] || printf '%s\0' "$file"; done
else
    find . -name .git -prune -o -path './build*' -prune -o -type f -print0
fi | tar -c --null -T - | tar -x -C "$folder/tickpath"
mv "$folder/tickpath/deploy/debian" "$folder/tickpath/debian"
if [ -n "${DEBFULLNAME:-}" ] && [ -n "${DEBEMAIL:-}" ]; then
    NAMED="$DEBFULLNAME <$DEBEMAIL>" perl -pi -e 's/[^:-]*<maintainers\@tickpath\.invalid>/ $ENV{NAMED}/' \
        "$folder"/tickpath/debian/{control,changelog}
fi

if ! (cd "$folder/tickpath" && unset BUILD SAN MAKEFLAGS && dpkg-buildpackage --build=binary --unsigned-changes) >"$folder/log" 2>&1; then
    tail -n 40 "$folder/log" >&2
    echo "package: dpkg-buildpackage failed; its last words stand above" >&2
    exit 1
fi
lintian --allow-root --display-info --pedantic --fail-on error,warning "$folder"/*.changes
rm -f "$out"/*.deb
mv "$folder"/*.deb "$out"
ls "$out"
