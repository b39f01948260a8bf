#!/bin/bash
# The second half of the Dockerfile's build stage, as a script: makes what lies below OUT a whole root for the two programs that are
# there: the shared libraries that the dynamic linker finds for them, and of what packages these are with their licences; the user, the
# data folder, how names are looked up. Nothing else: no shell, no package manager.
#
#   deploy/docker-runtime.sh [OUT]        OUT is /out unless given
#
# Run as root on the machine, or in the root, that the programs were built in: it must have the libraries.
set -eu
cd "$(dirname "$0")/.."
out=${1:-/out}
programs=("$out/usr/local/bin/tickpathd" "$out/usr/local/bin/tickpath")
licences=$out/usr/share/doc

mapfile -t libraries < <(ldd "${programs[@]}" | sed -n 's/^[[:space:]]*\([^ ]* => \)\?\(\/[^ ]*\) (0x.*/\2/p' | sort -u)
if ldd "${programs[@]}" | grep 'not found' || [ ${#libraries[@]} -eq 0 ]; then
    echo "docker-runtime: libraries are missing" >&2
    exit 1
fi

# The package of a file, whichever of its two names (/lib, /usr/lib) the package manager knows it by; none: built by hand.
package_of() {
    { dpkg-query -S "$1" || dpkg-query -S "$(readlink -f "$1")" || dpkg-query -S "/usr$1"; } 2>/dev/null | sed -n '1s/: .*//p'
}

install -d "$licences/tickpath"
install -m 644 LICENSE "$licences/tickpath"
[ ! -d /usr/share/common-licenses ] || cp -rT /usr/share/common-licenses "$out/usr/share/common-licenses"
for library in "${libraries[@]}"; do
    install -D -m 755 "$library" "$out$library"
    package=$(package_of "$library")
    [ -n "$package" ] || continue
    dpkg-query -W -f '${Package} ${Version}\n' "$package"
    install -D -m 644 "/usr/share/doc/${package%%:*}/copyright" "$licences/${package%%:*}/copyright"
done | sort -u >"$licences/tickpath/packages"

# A fixed number, so that a volume's owner stays the same from image to image.
install -d "$out/etc" "$out/proc" "$out/sys" "$out/dev"
echo 'tickpath:x:10001:10001:tickpath:/var/lib/tickpath:/usr/sbin/nologin' >"$out/etc/passwd"
echo 'tickpath:x:10001:' >"$out/etc/group"
echo 'hosts: files dns' >"$out/etc/nsswitch.conf"
install -d -o 10001 -g 10001 -m 750 "$out/var/lib/tickpath"

# They start there, and ask for nothing else.
for program in "${programs[@]}"; do
    chroot "$out" "${program#"$out"}" --version
done
