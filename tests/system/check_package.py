#!/usr/bin/env python3
"""The Debian packages of deploy/debian/.

    tests/system/check_package.py               what the packages' files say, against the project: no package is built
    tests/system/check_package.py --built DIR   the packages in the folder: what they hold; installed by dpkg on a copy of this machine's
                                                files, where a daemon runs from them and a program is built with them; upgraded, removed and
                                                purged; and installed by apt in a clean root, which has nothing but what they ask for

The copy is an overlay in a namespace of its own: nothing of this machine changes. That needs root, the clean root the network too
(TICKPATH_IMAGE_CACHE is a folder that keeps its packages). Prints totals in Check's form.
"""

import glob
import os
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(ROOT, "tests", "lib"))
import deployed  # noqa: E402
import image  # noqa: E402
from checks import check, close  # noqa: E402
from processes import Processes, free_ports  # noqa: E402

DEBIAN = os.path.join(deployed.DEPLOY, "debian")
PACKAGES = ("tickpathd", "tickpath-client")
CHROOT = shutil.which("chroot", path="/usr/sbin:/sbin:/usr/bin:/bin")
CONF = "etc/tickpath/tickpathd.conf"
UNITS = sorted(name for name in os.listdir(os.path.join(deployed.DEPLOY, "systemd")) if name.endswith((".service", ".socket")))
HOLDS = {  # MULTIARCH stands for the folder of the machine's kind
    "tickpathd": ["usr/bin/tickpathd", CONF, "usr/share/man/man8/tickpathd.8.gz", *("lib/systemd/system/" + unit for unit in UNITS)],
    "tickpath-client": [
        "usr/bin/tickpath",
        "usr/include/tickpath_client.h",
        "usr/lib/MULTIARCH/libtickpath-client.a",
        "usr/lib/MULTIARCH/pkgconfig/tickpath-client.pc",
        "usr/share/man/man1/tickpath.1.gz",
        *("usr/share/tickpath/papers/%s.txt" % name for name in ("claims", "exceptions", "experiments", "figures")),
        "usr/share/tickpath/PROTOCOL.md",
        "usr/share/tickpath/tickpath.proto",
    ],
}
# $1 is a folder with upper, work and tree; the rest is a command.
APART = """
mount -t overlay overlay -o "lowerdir=/,upperdir=$1/upper,workdir=$1/work" "$1/tree"
mount --rbind /dev "$1/tree/dev"
mount -t proc proc "$1/tree/proc"
shift
exec "$@"
"""
USER = """
#include <tickpath_client.h>
#include <stdio.h>
int main(void)
{
    puts(tp_client_code_name(0));
    return 0;
}
"""


def version():
    return re.search(r'TP_VERSION "([^"]+)"', deployed.read("src", "base", "version.h")).group(1)


def output(command, **more):
    """(exit status, what it printed)"""
    done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=120, check=False, **more)
    return done.returncode, done.stdout


# ---- the files ----


def paragraphs(name):
    """The fields of each paragraph of one of Debian's control files."""
    text = deployed.read("deploy", "debian", name)
    return [dict(re.findall(r"^(\S+): *((?:.*\n)(?:[ \t].*\n)*)", part + "\n", re.MULTILINE)) for part in text.split("\n\n")]


