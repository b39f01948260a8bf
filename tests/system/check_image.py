#!/usr/bin/env python3
"""The image that the Dockerfile describes, without a container engine: what is in it, and a daemon in it, started by its ENTRYPOINT with
its ENV as its USER, in a root that can't be written but for its volume. Its HEALTHCHECK passes, agents walk, SIGTERM ends it.

    tests/system/check_image.py            the root is laid out by deploy/docker-runtime.sh for the programs of TICKPATH_BIN: seconds
    tests/system/check_image.py --whole    all of the Dockerfile's lines, in clean roots made by debootstrap: minutes (make image-check)

Needs root, and the namespaces of Linux: the daemon has loopback for itself, with the ports of the Dockerfile. TICKPATH_IMAGE_CACHE is a folder
that keeps downloaded packages; unset, nothing is kept. Prints totals in Check's form.
"""

import fcntl
import json
import os
import re
import shutil
import socket
import struct
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(ROOT, "tests", "lib"))
import deployed  # noqa: E402
import image  # noqa: E402
from checks import check, close  # noqa: E402
from processes import Processes, http, wait_for  # noqa: E402

BIN = os.path.join(ROOT, os.environ.get("TICKPATH_BIN") or "build")
APART = ["unshare", "--mount", "--net", "--pid", "--fork", "--kill-child", "--mount-proc"]
PROGRAMS = ["/usr/local/bin/tickpath", "/usr/local/bin/tickpathd"]
WHOLE_BYTES_MAX = 40 << 20  # of a release build's image
START_S = 30  # the HEALTHCHECK's start period
SIOCGIFFLAGS, SIOCSIFFLAGS, IFF_UP = 0x8913, 0x8914, 1


# ---- what is in it ----


def files_of(root):
    """{path: what lstat says} of all below it."""
    found = {}
    for folder, folders, files in os.walk(root):
        for name in [*folders, *files]:
            path = os.path.join(folder, name)
            found[path[len(root) :]] = os.lstat(path)
    return found


def check_files(root, said, is_whole):
    files = files_of(root)
    plain = {path for path, stat in files.items() if not os.path.isdir(root + path)}
    libraries = {path for path in plain if re.search(r"\.so(\.\d+)*$", path)}
    rest = {path for path in plain - libraries if not path.startswith("/usr/share/")}
    names = ["/etc/group", "/etc/nsswitch.conf", "/etc/passwd"]
    check(sorted(rest) == sorted(names + PROGRAMS), "beside libraries the image holds %s" % sorted(rest))
    check(libraries and all(re.match(r"/(usr/)?lib(64)?/", path) for path in libraries), "libraries: %s" % sorted(libraries))
    may = {said["volumes"][0]: (int(said["user"].split(":")[0]), int(said["user"].split(":")[1]), 0o750)}
    for path, stat in files.items():
        owner = (stat.st_uid, stat.st_gid, stat.st_mode & 0o7777)
        if path in may:
            check(owner == may[path], "%s has owner and mode %s" % (path, owner))
        elif owner[:2] != (0, 0) or (owner[2] & 0o7022 and not os.path.islink(root + path)):
            check(False, "%s can be written by others than root, or gives its rights: %s" % (path, owner))
    check(set(may) <= set(files), "the data folder is missing")
    packages = open(root + "/usr/share/doc/tickpath/packages", encoding="utf-8").read().split("\n")[:-1]
    for line in packages:
        check(os.path.exists(root + "/usr/share/doc/%s/copyright" % line.split()[0]), "the licence of %s is missing" % line)
    check(packages, "the image does not say which packages its libraries are of")
    size = sum(stat.st_size for path, stat in files.items() if path in plain)
    check(not is_whole or size < WHOLE_BYTES_MAX, "the image has %d bytes" % size)
    print("%d libraries of %d packages, %.1f MiB: %s" % (len(libraries), len(packages), size / 2**20, ", ".join(packages)))


# ---- a daemon in it ----


def loopback_up():
    with socket.socket() as any_socket:
        wanted = struct.pack("16sh14x", b"lo", 0)
        flags = struct.unpack("16sh14x", fcntl.ioctl(any_socket, SIOCGIFFLAGS, wanted))[1]
        fcntl.ioctl(any_socket, SIOCSIFFLAGS, struct.pack("16sh14x", b"lo", flags | IFF_UP))


