#!/usr/bin/env python3
"""Measures tickpath on this machine: medians over runs, the runs of all lines taken in turn so that a busy moment
of the machine falls on all of them alike.

    tests/bench/bench.py [--bin build] [--runs 5] [--readme README.md]

Maps are taken from the folder TICKPATH_MAPS (MovingAI maps and scenarios); without it, maps of the same kinds are
generated. With --readme the table is also written between the two marks of that file.
"""

import argparse
import json
import os
import platform
import random
import statistics
import subprocess
import sys
import tempfile
import time

BEGIN, END = "<!-- figures: begin -->", "<!-- figures: end -->"

# name of the line, map in TICKPATH_MAPS, kind generated without it, options
LINES = [
    ("`astar` to the end, game map (1)", "bg512/AR0011SR", "caves", ["--alg", "astar", "--k", "1000000000"]),
    ("`astar` to the end, game map (2)", "bg512/AR0700SR", "city", ["--alg", "astar", "--k", "1000000000"]),
    ("`astar` to the end, 25 % blocked", "random/random512-25-0", "random",
     ["--alg", "astar", "--k", "1000000000"]),
    ("`tbwa` w = 1.8, k = 64", "bg512/AR0011SR", "caves", ["--alg", "tbwa", "--w", "1.8", "--k", "64"]),
    ("`tba` R = 100", "bg512/AR0011SR", "caves", ["--alg", "tba", "--R", "100"]),
]
ROWS = 40


def processor():
    try:
        with open("/proc/cpuinfo") as info:
            for line in info:
                if line.startswith("model name"):
                    return line.split(":", 1)[1].strip()
    except OSError:
        pass
    return platform.processor() or "unknown processor"


def scenario_of(folder, name, tool, map_path):
    """Random problems on a generated map. A scenario states optimal lengths; here each is the straight distance, for
    the speed does not depend on it."""
    rng = random.Random(7)
    with open(map_path) as file:
        rows = file.read().split("\n")[4:]
    height, width = len([r for r in rows if r]), len(rows[0])
    free = [(x, y) for y in range(height) for x in range(width) if rows[y][x] in ".GS"]
    path = os.path.join(folder, name + ".scen")
    with open(path, "w") as out:
        out.write("version 1\n")
        for _ in range(ROWS):
            (ax, ay), (bx, by) = rng.sample(free, 2)
            dx, dy = abs(ax - bx), abs(ay - by)
            octile = max(dx, dy) + 0.41421356 * min(dx, dy)
            out.write(f"0\t{name}.map\t{width}\t{height}\t{ax}\t{ay}\t{bx}\t{by}\t{octile:.8f}\n")
    return path


def prepare(tool, folder):
    """(map, scenario, first, stride) for each line."""
    maps = os.environ.get("TICKPATH_MAPS")
    prepared = []
    for _, name, kind, _ in LINES:
        if maps:
            base = os.path.join(maps, name)
            with open(base + ".scen") as file:
                count = sum(1 for line in file if line.strip()) - 1
            stride = max(1, count // ROWS)
            prepared.append((base + ".map", base + ".scen", stride // 2, stride))
            continue
        path = os.path.join(folder, kind + ".map")
        if not os.path.exists(path):
            subprocess.run([tool, "map", "generate", "--kind", kind, "--size", "512x512", "--seed", "1", "--out", path],
                           check=True)
        prepared.append((path, scenario_of(folder, kind, tool, path), 0, 1))
    return prepared


def bench_once(tool, options, where, via=None):
    map_path, scen, first, stride = where
    command = [tool, "bench", "--json", "--map", map_path, "--scen", scen, "--first", str(first), "--stride", str(stride),
               "--count", str(ROWS)] + options
    if via:
        command += ["--via", via]
    began = time.monotonic()
    output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    figures = json.loads(output)
    figures["seconds"] = time.monotonic() - began
    return figures


class Daemon:
    def __init__(self, binary, folder):
        port_file = os.path.join(folder, "port")
        self.process = subprocess.Popen([binary, "--listen", "127.0.0.1:0", "--stats", "127.0.0.1:0", "--port-file",
                                         port_file], stderr=subprocess.DEVNULL)
        for _ in range(200):
            if os.path.exists(port_file) and os.path.getsize(port_file):
                break
            time.sleep(0.05)
        with open(port_file) as file:
            self.address = "127.0.0.1:" + file.read().split()[0]

    def stop(self):
        self.process.terminate()
        self.process.wait(timeout=30)


def table(rows):
    lines = ["| what | median | spread |", "|---|---|---|"]
    lines += [f"| {name} | {value} | {spread} |" for name, value, spread in rows]
    return "\n".join(lines)


def spread(values, digits=2):
    return f"{min(values):.{digits}f} .. {max(values):.{digits}f}"


def measure(args):
    tool = os.path.join(args.bin, "tickpath")
    with tempfile.TemporaryDirectory() as folder:
        where = prepare(tool, folder)
        daemon = Daemon(os.path.join(args.bin, "tickpathd"), folder)
        try:
            runs = [[] for _ in LINES]
            remote = []
            for run in range(args.runs):
                for i, (name, _, _, options) in enumerate(LINES):
                    runs[i].append(bench_once(tool, options, where[i]))
                remote.append(bench_once(tool, LINES[3][3], where[3], daemon.address))
                print(f"run {run + 1} of {args.runs} done", file=sys.stderr)
        finally:
            daemon.stop()
    rows = []
    for (name, _, _, _), figures in zip(LINES, runs):
        rates = [1e3 / f["ns_per_expansion"] for f in figures]
        rows.append((name + ", million expansions a second", f"{statistics.median(rates):.2f}", spread(rates)))
    for i in (0, 2):
        values = [f["bytes_per_state"] for f in runs[i]]
        rows.append((LINES[i][0] + ", bytes a touched state", f"{statistics.median(values):.2f}", spread(values)))
    ticks = [f["ticks"] * f["solved"] / (f["ns_per_expansion"] * f["expansions"] * f["solved"]) * 1e6 for f in remote]
    rows.append(("`tbwa` w = 1.8, k = 64 through a daemon, 16 agents on one connection, thousand ticks a second",
                 f"{statistics.median(ticks):.1f}", spread(ticks, 1)))
    return rows


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", default="build")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--readme")
    args = parser.parse_args()
    rows = measure(args)
    source = "the benchmark maps named" if os.environ.get("TICKPATH_MAPS") else "generated maps"
    load = os.getloadavg()[0]
    text = (f"{processor()}, {os.cpu_count()} cores, {platform.system()}; {args.runs} runs, {ROWS} problems each, {source};"
            f" no pinning; load average at the end {load:.1f}.\n\n{table(rows)}")
    print(text)
    if args.readme:
        with open(args.readme) as file:
            readme = file.read()
        before, rest = readme.split(BEGIN, 1)
        _, after = rest.split(END, 1)
        with open(args.readme, "w") as file:
            file.write(f"{before}{BEGIN}\n{text}\n{END}{after}")


if __name__ == "__main__":
    main()
