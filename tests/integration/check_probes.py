#!/usr/bin/env python3
"""The daemon's probes: those that daemon/probes.h lists are in the program, with as many arguments, and no others; deploy/trace.bt hangs on
probes that there are. Prints totals in Check's form."""

import os
import re
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(ROOT, "tests", "lib"))
from checks import check, close  # noqa: E402

BIN = os.path.join(ROOT, os.environ.get("TICKPATH_BIN") or "build")


def read(*path):
    with open(os.path.join(ROOT, *path), encoding="utf-8") as file:
        return file.read()


def main():
    listed = {name: len(words.split(",")) for name, words in re.findall(r"^ \*     (\w+__\w+) +(.+)$", read("daemon", "probes.h"), re.MULTILINE)}
    check(len(listed) == 6, "probes.h lists %s" % listed)
    notes = subprocess.run(["readelf", "-n", os.path.join(BIN, "tickpathd")], capture_output=True, text=True, timeout=60, check=True).stdout
    found = {}
    for provider, name, arguments in re.findall(r"Provider: (\S+)\s+Name: (\S+)\s+Location: .*\s+Arguments: (.*)", notes):
        if provider == "tickpathd":
            found.setdefault(name, set()).add(len(re.findall(r"-?\d+@", arguments)))
    check(set(found) == set(listed), "the program has the probes %s" % sorted(found))
    for name, counts in found.items():
        check(counts == {listed[name]}, "%s has %s arguments, not %d" % (name, counts, listed[name]))

    # each block of the sample: its probe is there, and has the arguments that it reads
    blocks = re.findall(r"^usdt:\S+:tickpathd:(\w+)\n\{(.*?)^\}", read("deploy", "trace.bt"), re.MULTILINE | re.DOTALL)
    check(len(blocks) >= 4, "trace.bt has %d probes" % len(blocks))
    for name, body in blocks:
        if check(name in found, "trace.bt hangs on %s" % name):
            read_ones = {int(number) for number in re.findall(r"\barg(\d)\b", body)}
            check(read_ones and max(read_ones) < listed[name], "trace.bt reads %s of %s" % (sorted(read_ones), name))


if __name__ == "__main__":
    main()
    sys.exit(close())
