#!/usr/bin/env python3
"""What counting costs: instructions from the bytes of a tick request to the bytes of its answer, under callgrind, by a build that counts and
by one that does not (METRICS=0). Judged: exit code 1 when the counting takes 2 % or more of them.

    tests/bench/metrics.py WITH WITHOUT    the folders of the two builds
"""

import os
import re
import subprocess
import sys
import tempfile

# What tests/bench/serving is asked for, and whether it is judged: agents that search, agents that walk on whole paths (the least that a tick
# may be), one agent a request. Of the last what the request costs beside is left out (the socket, twice), so it is only shown.
CASES = (
    ("100 agents that search, tbwa", ("search", "100", "20", "tbwa"), True),
    ("100 agents that search, guided", ("search", "100", "20", "guided"), True),
    ("100 agents on whole paths, guided", ("batch", "100", "20", "guided"), True),
    ("one agent a request, without the socket", ("batch", "1", "500", "guided"), False),
)
SHARE_MAX = 2.0  # percent


def instructions(build, words):
    """Those of the function `measured` and all that it calls."""
    with tempfile.TemporaryDirectory() as folder:
        command = ["valgrind", "--tool=callgrind", "--toggle-collect=measured*", "--callgrind-out-file=" + os.path.join(folder, "out"),
                   os.path.join(build, "tests", "bench", "serving"), *words]
        done = subprocess.run(command, capture_output=True, text=True, timeout=900, check=True)
    return int(re.search(r"Collected : (\d+)", done.stderr).group(1))


def main():
    counting, plain = sys.argv[1:]
    worst = 0.0
    print("| tick requests | instructions | without metrics | metrics cost |\n|---|---|---|---|")
    for name, words, is_judged in CASES:
        with_them, without = instructions(counting, words), instructions(plain, words)
        share = 100.0 * (with_them - without) / without
        worst = max(worst, share) if is_judged else worst
        print("| %s | %s | %s | %.2f %% |" % (name, format(with_them, ","), format(without, ","), share), flush=True)
    print("%s: the most is %.2f %%, below %.1f %% was promised" % ("PASS" if worst < SHARE_MAX else "FAIL", worst, SHARE_MAX))
    return 0 if worst < SHARE_MAX else 1


if __name__ == "__main__":
    sys.exit(main())
