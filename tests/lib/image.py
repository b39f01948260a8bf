"""The Dockerfile's lines, carried out without a container engine, as root: each stage that begins with Debian is a clean root made by
debootstrap, one that begins with scratch an empty one.

    root = image.carry_out(folder, cache)        the last stage's root, below the folder
    enter = image.enter(root, said)              what a process calls to be in it as its user (Processes.start)

The lines are those of deployed.docker_lines(): what runs here is what an engine would run. Packages come from where this machine's
apt takes them, and from nowhere else; `cache` is a folder that keeps them from one time to the next, or None. Every command runs in a
namespace of mounts and processes of its own, so that nothing of it is left, and has a bound of time.
"""

import ctypes
import fnmatch
import os
import shutil
import subprocess

import deployed

PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
COMMAND_S = 1200  # longest time of one line
PROXIES = ("http_proxy", "https_proxy", "no_proxy")
PR_SET_NO_NEW_PRIVS = 38
# $1 is a root, $2 a folder of packages that apt is to use or empty, the rest the command.
INSIDE = """
mount -t proc proc "$1/proc"
[ -z "$2" ] || mount --bind "$2" "$1/var/cache/apt/archives"
root=$1; shift 2
exec chroot "$root" "$@"
"""


class Failed(Exception):
    """A line did not do what it says; the words have the end of what it printed."""


def run(command, words, environment=None):
    try:
        done = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env=environment,
            text=True,
            errors="replace",
            timeout=COMMAND_S,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise Failed("%s: %s" % (words, error)) from error
    if done.returncode != 0:
        raise Failed("%s: exit status %d\n%s" % (words, done.returncode, "\n".join(done.stdout.splitlines()[-30:])))
    return done.stdout


def sources(suite):
    """[(site, suite)] of a release that this machine's apt has, the release itself first."""
    rows = run(["apt-get", "indextargets", "--format", "$(SITE) $(CODENAME) $(COMPONENT)", "Created-By: Packages"], "apt's sources")
    found = [tuple(row.split()[:2]) for row in rows.splitlines() if row.split()[2:] == ["main"]]
    found = sorted({each for each in found if each[1] == suite or each[1].startswith(suite + "-")}, key=lambda each: (each[1] != suite, each))
    if not found or found[0][1] != suite:
        raise Failed("apt has no packages of %s here: %s" % (suite, found))
    return found


def debian(root, tag, cache):
    """A root as the image debian:TAG is: no more than the required packages, no lists of packages."""
    found = sources(tag.partition("-")[0])
    made = ["debootstrap", "--variant=minbase", *(["--cache-dir=" + cache] if cache else []), found[0][1], root, found[0][0]]
    run(made, "debootstrap", {**os.environ, "PATH": PATH})
    with open(os.path.join(root, "etc", "apt", "sources.list"), "w", encoding="utf-8") as file:
        file.writelines("deb %s %s main\n" % each for each in found)
    with open(os.path.join(root, "etc", "apt", "apt.conf.d", "50proxy"), "w", encoding="utf-8") as file:
        file.write(run(["apt-config", "dump", "Acquire::http::Proxy"], "apt's proxy"))
    lists = os.path.join(root, "var", "lib", "apt", "lists")
    shutil.rmtree(lists)
    os.mkdir(lists)


def ignored():
    """For copytree: what .dockerignore keeps from an engine, as far as its patterns go here (a name of the top, or **/NAME)."""
    patterns = [line for line in deployed.read(".dockerignore").split() if not line.startswith("#")]

    def names(folder, all_names):
        mine = [p[3:] for p in patterns if p.startswith("**/")] + [p for p in patterns if folder == deployed.ROOT and "/" not in p]
        return [name for name in all_names if any(fnmatch.fnmatch(name, pattern) for pattern in mine)]

    return names


