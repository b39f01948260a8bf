#!/bin/bash
# What `make install` puts down is enough to build a program against: the header alone, the library and its pkg-config
# file; C11 and, where there is a compiler for it, C++.
set -eu
cd "$(dirname "$0")/../.."
bin=${TICKPATH_BIN:-build}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

# All is built already; should a file be out of date after all, it is built as the rest was.
san=0
! nm "$bin/libtickpath-client.a" 2>/dev/null | grep -q __asan_init || san=1
make --no-print-directory SAN=$san BUILD="$bin" PREFIX=/usr DESTDIR="$folder" install >"$folder/log" 2>&1 ||
    { cat "$folder/log"; exit 1; }
for file in bin/tickpathd bin/tickpath lib/libtickpath-client.a lib/pkgconfig/tickpath-client.pc \
    include/tickpath_client.h share/tickpath/papers/{experiments,figures,claims,exceptions}.txt \
    share/tickpath/{tickpath.proto,PROTOCOL.md}; do
    [ -s "$folder/usr/$file" ] || { echo "install: $file is missing"; exit 1; }
done
[ "$(find "$folder/usr" -type f | wc -l)" -eq 11 ] || { echo "install: more files than the eleven"; exit 1; }

# The tool finds its tables outside the project: it gets as far as running no experiment. Without them it says what to give.
mkdir "$folder/elsewhere"
report() { (cd "$folder/elsewhere" && "$folder/usr/bin/tickpath" report --quick --only no-such-experiment 2>&1); }
words=$(report || true)
case $words in *" claims: "*) ;; *) echo "install: report outside the project: $words"; exit 1 ;; esac
mv "$folder/usr/share" "$folder/usr/elsewhere"
words=$(report || true)
case $words in *"--tables DIR"*) ;; *) echo "install: report without its tables: $words"; exit 1 ;; esac

export PKG_CONFIG_PATH=$folder/usr/lib/pkgconfig PKG_CONFIG_SYSROOT_DIR=
config() { pkg-config --define-variable=prefix="$folder/usr" "$@" tickpath-client; }
version=$("$folder/usr/bin/tickpath" --version)
[ "tickpath $(config --modversion)" = "$version" ] || { echo "install: pkg-config has another version"; exit 1; }

cat >"$folder/user.c" <<'END'
#include <tickpath_client.h>
#include <stdio.h>
int main(void)
{
    struct tp_client *client;
    struct tp_client_error error;
    if (tp_client_open(&client, "127.0.0.1", 1, NULL, 1000, &error) != TP_CLIENT_UNAVAILABLE)
        return 1;
    puts(tp_client_code_name(error.code));
    tp_client_close(client);
    return 0;
}
END
read -ra flags <<<"$(config --cflags)"
read -ra libs <<<"$(config --libs)"
build() {
    "$@" -Wall -Wextra -Wpedantic -Werror -fsanitize=address,undefined "${flags[@]}" -o "$folder/user" \
        "$folder/user.c" "${libs[@]}"
    [ "$("$folder/user")" = UNAVAILABLE ] || { echo "install: a program built with $1 does not run"; exit 1; }
}
build "${CC:-gcc}" -std=c11
if command -v g++ >/dev/null; then
    cp "$folder/user.c" "$folder/user.cc"
    g++ -x c++ -std=c++11 -Wall -Wextra -Wpedantic -Werror "${flags[@]}" -fsyntax-only "$folder/user.cc"
fi
echo "install: eleven files, and a program builds with them"
