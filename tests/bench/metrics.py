#!/usr/bin/env python3
"""What counting costs: instructions of a loop from one wait for its sockets to the next, in which a request is read, its agents are ticked and
the answer is written, under callgrind, by a build that counts and by one that does not (METRICS=0). The system's own instructions are not seen, so a
request costs more than is counted here. Judged, every case: exit code 1 when the counting takes 2 % or more in one of them.

    tests/bench/metrics.py WITH WITHOUT    the folders of the two builds
"""

import os
import re
import subprocess
import sys
import tempfile

# Agents a request, requests, and what the agents do, as tests/bench/serving calls it.
CASES = tuple((f"{words}, {agents:,} a request", (kind, str(agents), str(requests), row), requests)
              for words, kind, row in (("on their goals", "rest", "guided"), ("on whole paths", "batch", "guided"), ("searching, guided", "search", "guided"),
                                       ("searching, `tbwa`", "search", "tbwa"))
              for agents, requests in ((1, 500), (10, 100), (100, 20)))
SHARE_MAX = 2.0  # percent


def instructions(build, words):
    """Those of the function `measured` and all that it calls."""
    with tempfile.TemporaryDirectory() as folder:
        command = ["valgrind", "--tool=callgrind", "--toggle-collect=measured*", "--callgrind-out-file=" + os.path.join(folder, "out"),
                   os.path.join(build, "tests", "bench", "serving"), "linked", *words]
        done = subprocess.run(command, capture_output=True, text=True, timeout=900, check=True)
    return int(re.search(r"Collected : (\d+)", done.stderr).group(1))


def main():
    counting, plain = sys.argv[1:]
    over = []
    print("| agents | instructions a request | without metrics | metrics | metrics cost |\n|---|---|---|---|---|")
    for name, words, requests in CASES:
        with_them, without = instructions(counting, words), instructions(plain, words)
        share = 100.0 * (with_them - without) / without
        print("| %s | %s | %s | %s | %.2f %% |" % (name, *(format(round(n / requests), ",") for n in (with_them, without, with_them - without)), share), flush=True)
        if share >= SHARE_MAX:
            over.append("%s: %.2f %%" % (name, share))
    print("%s: below %.1f %% was promised of every case%s" % ("FAIL" if over else "PASS", SHARE_MAX, "; over: " + "; ".join(over) if over else ""))
    return 1 if over else 0


if __name__ == "__main__":
    sys.exit(main())