def check_files():
    said = re.match(r"tickpath \((\S+)\) ", deployed.read("deploy", "debian", "changelog")).group(1)
    check(said == version(), "the packages are of %s; the project is at %s" % (said, version()))
    source, *binaries = paragraphs("control")
    check([each["Package"].strip() for each in binaries] == list(PACKAGES), "the packages are %s" % [each["Package"] for each in binaries])
    depends = set(re.findall(r"[a-z][a-z0-9.+-]+", re.sub(r"\(.*?\)", "", source["Build-Depends"])))
    table = re.findall(r"^build +\w+ +\S+ +(\S+)$", deployed.read("deploy", "install-deps.sh"), re.MULTILINE)
    wanted = set(table) - {"gcc", "libc6-dev", "make", "binutils"}  # build-essential has these
    check(depends == wanted | {"debhelper-compat", "help2man"}, "Build-Depends differs from install-deps.sh by %s" % (depends ^ wanted))
    licence = re.sub(r"^ \.?", "", deployed.read("deploy", "debian", "copyright").partition("\nLicense: Expat\n ")[2], flags=re.MULTILINE)
    check(licence.strip() == deployed.read("LICENSE").partition("\n\n")[2].partition("\n\n")[2].strip(), "debian/copyright is not LICENSE")
    installed = [line.split() for name in PACKAGES for line in deployed.read("deploy", "debian", name + ".install").splitlines()]
    for words in installed:
        if words[0].startswith("deploy/"):
            check(glob.glob(os.path.join(ROOT, words[0])), "there is no %s to install" % words[0])
    shown = [line for kind in ("docs", "examples") for line in deployed.read("deploy", "debian", "tickpathd." + kind).split()]
    check(all(os.path.exists(os.path.join(ROOT, path)) for path in shown), "of %s some are not there" % shown)
    check(UNITS and "tickpathd.service" in UNITS, "the units are %s" % UNITS)
    rules = deployed.read("deploy", "debian", "rules")
    named = re.findall(r"[a-z-]+\.(?:service|socket)", "".join(re.findall(r"^\tdh_installsystemd.*$", rules, re.MULTILINE)))
    check(sorted(named) == UNITS, "the rules know the units %s; there are %s" % (sorted(named), UNITS))
    for name in sorted(os.listdir(DEBIAN)):
        known = name in ("control", "changelog", "copyright", "rules", "source") or name.partition(".")[0] in PACKAGES
        check(known, "deploy/debian/%s is of no package" % name)


# ---- the packages ----


def check_contents(folder):
    """Gives the packages' paths."""
    found = {os.path.basename(path).split("_")[0]: path for path in glob.glob(os.path.join(folder, "*.deb"))}
    check(sorted(name for name in found if not name.endswith("-dbgsym")) == sorted(PACKAGES), "the packages are %s" % sorted(found))
    multiarch = output(["dpkg-architecture", "-qDEB_HOST_MULTIARCH"])[1].strip()
    for name in PACKAGES:
        rows = [line.split() for line in output(["dpkg-deb", "--contents", found[name]])[1].splitlines()]
        files = {row[5][2:]: row for row in rows if row[0][0] != "d"}
        plain = sorted(path for path in files if not path.startswith("usr/share/doc/"))
        check(plain == sorted(path.replace("MULTIARCH", multiarch) for path in HOLDS[name]), "%s holds %s" % (name, plain))
        wrong = [path for path, row in files.items() if row[1] != "root/root" or "w" in row[0][4:]]
        check(not wrong, "%s: %s belong to others than root, or are written by them" % (name, wrong))
        for what in ("copyright", "changelog.gz"):
            check("usr/share/doc/%s/%s" % (name, what) in files, "%s has no %s" % (name, what))
        fields = dict(line.split(": ", 1) for line in output(["dpkg-deb", "--field", found[name]])[1].splitlines() if ": " in line)
        check(fields["Version"] == version() and "libc6" in fields["Depends"], "%s says %s" % (name, fields))
    return [found[name] for name in PACKAGES]


def check_daemon(root, folder):
    port, stats = free_ports(2)
    place = "127.0.0.1:%d" % stats
    data = "/" + os.path.relpath(folder, root) + "/data"
    os.mkdir(root + data)
    run_in = lambda *words: [CHROOT, root, *words]  # noqa: E731
    for name, package in (("tickpathd", "tickpathd"), ("tickpath", "tickpath-client")):
        status, words = output(run_in("/usr/bin/" + name, "--version"))
        check((status, words) == (0, "%s %s\n" % (name, version())), "%s of %s says %s, %s" % (name, package, status, words))
        status, words = output(run_in("/usr/bin/" + name, "--help"))
        check(status == 0 and words.startswith(name) or "usage: " + name in words, "%s --help says %s, %s" % (name, status, words))
    with Processes(folder) as processes:
        command = ["/usr/bin/tickpathd", "--listen", "127.0.0.1:%d" % port, "--stats", place, "--data", data]
        daemon = processes.start("daemon", run_in(*command))
        status, words = output(run_in("/usr/bin/tickpath", "health", "--stats", place, "--wait-ms", "20000"))
        check(status == 0 and daemon.is_running(), "the packages' daemon is not ready: %s\n%s" % (words, daemon.log()))
        load = ["/usr/bin/tickpath", "load", "--via", "127.0.0.1:%d" % port, "--agents", "10", "--size", "64x64", "--hz", "20", "--seconds", "1"]
        status, words = output(run_in(*load))
        check(status == 0, "a load on it ends with %s:\n%s" % (status, words))
        # README's five-minute tour begins so
        city, walks = data + "/city.map", data + "/walks.png"
        status, words = output(run_in("/usr/bin/tickpath", "map", "generate", "--kind", "city", "--size", "128x128", "--seed", "7", "--out", city))
        check(status == 0, "making a map ends with %s:\n%s" % (status, words))
        status, words = output(run_in("/usr/bin/tickpath", "run", "--map", city, "--via", "127.0.0.1:%d" % port, "--agents", "50", "--png", walks))
        check(status == 0 and re.search(r"^agents +50: 50 arrived", words, re.MULTILINE), "50 agents' walk ends with %s:\n%s" % (status, words))
        check(os.path.isfile(root + walks), "their ways are not drawn")
        daemon.terminate()
        check(daemon.wait() == 0, "SIGTERM ends it with %s:\n%s" % (daemon.wait(0), daemon.log()))


