#!/usr/bin/python3
"""The units of deploy/systemd: systemd finds nothing wrong with them, they give away little, they leave the drain its time, and what they
name is what the daemon knows. Prints totals in Check's form."""

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
from checks import check, close  # noqa: E402

BIN = os.path.join(ROOT, os.environ.get("TICKPATH_BIN") or "build")
UNITS = os.path.join(ROOT, "deploy", "systemd")
EXPOSURE_MAX = 1.5  # of 10, as systemd-analyze security scores it


def run(*command):
    done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=60)
    return done.returncode, done.stdout


def read(name):
    with open(os.path.join(UNITS, name), encoding="utf-8") as file:
        return file.read()


def check_verify(folder):
    """With the program where it is here: systemd looks whether it can be run."""
    paths = []
    for path in glob.glob(os.path.join(UNITS, "*.s*")):
        paths.append(os.path.join(folder, os.path.basename(path)))
        with open(paths[-1], "w", encoding="utf-8") as file:
            file.write(read(os.path.basename(path)).replace("/usr/bin/tickpathd", os.path.abspath(os.path.join(BIN, "tickpathd"))))
    check(len(paths) == 3, "units: %s" % paths)
    status, said = run("systemd-analyze", "verify", "--man=no", *sorted(paths))
    ours = [line for line in said.splitlines() if "tickpath" in line]  # it also reads units of the machine
    check(status == 0 and not ours, "systemd-analyze verify ended with %d:\n%s" % (status, said))
    return os.path.join(folder, "tickpathd.service")


def check_exposure(path):
    status, said = run("systemd-analyze", "security", "--offline=yes", "--threshold=%d" % (EXPOSURE_MAX * 10), "--no-pager", path)
    found = re.search(r"Overall exposure level for \S+: ([0-9.]+)", said)
    check(found and status == 0 and float(found[1]) <= EXPOSURE_MAX, "systemd-analyze security ended with %d:\n%s" % (status, said[-3000:]))
    if found:
        print("exposure level %s of 10, at most %s allowed" % (found[1], EXPOSURE_MAX))


def check_facts():
    told = run(os.path.join(BIN, "tickpathd"), "--help")[1]
    status, said = run(os.path.join(BIN, "tickpathd"), "--config", os.path.join(UNITS, "tickpathd.conf"), "--check-config")
    check(status == 0, "tickpathd --check-config ended with %d: %s" % (status, said))
    options = re.findall(r"^  --([a-z-]+) ", told, re.MULTILINE)
    suggested = re.findall(r"^#([a-z-]+) = ", read("tickpathd.conf"), re.MULTILINE)
    check(suggested and set(suggested) <= set(options), "tickpathd.conf has %s" % suggested)
    service = read("tickpathd.service")
    check("\nExecReload=/bin/kill -HUP $MAINPID\n" in service and "--config /etc/tickpath/tickpathd.conf\n" in service, "what a reload reads")
    files = re.findall(r"^EnvironmentFile=-(.*)$", service, re.MULTILINE)
    check(files == ["/etc/tickpath/secrets"], "it reads %s" % files)
    check(not re.search(r"^(stats-token|redis) *=", read("tickpathd.conf"), re.MULTILINE), "tickpathd.conf, which anybody reads, has a secret")
    drain_ms = sum(int(ms) for ms in re.findall(r"--drain-(?:delay-)?ms N.*default (\d+)\)", told))
    with open(os.path.join(ROOT, "daemon", "server.c"), encoding="utf-8") as file:
        stop_s = int(re.search(r"STOP_SECONDS_MAX = (\d+)", file.read())[1])
    stop = int(re.search(r"^TimeoutStopSec=(\d+)$", service, re.MULTILINE)[1])
    check(drain_ms > 0 and stop >= drain_ms / 1000 + stop_s, "it is killed after %d s, before it has drained" % stop)
    codes = re.findall(r"^ +(\d+)  ", told.partition("It ends with")[2], re.MULTILINE)
    check("13" in codes and "SuccessExitStatus=13\n" in service, "the code of a drain that dropped connections")
    check("2" in codes and "RestartPreventExitStatus=2\n" in service, "the code of a wrong option")
    names = [re.search(r"^FileDescriptorName=(.*)$", read(unit), re.MULTILINE)[1] for unit in ("tickpathd.socket", "tickpathd-stats.socket")]
    check(names == ["tickpath", "stats"], "the sockets' names are %s" % names)


def main():
    folder = tempfile.mkdtemp(prefix="tickpath-systemd-")
    try:
        check_exposure(check_verify(folder))
        check_facts()
    finally:
        shutil.rmtree(folder)
    return close()


if __name__ == "__main__":
    sys.exit(main())
