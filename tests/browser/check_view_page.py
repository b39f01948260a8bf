#!/usr/bin/python3
"""The live view in a real browser: view.mjs drives Chromium over a daemon whose 200 agents walk while the map changes.
Prints totals in Check's form. It needs chromium, node and npm (deploy/install-deps.sh installs them), and fails without.

    tests/browser/check_view_page.py [FOLDER]    with a folder: takes the pictures of README.md into it as well
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(ROOT, "tests", "lib"))
from checks import check, close  # noqa: E402
from processes import Processes, free_ports, http, wait_for  # noqa: E402

BIN = os.path.join(ROOT, os.environ.get("TICKPATH_BIN") or "build")
HERE = os.path.join(ROOT, "tests", "browser")
CHROMIUM = os.environ.get("TICKPATH_CHROMIUM") or "/usr/bin/chromium"
BROWSER_S = 110  # longest run of the browser; it takes about 30 s


def modules():
    """The folder with the browser's driver, exactly as the lock file has it; installed once for a build."""
    folder = os.path.join(BIN, "browser")
    lock = os.path.join(folder, "package-lock.json")
    wanted = open(os.path.join(HERE, "package-lock.json"), "rb").read()
    if os.path.exists(lock) and open(lock, "rb").read() == wanted and os.path.isdir(os.path.join(folder, "node_modules", "playwright-core")):
        return folder
    os.makedirs(folder, exist_ok=True)
    shutil.copy(os.path.join(HERE, "package.json"), folder)
    done = subprocess.run(["npm", "ci", "--no-audit", "--no-fund"], cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          text=True, timeout=100) if write(lock, wanted) else None
    if not check(done.returncode == 0, "npm ci failed:\n%s" % done.stdout):
        sys.exit(close())
    return folder


def write(path, data):
    with open(path, "wb") as file:
        return file.write(data)


class Daemon:
    """One that is ended and started again on the same ports, with a load of agents on it."""

    def __init__(self, processes):
        self.processes = processes
        self.port, self.stats_port = free_ports(2)
        self.started = 0

    def start(self):
        self.started += 1
        self.daemon = self.processes.start("daemon%d" % self.started, [os.path.join(BIN, "tickpathd"), "--threads", "2", "--listen", "127.0.0.1:%d" % self.port,
                                                                       "--stats", "127.0.0.1:%d" % self.stats_port])
        check(wait_for(lambda: http(self.stats_port, "/readyz")[0] == 200), "no daemon serves:\n%s" % self.daemon.log())
        self.load = self.processes.start("load%d" % self.started, [
            os.path.join(BIN, "tickpath"), "load", "--via", "127.0.0.1:%d" % self.port, "--agents", "200", "--size", "256x256", "--hz", "10", "--seconds", "600",
            "--warm-frames", "1", "--workload", "searching", "--alg", "tbaa", "--k", "20", "--changes", "2"])
        check(wait_for(lambda: '"sessions":200' in http(self.stats_port, "/view/maps")[1]), "the load opens no sessions:\n%s" % self.load.log())

    def end(self):
        self.load.terminate()
        check(self.load.wait() is not None, "the load does not end")
        self.daemon.terminate()
        check(self.daemon.wait() == 0, "the daemon ended with %s:\n%s" % (self.daemon.wait(), self.daemon.log()))


def drive(daemon, folder, pictures):
    command = ["node", os.path.join(HERE, "view.mjs"), "http://127.0.0.1:%d/" % daemon.stats_port, modules()] + ([pictures] if pictures else [])
    log = open(os.path.join(folder, "node.log"), "wb")
    node = subprocess.Popen(["timeout", "--kill-after=5", str(BROWSER_S)] + command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, text=True)
    for line in node.stdout:
        said = json.loads(line)
        if "ask" in said:
            {"end the daemon": daemon.end, "start the daemon": daemon.start}[said["ask"]]()
            node.stdin.write("done\n")
            node.stdin.flush()
        else:
            print("%s  %s" % ("ok " if said["holds"] else "BAD", said["words"]))
            check(said["holds"], "not so: " + said["words"])
    check(node.wait() == 0, "node ended with %d:\n%s" % (node.wait(), open(log.name, encoding="utf-8", errors="replace").read()))


def main():
    for program in (CHROMIUM, "node", "npm"):
        if not check(shutil.which(program), "%s is not there: deploy/install-deps.sh installs it" % program):
            return
    with tempfile.TemporaryDirectory() as folder, Processes(folder) as processes:
        os.environ["HOME"] = folder  # where Chromium and npm leave things
        daemon = Daemon(processes)
        daemon.start()
        drive(daemon, folder, sys.argv[1] if len(sys.argv) > 1 else None)
        daemon.end()


main()
sys.exit(close())