class Stage:
    def __init__(self, root, cache):
        self.root, self.cache, self.workdir = root, cache, "/"

    def inside(self, path):
        """The place in this machine's tree of a path of the stage's."""
        return os.path.join(self.root, os.path.join(self.workdir, path).lstrip("/"))

    def copy(self, rest, stages):
        options, names, target = deployed.docker_copy(rest)
        if set(options) - {"from", "chown"}:
            raise Failed("COPY %s: options that nothing here carries out" % rest)
        there = self.inside(target)
        for name in names:
            source = stages[options["from"]].inside(name) if "from" in options else os.path.normpath(os.path.join(deployed.ROOT, name))
            if os.path.isdir(source):  # what is in it, as COPY does; a folder's owner goes only by --chown
                skip = ignored() if "from" not in options else None
                shutil.copytree(source, there, symlinks=True, dirs_exist_ok=True, ignore=skip)
            else:
                os.makedirs(there if target.endswith("/") else os.path.dirname(there), exist_ok=True)
                shutil.copy2(source, there)
        if "chown" in options:
            owner = [int(number) for number in options["chown"].split(":")]
            for folder, folders, files in os.walk(there):
                for name in [".", *folders, *files]:
                    os.chown(os.path.join(folder, name), *owner, follow_symlinks=False)

    def run(self, line):
        proxies = ["%s=%s" % (name, os.environ[name]) for name in PROXIES if name in os.environ]
        command = ["env", "-i", "PATH=" + PATH, "HOME=/root", *proxies, "sh", "-c", "cd '%s' && %s" % (self.workdir, line)]
        apart = ["unshare", "--mount", "--pid", "--fork", "--kill-child", "sh", "-eu", "-c", INSIDE, "sh"]
        run([*apart, self.root, self.cache or "", *command], "RUN " + line)


def carry_out(folder, cache=None, say=print):
    """Carries out the lines that make files; the others say how the image is run (deployed.dockerfile). Failed, with words."""
    stages, stage, last = {}, None, None
    if cache:
        cache = os.path.abspath(cache)
        os.makedirs(os.path.join(cache, "partial"), exist_ok=True)
    for word, rest in deployed.docker_lines():
        if word not in ("FROM", "WORKDIR", "COPY", "RUN"):
            continue
        say("%s %s" % (word, rest))
        if word == "FROM":
            base, _, name = rest.partition(" AS ")
            last = os.path.join(folder, name)
            os.mkdir(last)
            stage = stages[name] = Stage(last, cache)
            if base.startswith("debian:"):
                debian(last, base.partition(":")[2], cache)
            elif base != "scratch":
                raise Failed("there is no %s without an engine" % base)
        elif word == "WORKDIR":
            stage.workdir = os.path.join(stage.workdir, rest)
            os.makedirs(stage.inside("."), exist_ok=True)
        elif word == "COPY":
            stage.copy(rest, stages)
        else:
            stage.run(rest)
    return last


# ---- being in it ----


def mount(root, said):
    """What an engine does before it starts the last stage: its files can't be written, but for the volumes; /proc, /dev and the names of
    loopback are there. To be called in a namespace of mounts that ends with the caller."""
    for volume in said["volumes"]:
        apart = root + volume.replace("/", "-")
        shutil.move(root + volume, apart)  # with its owner
        os.mkdir(root + volume)
        run(["mount", "--bind", apart, root + volume], "a volume")
    with open(os.path.join(root, "etc", "hosts"), "w", encoding="utf-8") as file:
        file.write("127.0.0.1 localhost\n::1 localhost\n")
    run(["mount", "--rbind", root, root], "its root")
    run(["mount", "-o", "remount,bind,ro", root], "its root, not to be written")
    run(["mount", "-t", "proc", "proc", root + "/proc"], "its /proc")
    run(["mount", "--rbind", "/dev", root + "/dev"], "its /dev")


def enter(root, said):
    """A function after which the calling process is in the root as the image's user, with no privileges to gain."""
    user, _, group = said["user"].partition(":")
    libc = ctypes.CDLL(None)

    def inside():
        os.chroot(root)
        os.chdir(said["workdir"])
        os.setgroups([])
        os.setgid(int(group))
        os.setuid(int(user))
        if libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0:
            raise OSError("no_new_privs")

    return inside
