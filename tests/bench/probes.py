#!/usr/bin/env python3
"""What a probe waits while everything is busy: two loads ask both loops for more than they can do, and change their maps with every frame, so that
the world and its store have no rest either; meanwhile the pages that orchestrators and Prometheus ask for are asked for, each time through a
connection of its own. Judged: exit code 1 when one /livez took 50 ms or more, an answer was a wrong one, or the loops were not busy.

    tests/bench/probes.py BUILD [SECONDS]    the folder of a build without sanitizers
"""

import json
import os
import subprocess
import sys
import tempfile
import time
import urllib.request

sys.dont_write_bytecode = True
from measure import Bench, CITY, quantile  # noqa: E402

PAGES, ASKED, BOUND_MS, LOOPS = ("/livez", "/readyz", "/metrics"), 500, 50, 2
WARM_S, LOAD_S = 3, 45
LOAD = ("--workload searching --alg tbwa --agents 1000 --k 300 --hz 1000 --in-flight 4 --changes 20 --warm-frames 5 --json").split()


def ask(opener, port, page):
    """(milliseconds, status)"""
    began = time.monotonic()
    with opener.open(f"http://127.0.0.1:{port}{page}", timeout=10) as answer:
        answer.read()
        return (time.monotonic() - began) * 1e3, answer.status


def cpu_s(pid):
    """CPU time of each thread of a process."""
    times = {}
    for thread in os.listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{thread}/schedstat", encoding="ascii") as file:
            times[thread] = int(file.read().split()[0]) / 1e9
    return times


def main():
    build, seconds = sys.argv[1], float(sys.argv[2]) if len(sys.argv) > 2 else LOAD_S
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    times, wrong = {page: [] for page in PAGES}, 0
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(build, folder, 1, seconds)
        town = bench.generated(CITY)
        maps = [os.path.join(folder, f"town{i}.map") for i in range(LOOPS)]
        for path in maps:
            os.symlink(town, path)
        with bench.daemon("--threads", str(LOOPS), "--data", os.path.join(folder, "data")) as daemon:
            loads = [subprocess.Popen([os.path.join(build, "tickpath"), "load", "--via", daemon.address, "--map", path, "--seconds", str(seconds), *LOAD],
                                      stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) for path in maps]
            try:
                time.sleep(WARM_S)
                before, began, frames = cpu_s(daemon.pid), time.monotonic(), bench.metric(daemon, "tickpath_tick_seconds_count")
                changes = bench.metric(daemon, "tickpath_batches_applied_total")
                for _ in range(ASKED):
                    for page in PAGES:
                        took_ms, status = ask(opener, daemon.ports[1], page)
                        times[page].append(took_ms)
                        wrong += status != 200
                wall_s, after = time.monotonic() - began, cpu_s(daemon.pid)
                frames = bench.metric(daemon, "tickpath_tick_seconds_count") - frames
                changes = bench.metric(daemon, "tickpath_batches_applied_total") - changes
                told = [load.communicate(timeout=seconds + 60)[0] for load in loads]
            finally:
                for load in loads:
                    load.kill()
                    load.wait()
    late = [json.loads(words)["late"] for words in told]
    busy = sorted((after[thread] - before.get(thread, 0) for thread in after), reverse=True)
    print(f"{LOOPS} loops, {os.cpu_count()} processors, load average {os.getloadavg()[0]:.1f}; in {wall_s:.1f} s {frames:.0f} frames of 1,000 agents and "
          f"{changes:.0f} batches; the busiest threads had {', '.join(f'{100 * s / wall_s:.0f} %' for s in busy[:3])} of a processor; "
          f"frames due and not taken: {late}")
    print("| asked, ms | p50 | p99 | max |\n|---|---|---|---|")
    for page in PAGES:
        print(f"| {page} | {quantile(times[page], 0.5):.2f} | {quantile(times[page], 0.99):.2f} | {max(times[page]):.2f} |")
    most, is_busy = max(times["/livez"]), min(late) > 0
    kept = most < BOUND_MS and wrong == 0 and is_busy
    print(f"{'PASS' if kept else 'FAIL'}: /livez took {most:.1f} ms at most, below {BOUND_MS} ms was promised; {wrong} wrong answers"
          + ("" if is_busy else "; the loops were not busy"))
    return 0 if kept else 1


if __name__ == "__main__":
    sys.exit(main())