class Box:
    """The image, run."""

    def __init__(self, root, said, processes):
        self.said, self.processes, self.enter, self.asked = said, processes, image.enter(root, said), 0
        self.stats = int(said["env"]["TICKPATHD_STATS"].rpartition(":")[2])

    def start(self, name, command):
        return self.processes.start(name, command, {"PATH": image.PATH, **self.said["env"]}, enter=self.enter)

    def ended(self, name, command):
        """(exit status, output) of a command that ends."""
        process = self.start(name, command)
        return process.wait(60), process.log()

    def health(self):
        self.asked += 1
        return self.ended("health-%d" % self.asked, self.said["health"])

    def count(self, metric):
        found = re.search(r"^%s (\S+)$" % metric, http(self.stats, "/metrics")[1], re.MULTILINE)
        return float(found.group(1)) if found else None


def status_of(process):
    with open("/proc/%d/status" % process.pid, encoding="utf-8") as file:
        return dict(line.strip().partition(":")[::2] for line in file)


def check_serves(root, said, processes):
    box = Box(root, said, processes)
    status, words = box.health()
    check(status == 1 and "refused" in words, "without a daemon the health check ends with %s: %s" % (status, words))
    for turn in range(2):  # the second finds the volume as the first one left it
        daemon = box.start("daemon-%d" % turn, said["entrypoint"])
        well = wait_for(lambda daemon=daemon: not daemon.is_running() or box.health()[0] == 0, START_S)
        if not check(well and daemon.is_running(), "the daemon does not get well:\n%s" % daemon.log()):
            return
        told = status_of(daemon)
        user = said["user"].split(":")[0]
        check(told["Uid"].split() == [user] * 4 and told["Groups"].split() in ([], [user]), "it runs as %s of %s" % (told["Uid"], told["Groups"]))
        check(int(told["CapEff"], 16) == 0 and told["NoNewPrivs"].strip() == "1", "it has rights: %s" % told["CapEff"])
        status, words = box.ended("name-%d" % turn, [PROGRAMS[0], "health", "--stats", "localhost:%d" % box.stats, "--page", "/livez"])
        check(status == 0, "by its name, health ends with %s: %s" % (status, words))
        load = [PROGRAMS[0], "load", "--via", "127.0.0.1:7878", "--agents", "10", "--size", "64x64", "--hz", "20", "--seconds", "1"]
        status, words = box.ended("load-%d" % turn, load)
        check(status == 0, "a load on the image's daemon ends with %s:\n%s" % (status, words))
        check((box.count("tickpath_moves_total") or 0) > 10, "its agents made %s moves" % box.count("tickpath_moves_total"))
        check(box.count("tickpath_store_volatile") == 0, "what it keeps is lost at its end")
        check("no option" not in daemon.log(), "it complains:\n%s" % daemon.log())
        daemon.terminate()
        check(daemon.wait() == 0, "SIGTERM ends it with %s:\n%s" % (daemon.wait(0), daemon.log()))
    status, words = box.health()
    check(status == 1, "after its end the health check ends with %s: %s" % (status, words))


def check_root(root, is_whole):
    """Inside namespaces of its own."""
    said = deployed.dockerfile()
    check_files(root, said, is_whole)
    loopback_up()
    image.mount(root, said)
    folder = tempfile.mkdtemp(prefix="tickpath-image-")
    try:
        with Processes(folder) as processes:
            check_serves(root, said, processes)
    finally:
        shutil.rmtree(folder)
    return close()


# ---- laying it out ----


def lay_out(folder):
    """The root for programs that are built already."""
    root = os.path.join(folder, "runtime")
    os.makedirs(root + "/usr/local/bin")
    for path in PROGRAMS:
        shutil.copy2(os.path.join(BIN, os.path.basename(path)), root + path)
    # It starts the programs in the root: with /proc there, which the sanitizers want.
    os.mkdir(root + "/proc")
    script = 'mount -t proc proc "$1/proc" && exec "$0" "$1"'
    image.run(["unshare", "--mount", "sh", "-c", script, os.path.join(ROOT, "deploy", "docker-runtime.sh"), root], "docker-runtime.sh")
    return root


def main(words):
    if words[:1] == ["--inside"]:
        return check_root(words[1], json.loads(words[2]))
    if words not in ([], ["--whole"]):
        print(__doc__.partition("\n\n")[2])
        return 2
    if os.geteuid() != 0 or subprocess.call([*APART, "true"], stderr=subprocess.DEVNULL) != 0:
        print("skipped: an image's root can be made only by root, where Linux lets it make namespaces")
        return 1 if words else 77
    folder = tempfile.mkdtemp(prefix="tickpath-image-")
    try:
        root = image.carry_out(folder, os.environ.get("TICKPATH_IMAGE_CACHE")) if words else lay_out(folder)
        return subprocess.call([*APART, sys.executable, os.path.abspath(__file__), "--inside", root, json.dumps(bool(words))])
    except image.Failed as error:
        print(error)
        check(False, "the image is not made")
        return close()
    finally:
        shutil.rmtree(folder)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