def check_units(root):
    """What systemd says of the units where they were installed; whether dpkg's scripts turned on what they should."""
    status, words = output([CHROOT, root, "systemd-analyze", "verify", "--man=no", *("/lib/systemd/system/" + unit for unit in UNITS)])
    check(status == 0 and not words.strip(), "systemd says of the units: %s, %s" % (status, words))
    check(enabled(root) == UNITS, "installed, %s are enabled" % enabled(root))


def enabled(root):
    return sorted(os.path.basename(path) for path in glob.glob(root + "/etc/systemd/system/*.wants/*") if os.path.basename(path) in UNITS)


def check_program(root, folder):
    """A program of the client library's, with what the package put down and nothing of this checkout."""
    with open(os.path.join(folder, "user.c"), "w", encoding="utf-8") as file:
        file.write(USER)
    build = 'cd "$0" && cc -std=c11 -o user user.c $(pkg-config --cflags --libs tickpath-client) && ./user'
    status, words = output([CHROOT, root, "sh", "-c", build, "/" + os.path.relpath(folder, root)])
    check((status, words) == (0, "OK\n"), "a program of the client library's: %s, %s" % (status, words))


def newer(folder, package):
    """The same package, as one that comes after it."""
    status, words = output(["dpkg-deb", "--raw-extract", package, folder + "/newer"])
    with open(folder + "/newer/DEBIAN/control", "r+", encoding="utf-8") as file:
        text = file.read().replace("\nVersion: %s\n" % version(), "\nVersion: %s+newer\n" % version())
        file.seek(0)
        file.write(text)
    path = os.path.join(folder, os.path.basename(package).replace(version(), version() + "+newer"))
    status, words = output(["dpkg-deb", "--root-owner-group", "--build", folder + "/newer", path])
    check(status == 0, "dpkg-deb makes no newer package: %s" % words)
    return path


def check_upgraded(root, folder, package):
    """What an operator has set stays: in the file, and which units are on."""
    with open(os.path.join(root, CONF), "a", encoding="utf-8") as file:
        file.write("threads = 3\n")
    status, words = output([CHROOT, root, "systemctl", "disable", "tickpathd-stats.socket"])
    check(status == 0 and "tickpathd-stats.socket" not in enabled(root), "the stats socket can't be turned off: %s" % words)
    status, words = output([CHROOT, root, "/usr/bin/tickpathd", "--config", "/" + CONF, "--check-config"])
    check(status == 0, "the settings as they were installed, and one more: %s, %s" % (status, words))
    left = enabled(root)
    status, words = output([CHROOT, root, "dpkg", "--install", "/" + os.path.relpath(newer(folder, package), root)])
    check(status == 0, "an upgrade ends with %s:\n%s" % (status, words))
    status, words = output([CHROOT, root, "dpkg-query", "-W", "-f", "${Version} ${Conffiles}", "tickpathd"])
    check(words.startswith(version() + "+newer") and "/" + CONF in words, "after it there is %s" % words)
    with open(os.path.join(root, CONF), encoding="utf-8") as file:
        check(file.read().endswith("threads = 3\n"), "an upgrade loses what was set")
    check(enabled(root) == left, "an upgrade turns on %s" % enabled(root))


