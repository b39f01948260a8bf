#!/bin/bash
# The runtime stage of the Dockerfile, as a script: installs the shared libraries, makes the user and the data folder,
# and sees that both programs start. What docker-build.sh laid out must be in place.
#
#   /usr/local/lib/tickpath/docker-runtime.sh
set -eu
"$(dirname "$0")/install-deps.sh" --runtime
# No package lists in an image: they are old tomorrow.
apt-get clean
rm -rf /var/lib/apt/lists/*

# A fixed number, so that a volume's owner stays the same from image to image.
if ! getent passwd tickpath >/dev/null; then
    echo 'tickpath:x:10001:' >>/etc/group
    echo 'tickpath:x:10001:10001:tickpath:/var/lib/tickpath:/usr/sbin/nologin' >>/etc/passwd
fi
install -d -o 10001 -g 10001 -m 750 /var/lib/tickpath

/usr/local/bin/tickpathd --version
/usr/local/bin/tickpath --version
