#!/usr/bin/env python3
"""Measures tickpath on this machine: medians over runs, the runs of all lines taken in turn so that a busy moment
of the machine falls on all of them alike.

    tests/bench/bench.py [--bin build] [--runs 5] [--readme README.md]

Maps are taken from the folder TICKPATH_MAPS (MovingAI maps and scenarios); without it, maps of the same kinds are
generated. With --readme the table is also written between the two marks of that file.
"""

import argparse
import glob
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
    def __init__(self, binary, folder, options=(), environment=None):
        port_file = os.path.join(folder, "port")
        if os.path.exists(port_file):
            os.remove(port_file)
        self.process = subprocess.Popen([binary, "--listen", "127.0.0.1:0", "--stats", "127.0.0.1:0", "--port-file",
                                         port_file, *options], stderr=subprocess.DEVNULL,
                                        env={**os.environ, **(environment or {})})
        for _ in range(200):
            if os.path.exists(port_file) and os.path.getsize(port_file):
                break
            time.sleep(0.05)
        with open(port_file) as file:
            self.ports = file.read().split()
        self.address = "127.0.0.1:" + self.ports[0]

    def stop(self):
        self.process.terminate()
        self.process.wait(timeout=30)


# Sessions, frames of 50 ms on the map that stays and as many on the one that changes; frames where bytes are counted.
CHANGES_SESSIONS, CHANGES_FRAMES, MEMORY_FRAMES = 1000, 200, 60
STREAM_SESSIONS, STREAM_SECONDS = 100, 3
# Each tile of a map's version is then given back to the system when it is freed: resident bytes tell what is in use.
COUNTED = {"MALLOC_MMAP_THRESHOLD_": "4000", "MALLOC_MMAP_MAX_": "60000", "MALLOC_TRIM_THRESHOLD_": "0"}


class OverBudget(Exception):
    pass


def changes_once(args, folder, what, sessions, length, environment=None):
    """One run of tests/bench/changes against a daemon of its own."""
    map_path = os.path.join(folder, "changing.map")
    if not os.path.exists(map_path):
        subprocess.run([os.path.join(args.bin, "tickpath"), "map", "generate", "--kind", "city", "--size", "1024x1024", "--seed", "1",
                        "--out", map_path], check=True)
    daemon = Daemon(os.path.join(args.bin, "tickpathd"), folder, ["--threads", "2"], environment)
    try:
        run = subprocess.run([os.path.join(args.bin, "tests", "bench", "changes"), what, *daemon.ports[:2], str(daemon.process.pid),
                              map_path, str(sessions), str(length)], capture_output=True, text=True)
    finally:
        daemon.stop()
    if run.returncode not in (0, 1):
        raise RuntimeError(f"changes {what}: {run.stderr}")
    figures = json.loads(run.stdout)
    if run.returncode == 1:
        raise OverBudget(f"changes {what}: {figures['over_budget']} times a session spent more than its budget")
    return figures


def quantile(values, q):
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(len(ordered) * q))]


def changes_rows(steady, memory, stream):
    still = [statistics.median(f["still_ms"]) for f in steady]
    changing = [quantile(f["changing_ms"], 0.999) for f in steady]
    applied = [value for f in steady for value in f["applied_ms"]]
    world = [value for f in steady for value in f["world_cpu_ms"]]
    ticks = sum(f["agent_ticks"] for f in steady)
    name = f"{CHANGES_SESSIONS} sessions, R = 100, 100,000 cells changed each second: "

    def row(words, values, digits=2):
        return (name + words, f"{statistics.median(values):.{digits}f}", spread(values, digits))

    return [
        (name + f"agent ticks that overspent their budget, of {ticks:,}", "0", "0 .. 0"),
        row("the loop's CPU time for a tick of all, unchanged map, p50, ms", still),
        row("the same on the changing map, p99.9, ms", changing),
        row("their ratio (at most 2)", [c / s for c, s in zip(changing, still)]),
        row("a batch, from its arrival at the world to its acknowledgement, ms (below 10)", applied),
        row("a batch, CPU time of the thread that spends most on it, ms", world),
        row("MiB besides search memory, before", [f["mib_before"] for f in memory]),
        row("MiB besides search memory, while it changes, sessions included", [f["mib_under"] for f in memory]),
        row("MiB besides search memory, after the last reader left", [f["mib_after"] for f in memory]),
        (f"single-cell changes a second in batches of 1,000, one connection, {STREAM_SESSIONS} sessions ticking, million",
         f"{statistics.median([f['changes_per_s'] / 1e6 for f in stream]):.2f}",
         spread([f["changes_per_s"] / 1e6 for f in stream])),
    ]


# The block graph of one way of moving: the map of the benches above, and the same repeated to a side of 4096 cells.
BLOCKS_SIDES = ("1024", "4096")
# Kinds of maps whose bytes a cell are told apart from those of all maps.
GAME_MAPS = ("dao", "sc1", "bg512", "wc3")


def blocks_once(args, map_path, *side):
    """One run of tests/bench/blocks."""
    return json.loads(subprocess.run([os.path.join(args.bin, "tests", "bench", "blocks"), "straight", map_path, *side], check=True,
                                     capture_output=True, text=True).stdout)


def blocks_rows(args, runs):
    rows = []
    for side, figures in zip(BLOCKS_SIDES, runs):
        name = f"block graph of {side}x{side} cells: "
        for words, key, digits in (("built, ms", "build_ms", 2), ("a batch of one cell repaired, us", "single_us", 0),
                                   ("a batch of 1,000 cells in a square repaired, us", "clustered_us", 0),
                                   ("a batch of 1,000 scattered cells repaired, us", "scattered_us", 0),
                                   ("the same, the worst of 200 batches, us", "scattered_worst_us", 0)):
            values = [f[key] for f in figures]
            rows.append((name + words, f"{statistics.median(values):.{digits}f}", spread(values, digits)))
    maps = os.environ.get("TICKPATH_MAPS")
    paths = glob.glob(os.path.join(maps, "*", "*.map")) if maps else []
    weighed = [(os.path.basename(os.path.dirname(path)), blocks_once(args, path)["bytes_a_cell"]) for path in sorted(paths)]
    for words, values in ((f"maps of {', '.join(GAME_MAPS)}", [b for kind, b in weighed if kind in GAME_MAPS]),
                          ("all maps", [b for _, b in weighed])):
        if values:
            rows.append((f"block graph, bytes a cell: {len(values)} {words}", f"{statistics.median(values):.3f}", spread(values, 3)))
    return rows


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
            remote, steady, memory, stream = [], [], [], []
            blocks = [[] for _ in BLOCKS_SIDES]
            for run in range(args.runs):
                for i, (name, _, _, options) in enumerate(LINES):
                    runs[i].append(bench_once(tool, options, where[i]))
                remote.append(bench_once(tool, LINES[3][3], where[3], daemon.address))
                steady.append(changes_once(args, folder, "steady", CHANGES_SESSIONS, CHANGES_FRAMES))
                memory.append(changes_once(args, folder, "steady", CHANGES_SESSIONS, MEMORY_FRAMES, COUNTED))
                stream.append(changes_once(args, folder, "stream", STREAM_SESSIONS, STREAM_SECONDS))
                for side, figures in zip(BLOCKS_SIDES, blocks):
                    figures.append(blocks_once(args, os.path.join(folder, "changing.map"), side))
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
    return rows + changes_rows(steady, memory, stream) + blocks_rows(args, blocks)


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
