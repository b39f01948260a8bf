#!/usr/bin/env python3
"""The daemon's probes: those that daemon/stats/probes.h lists are in the program, with as many arguments, and no others; deploy/trace.bt hangs on
probes that there are. bpftrace reads it against the program; and where the kernel lets it, it traces a daemon, and what it counts is what the agents'
own table says. Prints totals in Check's form."""

import os
import re
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(ROOT, "tests", "lib"))
from checks import check, close  # noqa: E402
from processes import Processes, free_ports, http, wait_for  # noqa: E402

BIN = os.path.abspath(os.path.join(ROOT, os.environ.get("TICKPATH_BIN") or "build"))
PROGRAM = os.path.join(BIN, "tickpathd")
AGENTS = 5
ATTACH_S = 60  # it starts the program when all its probes hang there


def read(*path):
    with open(os.path.join(ROOT, *path), encoding="utf-8") as file:
        return file.read()


def output(*command):
    """(exit status, what it printed)"""
    done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=120, check=False)
    return done.returncode, done.stdout


def check_listed(text):
    listed = {name: len(words.split(",")) for name, words in re.findall(r"^ \*     (\w+__\w+) +(.+)$", read("daemon", "stats", "probes.h"), re.MULTILINE)}
    check(len(listed) == 6, "probes.h lists %s" % listed)
    notes = subprocess.run(["readelf", "-n", PROGRAM], capture_output=True, text=True, timeout=60, check=True).stdout
    found = {}
    for provider, name, arguments in re.findall(r"Provider: (\S+)\s+Name: (\S+)\s+Location: .*\s+Arguments: (.*)", notes):
        if provider == "tickpathd":
            found.setdefault(name, set()).add(len(re.findall(r"-?\d+@", arguments)))
    check(set(found) == set(listed), "the program has the probes %s" % sorted(found))
    for name, counts in found.items():
        check(counts == {listed[name]}, "%s has %s arguments, not %d" % (name, counts, listed[name]))

    # each block of the sample: its probe is there, and has the arguments that it reads
    blocks = re.findall(r"^usdt:\S+:tickpathd:(\w+)\n\{(.*?)^\}", text, re.MULTILINE | re.DOTALL)
    check(len(blocks) >= 4, "trace.bt has %d probes" % len(blocks))
    for name, body in blocks:
        if check(name in found, "trace.bt hangs on %s" % name):
            read_ones = {int(number) for number in re.findall(r"\barg(\d)\b", body)}
            check(read_ones and max(read_ones) < listed[name], "trace.bt reads %s of %s" % (sorted(read_ones), name))


def check_parsed(folder, text):
    """bpftrace makes a program of the sample, of this daemon's probes; gives where the sample is that it took."""
    good, bad = os.path.join(folder, "trace.bt"), os.path.join(folder, "bad.bt")
    for path, words in ((good, text), (bad, text.replace("tickpathd:tick__end", "tickpathd:no__such"))):
        with open(path, "w", encoding="utf-8") as file:
            file.write(words)
    status, words = output("bpftrace", "-d", good)
    check(status == 0, "bpftrace does not take trace.bt:\n%s" % words[-2000:])
    check(output("bpftrace", "-d", bad)[0] != 0, "bpftrace takes a probe that there is not")
    return good


def summed(name, words):
    """How many values a histogram of bpftrace's has."""
    rows = re.search(r"^@%s: \n((?:[\[(].*\n)+)" % name, words, re.MULTILINE)
    return sum(int(number) for number in re.findall(r"^[\[(].*[\])] +(\d+) \|", rows.group(1), re.MULTILINE)) if rows else 0


def value(name, words):
    found = re.search(r"^@%s: (\d+)$" % re.escape(name), words, re.MULTILINE)
    return int(found.group(1)) if found else None


def may_trace():
    """Whether the kernel lets a probe of a user's program be hung; prints why it does not."""
    status, words = output("bpftrace", "-c", "/bin/true", "-e", "uprobe:%s:main { @ = count(); }" % PROGRAM)
    if status == 0 and "ERROR: Error" not in words:
        return True
    print("the kernel does not let bpftrace trace here: trace.bt is parsed, not run: %s" % words.strip()[-300:])
    return False


def check_traced(folder, script):
    with Processes(folder) as processes:
        port, stats = free_ports(2)
        command = "%s --listen 127.0.0.1:%d --stats 127.0.0.1:%d" % (PROGRAM, port, stats)
        tracer = processes.start("bpftrace", ["bpftrace", "-c", command, script])
        serves = wait_for(lambda: not tracer.is_running() or http(stats, "/readyz")[0] == 200, ATTACH_S)
        if not check(serves and tracer.is_running(), "no daemon under bpftrace:\n%s" % tracer.log()[-2000:]):
            return
        city = os.path.join(folder, "city.map")
        output(os.path.join(BIN, "tickpath"), "map", "generate", "--kind", "city", "--size", "64x64", "--seed", "7", "--out", city)
        words = ["--map", city, "--via", "127.0.0.1:%d" % port, "--agents", str(AGENTS), "--door-ticks", "3"]
        status, table = output(os.path.join(BIN, "tickpath"), "run", *words)
        check(status == 0, "a run ends with %d:\n%s" % (status, table))
        ticks, versions = (int(re.search(line, table, re.MULTILINE).group(1)) for line in (r"^ticks +(\d+) ", r"^map versions +1 to (\d+),"))
        tracer.terminate()
        check(tracer.wait() is not None, "bpftrace does not end")
        told = tracer.log()
        due = {"closed": AGENTS, "opened[guided]": AGENTS, "versions[tool/city]": versions}
        got = {name: value(name, told) for name in due}
        check(got == due, "bpftrace counted %s, not %s" % (got, due))
        got = [summed(name, told) for name in ("tick_us", "tick_expansions")]
        check(got == [ticks, ticks], "bpftrace saw %s ticks; there were %d:\n%s" % (got, ticks, told))
        check(summed("restarts_a_tick", told) > 0 and (value("changes[tool/city]", told) or 0) > 0, "no restart, or no change:\n%s" % told)


def main():
    text = read("deploy", "trace.bt")
    check_listed(text)
    installed = "usdt:/usr/bin/tickpathd:"
    check(text.count(installed) == text.count("usdt:"), "trace.bt looks for the program elsewhere than where packages put it")
    with tempfile.TemporaryDirectory() as folder:
        script = check_parsed(folder, text.replace(installed, "usdt:%s:" % PROGRAM))
        if os.geteuid() == 0 and may_trace():
            check_traced(folder, script)


if __name__ == "__main__":
    main()
    sys.exit(close())