def check_removed(root):
    """Removed, the settings and maps stay; purged, nothing does."""
    maps = [os.path.join(root, "var/lib", name, "tickpath") for name in (".", "private")]
    for path in maps:
        os.makedirs(path)
    with open(root + "/etc/tickpath/secrets", "w", encoding="utf-8"):
        pass
    status, words = output([CHROOT, root, "dpkg", "--remove", *PACKAGES])
    check(status == 0, "dpkg does not remove them: %s\n%s" % (status, words))
    left = [path for name in PACKAGES for path in HOLDS[name] if os.path.lexists(os.path.join(root, path))]
    check(left == [CONF] and all(map(os.path.isdir, maps)), "removed, they leave %s" % left)
    status, words = output([CHROOT, root, "dpkg", "--purge", *PACKAGES])
    check(status == 0, "dpkg does not purge them: %s\n%s" % (status, words))
    left = glob.glob(root + "/etc/systemd/system/*.wants/tickpathd*") + glob.glob(root + "/etc/tickpath") + list(filter(os.path.lexists, maps))
    left += glob.glob(root + "/var/lib/systemd/deb-systemd-helper-*/**/tickpathd*", recursive=True)
    check(not left, "purged, they leave %s" % left)


def check_installed(folder, packages):
    """In a namespace whose `folder`/tree is this machine, to be written at will."""
    root = os.path.join(folder, "tree")
    inside = tempfile.mkdtemp(prefix="tickpath-package-", dir=os.path.join(root, "var/tmp"))
    there = ["/" + os.path.relpath(shutil.copy(path, inside), root) for path in packages]
    status, words = output([CHROOT, root, "dpkg", "--install", *there])
    if not check(status == 0, "dpkg does not install them: %s\n%s" % (status, words)):
        return close()
    for word in ("tickpathd", "tickpath"):
        check(os.access(os.path.join(root, "usr/bin", word), os.X_OK), "/usr/bin/%s is not there" % word)
    check(os.path.isfile(os.path.join(root, CONF)), "/%s is not there" % CONF)
    check_units(root)
    check_program(root, inside)
    check_daemon(root, inside)
    check_upgraded(root, inside, packages[0])
    check_removed(root)
    return close()


def check_clean(folder, packages):
    """In a root that debootstrap makes, of this machine's release: there is nothing but what the packages ask for."""
    cache = os.environ.get("TICKPATH_IMAGE_CACHE")
    release = re.search(r"^VERSION_CODENAME=(\w+)$", open("/etc/os-release", encoding="utf-8").read(), re.MULTILINE)
    root = os.path.join(folder, "clean")
    os.mkdir(root)
    if cache:
        os.makedirs(os.path.join(cache, "partial"), exist_ok=True)
    try:
        image.debian(root, release.group(1), cache and os.path.abspath(cache))
        stage = image.Stage(root, cache and os.path.abspath(cache))
        inside = tempfile.mkdtemp(prefix="tickpath-package-", dir=os.path.join(root, "var/tmp"))
        there = ["/" + os.path.relpath(shutil.copy(path, inside), root) for path in packages]
        stage.run("apt-get -q update && DEBIAN_FRONTEND=noninteractive apt-get -q -y --no-install-recommends install %s" % " ".join(there))
        check_daemon(root, inside)
        check(enabled(root) == UNITS, "in a clean root %s are enabled" % enabled(root))
        stage.run("DEBIAN_FRONTEND=noninteractive apt-get -q -y purge %s" % " ".join(PACKAGES))
        check(not os.path.exists(os.path.join(root, CONF)), "purged by apt, /%s stays" % CONF)
    except image.Failed as error:
        check(False, "in a clean root: %s" % error)


def check_built(folder):
    if os.geteuid() != 0:
        print("packages are installed by root alone")
        return 1
    packages = check_contents(folder)
    place = tempfile.mkdtemp(prefix="tickpath-package-")
    try:
        for name in ("upper", "work", "tree"):
            os.mkdir(os.path.join(place, name))
        inside = [sys.executable, os.path.abspath(__file__), "--inside", place, *packages]
        check_clean(place, packages)
        status = subprocess.call(["unshare", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc", "sh", "-eu", "-c", APART, "sh", place, *inside])
        return max(status, close())
    finally:
        shutil.rmtree(place)


def main(words):
    if words[:1] == ["--inside"]:
        return check_installed(words[1], words[2:])
    if words[:1] == ["--built"] and len(words) == 2:
        return check_built(os.path.abspath(words[1]))
    check_files()
    return close()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
