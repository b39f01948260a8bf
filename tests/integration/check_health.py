#!/usr/bin/env python3
"""`tickpath health` against a real daemon that is ready, one that is not, and what is no daemon: its exit code, its words, its bound of
time. Prints totals in Check's form."""

import os
import shutil
import socket
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(ROOT, "tests", "lib"))
from checks import check, close  # noqa: E402
from processes import Processes, free_ports, http, wait_for  # noqa: E402

BIN = os.path.join(ROOT, os.environ.get("TICKPATH_BIN") or "build")


class Asker:
    def __init__(self, processes):
        self.processes, self.count = processes, 0

    def __call__(self, words, environment=None):
        """(exit status, words, seconds)"""
        self.count += 1
        began = time.monotonic()
        command = [os.path.join(BIN, "tickpath"), "health", *words]
        process = self.processes.start("health-%d" % self.count, command, {"TICKPATHD_STATS": "", **(environment or {})})
        return process.wait(), process.log(), time.monotonic() - began


def check_daemon(processes, ask):
    port, stats, nobody = free_ports(3)
    place = "127.0.0.1:%d" % stats
    settings = {"TICKPATHD_LISTEN": "127.0.0.1:%d" % port, "TICKPATHD_STATS": place}
    waiting = processes.start("waiting", [os.path.join(BIN, "tickpath"), "health", "--stats", place, "--wait-ms", "30000"])
    daemon = processes.start("daemon", [os.path.join(BIN, "tickpathd")], settings)
    check(waiting.wait() == 0, "who waits for a daemon to be ready ends with %s: %s" % (waiting.wait(0), waiting.log()))
    for words, environment in (
        (["--stats", place], {}),
        (["--stats", place, "--page", "/livez"], {}),
        ([], {"TICKPATHD_STATS": place}),
        ([], {"TICKPATHD_STATS": "0.0.0.0:%d" % stats}),
        (["--stats", place], {"TICKPATHD_STATS": "127.0.0.1:%d" % nobody}),
    ):
        status, said, _ = ask(words, environment)
        check(status == 0 and said.strip(), "a ready daemon, asked with %s, %s: %s, %s" % (words, environment, status, said))
    status, said, _ = ask(["--stats", place, "--page", "/no-such-page"])
    check(status == 1, "a page that is not there: %s, %s" % (status, said))
    status, said, _ = ask(["--stats", "127.0.0.1:%d" % port, "--timeout-ms", "500"])
    check(status == 1, "the port of clients: %s, %s" % (status, said))
    daemon.terminate()
    check(daemon.wait() == 0, "the daemon ended badly:\n%s" % daemon.log())
    status, said, _ = ask(["--stats", place])
    check(status == 1 and "refused" in said and place + "/readyz" in said, "a daemon that ended: %s, %s" % (status, said))
    status, said, took = ask(["--stats", place, "--wait-ms", "300"])
    check(status == 1 and took >= 0.3, "waiting for nobody: %s, %s, %.2f s" % (status, said, took))


def check_not_ready(processes, ask):
    """It waits for its Redis: alive, not ready, and it says why."""
    port, stats, nobody = free_ports(3)
    place = "127.0.0.1:%d" % stats
    settings = {"TICKPATHD_LISTEN": "127.0.0.1:%d" % port, "TICKPATHD_STATS": place, "TICKPATHD_REDIS": "redis://127.0.0.1:%d" % nobody}
    daemon = processes.start("unready", [os.path.join(BIN, "tickpathd")], settings)
    check(ask(["--stats", place, "--page", "/livez", "--wait-ms", "30000"])[0] == 0, "it does not get alive:\n%s" % daemon.log())
    status, said, _ = ask(["--stats", place])
    check(status == 1 and said == http(stats, "/readyz")[1].rstrip("\n") + "\n", "not ready: %s, %s" % (status, said))
    daemon.terminate()
    check(wait_for(lambda: not daemon.is_running()), "it does not end")


def check_strangers(ask):
    """One that says nothing, and one that says something else."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        status, said, took = ask(["--stats", "127.0.0.1:%d" % server.getsockname()[1], "--timeout-ms", "300"])
        check(status == 1 and 0.3 <= took < 10, "one that says nothing: %s, %s, %.2f s" % (status, said, took))
    for words in (["--stats", "here"], ["--page", "readyz"], ["--page", "/a b"], ["--timeout-ms", "0"]):
        status, said, _ = ask(words)
        check(status == 2 and words[0] in said, "%s: %s, %s" % (words, status, said))
    status, said, _ = ask([], {"TICKPATHD_STATS": "nonsense"})
    check(status == 2 and "TICKPATHD_STATS" in said, "a variable that is no address: %s, %s" % (status, said))


def main():
    folder = tempfile.mkdtemp(prefix="tickpath-health-")
    try:
        with Processes(folder) as processes:
            ask = Asker(processes)
            check_daemon(processes, ask)
            check_not_ready(processes, ask)
            check_strangers(ask)
    finally:
        shutil.rmtree(folder)
    return close()


if __name__ == "__main__":
    sys.exit(main())
