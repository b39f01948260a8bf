#!/usr/bin/env python3
"""What looking on costs: the CPU time of a loop that ticks 1,000 agents on 1024x1024 cells at 10 frames a second, with nobody looking on and with one
live view of 10 frames a second, in turn; and what that view is sent. Judged: exit code 1 when the view does not get its frames.

    tests/bench/view.py BUILD [SECONDS]    the folder of a build without sanitizers; of each turn
"""

import http.client
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request

sys.dont_write_bytecode = True
from measure import Bench, CITY  # noqa: E402

TURNS, TURN_S, WARM_S, FPS, FRAMES_SHARE = 3, 5, 4, 10, 0.9
LOAD = f"--workload guided --agents 1000 --k 4 --hz {FPS} --warm-frames 20 --json".split()


def look_on(port, name, seconds):
    """(frames, bytes) that a view of a map is sent in so many seconds."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
    connection.request("GET", f"/view/stream?map={name}&fps={FPS}")
    answer, end, frames, size = connection.getresponse(), time.monotonic() + seconds, 0, 0
    if answer.status != 200:
        raise RuntimeError(f"/view/stream answers {answer.status}")
    while time.monotonic() < end:
        line = answer.readline()
        frames += line.startswith(b"event: frame")
        size += len(line)
    connection.close()
    return frames, size


def main():
    build, seconds = sys.argv[1], float(sys.argv[2]) if len(sys.argv) > 2 else TURN_S
    closed, opened, frames, sizes = [], [], [], []
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(build, folder, 1, seconds)
        with bench.daemon("--threads", "1") as daemon:
            load = subprocess.Popen([os.path.join(build, "tickpath"), "load", "--via", daemon.address, "--map", bench.generated(CITY), "--seconds",
                                     str(WARM_S + 2 * TURNS * (seconds + 2)), *LOAD], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            try:
                time.sleep(WARM_S)
                opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
                with opener.open(f"http://127.0.0.1:{daemon.ports[1]}/view/maps", timeout=10) as answer:
                    name = json.load(answer)[0]["name"]
                for _ in range(TURNS):
                    before, began = daemon.cpu_us(), time.monotonic()
                    time.sleep(seconds)
                    closed.append((daemon.cpu_us() - before) / 1e3 / (time.monotonic() - began))
                    before, began = daemon.cpu_us(), time.monotonic()
                    got, size = look_on(daemon.ports[1], name, seconds)
                    wall_s = time.monotonic() - began
                    opened.append((daemon.cpu_us() - before) / 1e3 / wall_s)
                    frames.append(got / wall_s)
                    sizes.append(size / wall_s)
                if load.poll() is not None:
                    raise RuntimeError("the load ended early")
            finally:
                load.kill()
                load.wait()
    print(f"1,000 agents on 1024x1024 cells at {FPS} frames a second; {TURNS} turns of {seconds:g} s each; load average {os.getloadavg()[0]:.1f}")
    print("| a second | median | spread |\n|---|---|---|")
    for words, values in (("the loop's CPU time, nobody looks on, ms", closed), ("with one view, ms", opened), ("frames that it is sent", frames),
                          ("bytes that it is sent, keys among them", sizes)):
        print(f"| {words} | {statistics.median(values):,.1f} | {min(values):,.1f} .. {max(values):,.1f} |")
    kept = statistics.median(frames) >= FRAMES_SHARE * FPS
    print(f"{'PASS' if kept else 'FAIL'}: {statistics.median(frames):.1f} frames a second, {FRAMES_SHARE * FPS:g} at least were promised")
    return 0 if kept else 1


if __name__ == "__main__":
    sys.exit(main())
