#!/usr/bin/env python3
"""Measures tickpath on this machine: medians over runs, the runs of all lines taken in turn so that a busy moment
of the machine falls on all of them alike. What changing maps, the block graph, guided agents and totals of time promise is
judged: exit code 1 when a bound is missed.

    tests/bench/bench.py [--bin build] [--runs 5] [--readme README.md]
    tests/bench/bench.py [--bin build] --blocks     the block graph's promises alone
    tests/bench/bench.py [--bin build] --memory     what sessions may hold alone
    tests/bench/bench.py [--bin build] --search [--beside PROGRAM]     single searches alone
    tests/bench/bench.py [--bin build] --frames [--seconds 60]  frames through the network alone
    tests/bench/bench.py [--bin build] --interleaved     those of many sessions in turn
    tests/bench/bench.py [--bin build] --deadline   those of a tick's total of time alone

    tests/bench/bench.py [--bin build] --open       the open lists alone
    tests/bench/bench.py --history                  what the last figures of this processor are by those before

With BENCH_HISTORY=1 in the environment the figures are appended to tests/bench/history.tsv, which nobody edits: date, commit,
processor, figure, value.

Single searches are judged beside another program, if one is named (--beside, or BENCH_BESIDE in the environment), that solves
a scenario by A* when called as `PROGRAM --alg astar --map FILE --scen FILE`, and prints a table of tab-separated columns, a
row a problem, of which `expanded`, `nanos` and `pcost` (unit steps) are read.

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

sys.dont_write_bytecode = True
import frames as frames_of_load  # noqa: E402
import history  # noqa: E402
import single  # noqa: E402

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


# Sessions; frames of 50 ms on the map that stays and on the one that changes, and in the run whose resident bytes are read. Over
# all runs there are at least so many frames on the changing map that its p99.9 is no maximum.
CHANGES_SESSIONS, STILL_FRAMES, CHANGES_FRAMES, MEMORY_FRAMES = 1000, 120, 400, (20, 60)
FRAMES_JUDGED = 2000
STREAM_SESSIONS, STREAM_SECONDS = 100, 3
# Each tile of a map's version is then given back to the system when it is freed: resident bytes tell what is in use.
COUNTED = {"MALLOC_MMAP_THRESHOLD_": "4000", "MALLOC_MMAP_MAX_": "60000", "MALLOC_TRIM_THRESHOLD_": "0"}


def changing_map(args, folder):
    """The path of the map that changes."""
    map_path = os.path.join(folder, "changing.map")
    if not os.path.exists(map_path):
        subprocess.run([os.path.join(args.bin, "tickpath"), "map", "generate", "--kind", "city", "--size", "1024x1024", "--seed", "1",
                        "--out", map_path], check=True)
    return map_path


def changes_once(args, folder, what, *numbers, environment=None):
    """One run of tests/bench/changes against a daemon of its own."""
    map_path = changing_map(args, folder)
    daemon = Daemon(os.path.join(args.bin, "tickpathd"), folder, ["--threads", "2"], environment)
    try:
        run = subprocess.run([os.path.join(args.bin, "tests", "bench", "changes"), what, *daemon.ports[:2], str(daemon.process.pid),
                              map_path, *map(str, numbers)], capture_output=True, text=True)
    finally:
        daemon.stop()
    if run.returncode != 0:
        raise RuntimeError(f"changes {what}: {run.stderr}")
    return json.loads(run.stdout)


def quantile(values, q):
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(len(ordered) * q))]


def all_of(runs, name):
    return [value for run in runs for value in run[name]]


def held_mib(runs, name):
    return [run[name] / 1048576 for run in runs]


def quantiles(values):
    return f"{quantile(values, 0.999):.1f}", f"p50 {statistics.median(values):.1f}, max {max(values):.1f}"


def changes_rows(steady, memory, stream):
    changing = all_of(steady, "changing_ms")
    name = f"{CHANGES_SESSIONS} sessions, R = 100, 100,000 cells changed each second: "

    def row(words, values, digits=2):
        return (name + words, f"{statistics.median(values):.{digits}f}", spread(values, digits))

    return [
        row("the loop's CPU time for a tick of all, unchanged map, p50, ms", [statistics.median(f["still_ms"]) for f in steady]),
        (name + f"the same on the changing map, p99.9 of {len(changing):,}, ms", *quantiles(changing)),
        (name + "wall time of a tick of all, seen by the client, p99.9, unchanged map, ms", *quantiles(all_of(steady, "still_wall_ms"))),
        (name + "the same on the changing map, ms", *quantiles(all_of(steady, "changing_wall_ms"))),
        row("a batch, from its arrival at the world to its acknowledgement, wall, ms", all_of(steady, "applied_ms")),
        row("a batch, CPU time of the world thread, ms", all_of(steady, "world_cpu_ms")),
        row("a batch, the world thread's wait for a processor from the sending on, ms", all_of(steady, "world_wait_ms")),
        row("MiB held by versions of the map, before", held_mib(steady, "held_base")),
        row("MiB held by versions of the map, at most, with some sessions that stay on old ones", held_mib(steady, "held_most")),
        row("MiB held by versions of the map, after the last reader left", held_mib(steady, "held_after")),
        row("resident MiB besides search memory, before", [f["mib_before"] for f in memory]),
        row("resident MiB besides search memory, while it changes, sessions included", [f["mib_under"] for f in memory]),
        row("resident MiB besides search memory, after the last reader left", [f["mib_after"] for f in memory]),
        (f"single-cell changes a second in batches of 1,000, one connection, {STREAM_SESSIONS} sessions ticking, million",
         f"{statistics.median([f['changes_per_s'] / 1e6 for f in stream]):.2f}",
         spread([f["changes_per_s"] / 1e6 for f in stream])),
    ]


# The block graph: the map of the benches above, and the same repeated to a side of 4096 cells.
BLOCKS_SIDES = ("1024", "4096")
# Kinds of maps whose bytes a cell are bounded more narrowly than those of all maps.
GAME_MAPS = ("dao", "sc1", "bg512", "wc3")


def blocks_once(args, map_path, *side, links="straight"):
    """One run of tests/bench/blocks."""
    return json.loads(subprocess.run([os.path.join(args.bin, "tests", "bench", "blocks"), links, map_path, *side], check=True,
                                     capture_output=True, text=True).stdout)


def blocks_rows(runs):
    rows = []
    for side, figures in zip(BLOCKS_SIDES, runs):
        name = f"block graph of {side}x{side} cells: "
        for words, key, digits in (("built, ms", "build_ms", 2), ("a batch of one cell repaired, us", "single_us", 0),
                                   ("a batch of 1,000 cells in a square repaired, us", "clustered_us", 0),
                                   ("a batch of 1,000 scattered cells repaired, us", "scattered_us", 0),
                                   ("the same, the worst of 200 batches, us", "scattered_worst_us", 0),
                                   ("the version before such a batch given up, us", "scattered_give_up_us", 0)):
            values = [f[key] for f in figures]
            rows.append((name + words, f"{statistics.median(values):.{digits}f}", spread(values, digits)))
    return rows


def blocks_of_all_maps(args, folder):
    """Figures of every map, each as it is and repeated to the sides, by both ways of hanging together: (name, kind, figures)."""
    maps = os.environ.get("TICKPATH_MAPS")
    figures = []
    for path in sorted(glob.glob(os.path.join(maps, "*", "*.map"))) if maps else [os.path.join(folder, "changing.map")]:
        kind = os.path.basename(os.path.dirname(path))
        for side in ((), *((side,) for side in BLOCKS_SIDES)):
            for links in ("straight", "diagonal"):
                name = " ".join((os.path.basename(path)[:-len(".map")], *side, links))
                figures.append((name, kind, blocks_once(args, path, *side, links=links)))
    return figures


def blocks_verdicts(figures):
    """What the block graph promises: (promise, bound, measured, whether it is kept)."""

    if not figures:
        return [("block graph: maps to judge it on", "some", "none", False)]

    def judge(promise, bound, unit, key, of=lambda kind, f: True, digits=2):
        measured = [(f[key], name) for name, kind, f in figures if of(kind, f)]
        if not measured:
            return []
        most, name = max(measured)
        return [(f"block graph, {promise}, worst of {len(measured)}", f"at most {bound} {unit}", f"{most:.{digits}f} ({name})", most <= bound)]

    def is_small(kind, f):
        return f["width"] * f["height"] <= 1024 * 1024

    verdicts = judge("built for up to 1024x1024 cells", 40, "ms", "build_ms", is_small)
    verdicts += judge("built for up to 4096x4096 cells", 1000, "ms", "build_ms")
    for key, words in (("scattered", "1,000 scattered cells"), ("clustered", "1,000 cells in a square")):
        verdicts += judge(f"{words} repaired, median", 1000, "us of CPU time", f"{key}_us", digits=0)
        worst = max(f[f"{key}_worst_us"] for *_, f in figures)
        verdicts += judge(f"{words} repaired, p99 (worst single batch {worst:.0f} us)", 1000, "us of CPU time", f"{key}_p99_us", digits=0)
    verdicts += judge(f"bytes a cell on maps of {', '.join(GAME_MAPS)}", 0.5, "bytes", "bytes_a_cell",
                      lambda kind, f: kind in GAME_MAPS, 3)
    return verdicts + judge("bytes a cell on all maps", 2, "bytes", "bytes_a_cell", digits=3)


# A crowd of guided sessions on the same map, with room for all their fields and ways and (fewer of them) with little; and on larger maps
# of TICKPATH_MAPS.
CROWD, CROWD_KIB, CROWD_FRAMES = 1000, 256 << 10, 200
CROWD_LITTLE = (250, 1 << 10, 60)
CROWD_MAPS = ("sc1/Cauldron", "street/Paris_1_1024")


def crowd_once(args, map_path, sessions=CROWD, kib=CROWD_KIB, frames=CROWD_FRAMES):
    """One run of tests/bench/guide."""
    return json.loads(subprocess.run([os.path.join(args.bin, "tests", "bench", "guide"), map_path, str(sessions), str(kib), str(frames)],
                                     check=True, capture_output=True, text=True).stdout)


def crowds(args, folder):
    """(words, figures) of the runs that are made once."""
    maps = os.environ.get("TICKPATH_MAPS")
    runs = [("little room", crowd_once(args, os.path.join(folder, "changing.map"), *CROWD_LITTLE))]
    return runs + [(name, crowd_once(args, os.path.join(maps, name + ".map"))) for name in CROWD_MAPS if maps]


def crowd_rows(runs, others):
    parts = (("first", "setting off at once"), ("steady", "goals renewed"), ("churn", "and 100 cells changed a frame"))
    ticks = (("field_ticks", "the field over areas reaches an agent"), ("way_ticks", "its way over nodes is found"), ("move_ticks", "it moves"))

    def row(name, figures, part, key, digits):
        value = {q: statistics.median(f[part][key][q] for f in figures) for q in ("p50", "p99", "max")}
        return (name, f"{value['p99']:.{digits}f}", f"p50 {value['p50']:.{digits}f}, max {value['max']:.{digits}f}")

    rows = []
    for where, figures in [("", runs)] + [(f" ({words})", [run]) for words, run in others]:
        name = f"{figures[0]['sessions']} guided sessions, k = 16, 100 units{where}: "
        rows += [row(f"{name}CPU time of a tick of all, {words}, p99, ms", figures, part, "frame_ms", 1) for part, words in parts]
        if figures is runs:
            rows += [row(f"{name}ticks until {words}, p99", figures, "first", key, 0) for key, words in ticks]
        rows.append((name + "MiB of fields and ways, most", f"{max(f['most_bytes'] for f in figures) / 1048576:.1f}",
                     f"cap {figures[0]['cap_bytes'] / 1048576:g}"))
    return rows


def crowd_verdicts(runs, others):
    """What a crowd of guided sessions promises."""
    everywhere = runs + [run for _, run in others]
    roomy = [run for run in everywhere if run["sessions"] == CROWD]
    field = max(run["first"]["field_ticks"]["p50"] for run in roomy)
    way = max(run["first"]["way_ticks"]["max"] for run in roomy)
    wrong = sum(run["over_budget"] + run["illegal"] for run in everywhere)
    ticks = sum(run["agent_ticks"] for run in everywhere)
    left = sum(run["under_way"] for run in everywhere)
    fullest = max(run["most_bytes"] / run["cap_bytes"] for run in everywhere)
    return [
        (f"{CROWD} sessions to as many goals: the field over areas reaches the agent, 100 units a tick, p50", "at most 5 ticks",
         f"{field:.0f} (max {max(run['first']['field_ticks']['max'] for run in roomy):.0f})", field <= 5),
        ("the same: the way over blocks of 8x8 is found, max", "at most 200 ticks",
         f"{way:.0f} (p50 {max(run['first']['way_ticks']['p50'] for run in roomy):.0f})", way <= 200),
        ("guided agent ticks over a budget, or that moved illegally", "0", f"{wrong:,} of {ticks:,}", wrong == 0),
        ("fields and ways, of their cap, at most; agents that did not arrive", "at most 1; 0", f"{fullest:.2f}; {left}",
         fullest <= 1 and left == 0),
    ]


# Ticks with a total of time: sessions, microseconds, ticks a run.
DEADLINE_SESSIONS, DEADLINE_US, DEADLINE_TICKS = 1000, 1000, 2000
DEADLINE_OVER_US, DEADLINE_STARVED = 50, 8


def deadline_once(args, folder):
    """One run of tests/bench/deadline against a daemon of its own."""
    daemon = Daemon(os.path.join(args.bin, "tickpathd"), folder, ["--threads", "1"])
    try:
        run = subprocess.run([os.path.join(args.bin, "tests", "bench", "deadline"), daemon.ports[0], str(daemon.process.pid),
                              changing_map(args, folder), *map(str, (DEADLINE_SESSIONS, DEADLINE_US, DEADLINE_TICKS))],
                             capture_output=True, text=True)
    finally:
        daemon.stop()
    if run.returncode != 0:
        raise RuntimeError(f"deadline: {run.stderr}")
    return json.loads(run.stdout)


def deadline_rows(runs):
    name = f"{DEADLINE_SESSIONS} sessions, total of {DEADLINE_US} us: "
    rows = [(f"{name}the loop's CPU time beyond it, {words}, us", f"{statistics.median(f[key] for f in runs):.1f}",
             spread([f[key] for f in runs], 1)) for key, words in (("p50", "p50"), ("p99", "p99"), ("p999", "p99.9"), ("max", "max"))]
    return rows + [(f"{name}{words}", f"{statistics.median(f[key] for f in runs):.0f}", spread([f[key] for f in runs], 0))
                   for key, words in (("expansions", "expansions a tick"), ("starved", "sessions starved in a tick, mean"),
                                      ("moves_p50", "the loop's CPU time for their moves alone, p50, us"),
                                      ("moves_p99", "the same, p99, us"))]


def deadline_verdicts(runs):
    """What a tick's total of time promises."""
    over, longest = statistics.median(f["p999"] for f in runs), max(f["longest"] for f in runs)
    wrong = sum(f["illegal"] + f["unanswered"] for f in runs)
    name = f"{DEADLINE_SESSIONS} sessions, total of {DEADLINE_US} us: "
    return [
        (f"{name}the loop's CPU time beyond it, p99.9 of {DEADLINE_TICKS:,} ticks, median of {len(runs)} runs", f"below {DEADLINE_OVER_US} us",
         f"{over:.1f} us", over < DEADLINE_OVER_US),
        (f"{name}ticks on end that a session was starved in, most", f"at most {DEADLINE_STARVED}", f"{longest}", longest <= DEADLINE_STARVED),
        (f"{name}sessions not answered, illegal moves", "0", f"{wrong}", wrong == 0),
    ]

# Many sessions in turn, each a few expansions, on the map of that name; through a daemon too, as many on each connection.
INTERLEAVED, INTERLEAVED_K, INTERLEAVED_ROUNDS, INTERLEAVED_MAP = 512, 32, 5, LINES[1]
INTERLEAVED_LOOPS = (1, 2)


def interleaved_once(args, folder, where):
    """One run of tests/bench/interleaved in the library, and through daemons of one loop and two: the medians of its rounds."""

    def run(what, *numbers):
        output = subprocess.run([os.path.join(args.bin, "tests", "bench", "interleaved"), what, where[0], where[1],
                                 *map(str, (INTERLEAVED, INTERLEAVED_K, INTERLEAVED_ROUNDS, *numbers))],
                                check=True, capture_output=True, text=True).stdout
        return {name: statistics.median(value) if isinstance(value, list) else value for name, value in json.loads(output).items()}

    figures = run("library")
    for loops in INTERLEAVED_LOOPS:
        daemon = Daemon(os.path.join(args.bin, "tickpathd"), folder, ["--threads", str(loops)])
        try:
            through = run("daemon", daemon.ports[0], daemon.process.pid, loops)
        finally:
            daemon.stop()
        figures.update({f"{name}_{loops}": through[name] for name in ("cpu", "wall")})
    return figures


def interleaved_rows(runs):
    name = f"{INTERLEAVED} `astar` sessions in turn, k = {INTERLEAVED_K}, million expansions a second: "
    parts = [("single", "one session alone"), ("whole", "one session alone, to the end in one tick"), ("interleaved", "all"),
             ("unfetched", "all, without fetching ahead from session to session")]
    for loops in INTERLEAVED_LOOPS:
        who = "a batch of all through a daemon of one loop" if loops == 1 else f"{loops} connections, a batch of all on each of {loops} loops"
        parts += [(f"cpu_{loops}", f"{who}, by its CPU time"), (f"wall_{loops}", f"{who}, by wall time")]
    return [(name + words, f"{statistics.median(f[key] for f in runs) / 1e6:.2f}", spread([f[key] / 1e6 for f in runs]))
            for key, words in parts]


def interleaved_verdicts(runs):
    """What many sessions in turn promise: ratios within a run."""
    verdicts = []
    for key, other, words, bound in (("interleaved", "single", "in turn, by one alone", 1 / 3),
                                     ("cpu_1", "interleaved", "in batches through a daemon, by those in the library, CPU time", 0.8)):
        ratios = [f[key] / f[other] for f in runs]
        verdicts.append((f"expansions a second of {INTERLEAVED} sessions, k = {INTERLEAVED_K}: {words}", f"at least {bound:.2f}",
                         f"{statistics.median(ratios):.2f} ({spread(ratios)})", statistics.median(ratios) >= bound))
    return verdicts


# Guided agents, with the row's defaults: the report's own experiments and problems (client/papers/experiments.txt).
GUIDED_SETS = ("dao", "sc1", "bg512", "wc3", "room", "random", "street", "maze")
GUIDED_BOUNDS = {"4": (1.10, 0.5), "16": (1.05, 0.1)}  # by k: cost / optimal at most, back-moves a walk below


def guided_once(args, folder):
    """What the report measured: by set and k, names and values."""
    values, maps = os.path.join(folder, "values.tsv"), os.environ.get("TICKPATH_MAPS")
    run = subprocess.run([os.path.join(args.bin, "tickpath"), "report", "--only", "guided-", "--results", os.path.join(folder, "papers"),
                          "--values", values] + (["--maps", maps] if maps else []), capture_output=True, text=True)
    if not os.path.exists(values):
        raise RuntimeError(f"report: {run.stderr}")
    with open(values) as file:
        names = file.readline().rstrip("\n").split("\t")
        lines = [dict(zip(names, line.rstrip("\n").split("\t"))) for line in file]
    return {(line["experiment"].split("-", 1)[1], line["x"]): {name: float(line[name]) for name in names[3:]}
            for line in lines if line["experiment"].startswith("guided-")}


def guided_table(guided):
    lines = ["| `guided`: maps | k | problems | cost / optimal | back-moves | ticks / optimal moves | expansions | guide units | worst tick |",
             "|---|---|---|---|---|---|---|---|---|"]
    for k in GUIDED_BOUNDS:
        for kind in GUIDED_SETS:
            f = guided.get((kind, k))
            if f:
                lines.append(f"| {kind} | {k} | {f['n']:.0f} | {f['cost_optimal']:.4f} | {f['back']:.2f} | {f['ticks_optimal']:.3f} "
                             f"| {f['expansions']:.0f} | {f['guide']:.0f} | {f['max_work']:.0f} |")
    return "\n".join(lines)


def guided_verdicts(guided):
    verdicts = []
    for k, (cost, back) in GUIDED_BOUNDS.items():
        of = {kind: guided[kind, k] for kind in GUIDED_SETS if (kind, k) in guided}
        if not of:
            verdicts.append((f"`guided`, k = {k}: sets of maps to judge it on", f"{len(GUIDED_SETS)}", "none", False))
            continue
        for words, name, bound, most in (("cost / optimal", "cost_optimal", f"at most {cost:.2f}", cost),
                                         ("back-moves a walk", "back", f"below {back}", back)):
            worst = max(of, key=lambda kind: of[kind][name])
            value = of[worst][name]
            verdicts.append((f"`guided`, k = {k}: {words}, worst of {len(of)} sets of maps", bound, f"{value:.4f} ({worst})",
                             len(of) == len(GUIDED_SETS) and (value < most or (name == "cost_optimal" and value == most))))
        wrong = sum(f["illegal"] + f["over"] + (f["solved"] < 100) for f in of.values())
        verdicts.append((f"`guided`, k = {k}: illegal moves, ticks over budget, sets with a walk that did not arrive", "0", f"{wrong:.0f}",
                         wrong == 0))
    return verdicts


# What sessions hold: a crowd on a map of 1024x1024, and searches one by one on maps whose tiles a search fills.
MEMORY_SESSIONS, MEMORY_CROWD = 10000, ("sc1/Cauldron", "street/Paris_1_1024")
MEMORY_MAPS = ("bg512/AR0011SR", "bg512/AR0700SR", "random/random512-25-0", "sc1/Cauldron", "street/Paris_1_1024")
MEMORY_ROWS, MEMORY_PROBLEMS = ("astar", "tba", "tbwa", "guided"), 20
MEMORY_PHASES = ("opened", "searching", "walking", "arrived")


def memory_once(args, *arguments):
    """One run of tests/bench/memory."""
    return json.loads(subprocess.run([os.path.join(args.bin, "tests", "bench", "memory"), *map(str, arguments)], check=True,
                                     capture_output=True, text=True).stdout)


def memory_of(args, folder):
    """The crowds by map, and the searches by row, list and map; without benchmark maps a crowd on a generated one alone."""
    maps = os.environ.get("TICKPATH_MAPS")
    if not maps:
        path = os.path.join(folder, "memory.map")
        subprocess.run([os.path.join(args.bin, "tickpath"), "map", "generate", "--kind", "city", "--size", "1024x1024", "--seed", "1", "--out", path],
                       check=True)
        return {"generated": memory_once(args, "crowd", path, MEMORY_SESSIONS, "guided", "bucket")}, {}
    crowds = {name: memory_once(args, "crowd", os.path.join(maps, name + ".map"), MEMORY_SESSIONS, "guided", "bucket") for name in MEMORY_CROWD}
    searches = {}
    for name in MEMORY_MAPS:
        base = os.path.join(maps, name)
        for row in MEMORY_ROWS:
            for kind in ("exact", "bucket"):
                searches[row, kind, name] = memory_once(args, "search", base + ".map", base + ".scen", MEMORY_PROBLEMS, row, kind)
    return crowds, searches


def memory_mean(searches, row, kind):
    """Bytes a touched state over all maps, and how full tiles are at the least."""
    of = [f for (r, k, _), f in searches.items() if (r, k) == (row, kind)]
    touched = sum(f["touched"] for f in of)
    return sum(f["bytes_a_state"] * f["touched"] for f in of) / touched, min(f["fill"] for f in of), touched / len(of) / MEMORY_PROBLEMS


def memory_rows(crowds, searches):
    rows = []
    for name, f in crowds.items():
        for phase in MEMORY_PHASES:
            p = f[phase]
            rows.append((f"{f['sessions']:,} `guided` sessions on {name} ({f['width']}x{f['height']}), {phase}: MiB resident",
                         f"{p['resident'] / 1048576:.1f}", f"{p['resident_an_agent']:.0f} bytes an agent; held by sessions {p['held_an_agent']:.0f}, "
                         f"by ways and fields {p['ways_an_agent']:.0f}"))
    for row in MEMORY_ROWS if searches else ():
        for kind in ("exact", "bucket"):
            mean, fill, states = memory_mean(searches, row, kind)
            rows.append((f"`{row}`, list `{kind}`: bytes a touched state, tiles, tables, list and marks included, {len(MEMORY_MAPS)} maps",
                         f"{mean:.2f}", f"{states:,.0f} states a search; tiles full to {100 * fill:.0f} % at the least"))
    return rows


def memory_verdicts(crowds, searches):
    verdicts = []
    for name, f in crowds.items():
        most = max(f["walking"]["most_beside_path"], f["arrived"]["most_beside_path"])
        verdicts.append((f"an agent that walks a whole path, or has arrived, on {name}: bytes beside a byte a step, most of {f['sessions']:,}",
                         "below 512", f"{most}", most < 512))
        step = f["walking"]["path_bytes_a_step"]
        verdicts.append((f"its path on {name}, pieces rounded up", "at most 1 byte a step", f"{step:.2f}", step <= 1))
        verdicts.append((f"left in the pool on {name} when all are closed", "0 bytes", f"{f['left']}", f["left"] == 0))
    if not searches:
        return verdicts + [("searches: maps to judge them on", f"{len(MEMORY_MAPS)}", "none", False)]
    for row in ("astar", "tba", "tbwa"):
        mean, fill, _ = memory_mean(searches, row, "bucket")
        verdicts.append((f"`{row}`, list `bucket`: bytes a touched state", "at most 12", f"{mean:.2f}", mean <= 12))
        verdicts.append((f"`{row}`, list `bucket`: tiles full, least of {len(MEMORY_MAPS)} maps", "at least 60 %", f"{100 * fill:.0f} %", fill >= 0.6))
    return verdicts


def changes_verdicts(steady, memory, stream):
    """What changing maps promise: (promise, bound, measured, whether it is kept)."""
    relative = [value / statistics.median(f["still_ms"]) for f in steady for value in f["changing_ms"]]
    ratio = quantile(relative, 0.999)
    applied, cpu = all_of(steady, "applied_ms"), all_of(steady, "world_cpu_ms")
    runs = steady + memory + stream
    over, ticks = sum(f["over_budget"] for f in runs), sum(f["agent_ticks"] for f in runs)
    left = [int(f["held_after"] - f["held_base"]) for f in runs]
    kept = [int(f["versions_after"] - f["versions_base"]) for f in runs]
    rose = min(f["held_most"] - f["held_base"] for f in steady + memory)
    slowest = min(f["changes_per_s"] for f in stream)
    lost = sum(f["batches_sent"] - f["batches_applied"] for f in stream)
    return [
        ("agent ticks that spent more than their budget", "0", f"{over:,} of {ticks:,}", over == 0),
        ("CPU time of the loop's tick on the changing map, p99.9, by the p50 on the unchanged one", "at most 2",
         f"{ratio:.2f} of {len(relative):,} frames", ratio <= 2 and len(relative) >= FRAMES_JUDGED),
        ("batch of 100,000 cells applied, wall time, median", "below 10 ms",
         f"{statistics.median(applied):.2f} ms (longest {max(applied):.2f})", statistics.median(applied) < 10),
        ("batch of 100,000 cells applied, CPU time, longest", "below 10 ms", f"{max(cpu):.2f} ms", max(cpu) < 10),
        ("bytes of old versions left when their last reader is gone", "0 bytes, 0 versions",
         f"{max(left, key=abs):,} bytes, {max(kept, key=abs)} versions (held meanwhile: {rose / 1048576:.2f} MiB or more)",
         not any(left) and not any(kept) and rose > 0),
        (f"single-cell changes a second, {STREAM_SESSIONS} sessions ticking, slowest run", "at least 1,000,000",
         f"{slowest:,.0f}, {lost:.0f} batches lost", slowest >= 1e6 and lost == 0),
    ]


def table(rows):
    lines = ["| what | median | spread |", "|---|---|---|"]
    lines += [f"| {name} | {value} | {spread} |" for name, value, spread in rows]
    return "\n".join(lines)


def verdict_table(verdicts):
    lines = ["| judged | bound | measured | |", "|---|---|---|---|"]
    lines += [f"| {promise} | {bound} | {measured} | {'PASS' if kept else 'FAIL'} |" for promise, bound, measured, kept in verdicts]
    return "\n".join(lines)


def spread(values, digits=2):
    return f"{min(values):.{digits}f} .. {max(values):.{digits}f}"


def measure(args):
    """Rows of what was measured, the table of guided agents, and verdicts on what was promised."""
    frames = max(CHANGES_FRAMES, -(-FRAMES_JUDGED // args.runs))
    tool = os.path.join(args.bin, "tickpath")
    with tempfile.TemporaryDirectory() as folder:
        where = prepare(tool, folder)
        daemon = Daemon(os.path.join(args.bin, "tickpathd"), folder)
        try:
            runs = [[] for _ in LINES]
            remote, steady, memory, stream = [], [], [], []
            blocks = [[] for _ in BLOCKS_SIDES]
            crowd, deadline, interleaved = [], [], []
            for run in range(args.runs):
                for i, (name, _, _, options) in enumerate(LINES):
                    runs[i].append(bench_once(tool, options, where[i]))
                remote.append(bench_once(tool, LINES[3][3], where[3], daemon.address))
                steady.append(changes_once(args, folder, "steady", CHANGES_SESSIONS, STILL_FRAMES, frames))
                memory.append(changes_once(args, folder, "steady", CHANGES_SESSIONS, *MEMORY_FRAMES, environment=COUNTED))
                stream.append(changes_once(args, folder, "stream", STREAM_SESSIONS, STREAM_SECONDS))
                for side, figures in zip(BLOCKS_SIDES, blocks):
                    figures.append(blocks_once(args, os.path.join(folder, "changing.map"), side))
                crowd.append(crowd_once(args, os.path.join(folder, "changing.map")))
                deadline.append(deadline_once(args, folder))
                interleaved.append(interleaved_once(args, folder, where[LINES.index(INTERLEAVED_MAP)]))
                print(f"run {run + 1} of {args.runs} done", file=sys.stderr)
            judged = blocks_verdicts(blocks_of_all_maps(args, folder))
            others = crowds(args, folder)
            searches = single.searches(args, folder)
            lists = single.open_once(args)
            held = memory_of(args, folder)
        finally:
            daemon.stop()
        guided = guided_once(args, folder)
        framed = frames_of_load.run(args, folder, Daemon)
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
    rows += (single.searches_rows(searches) + single.open_rows(lists) + changes_rows(steady, memory, stream) + blocks_rows(blocks) + crowd_rows(crowd, others)
             + frames_of_load.rows(*framed) + deadline_rows(deadline) + interleaved_rows(interleaved) + memory_rows(*held))
    return (rows, guided_table(guided),
            changes_verdicts(steady, memory, stream) + judged + crowd_verdicts(crowd, others) + guided_verdicts(guided)
            + single.searches_verdicts(searches) + single.open_verdicts(lists) + deadline_verdicts(deadline) + interleaved_verdicts(interleaved) + memory_verdicts(*held) + frames_of_load.verdicts(*framed))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", default="build")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--readme")
    parser.add_argument("--blocks", action="store_true")
    parser.add_argument("--search", action="store_true")
    parser.add_argument("--open", action="store_true")
    parser.add_argument("--history", action="store_true")
    parser.add_argument("--beside", default=os.environ.get("BENCH_BESIDE"))
    parser.add_argument("--frames", action="store_true")
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--deadline", action="store_true")
    parser.add_argument("--interleaved", action="store_true")
    parser.add_argument("--memory", action="store_true")
    args = parser.parse_args()
    if args.history:
        print(history.table(processor()))
        return 0
    if args.search or args.open:
        rows, verdicts = single.alone(args)
        print(f"{table(rows)}\n\n{verdict_table(verdicts)}")
        history.append(processor(), rows)
        return 0 if all(kept for *_, kept in verdicts) else 1
    if args.frames:
        with tempfile.TemporaryDirectory() as folder:
            framed = frames_of_load.run(args, folder, Daemon)
        verdicts = frames_of_load.verdicts(*framed)
        print(f"{processor()}; {frames_of_load.conditions(args.seconds)}; load average at the end {os.getloadavg()[0]:.1f}.\n\n"
              f"{table(frames_of_load.rows(*framed))}\n\n{verdict_table(verdicts)}")
        return 0 if all(kept for *_, kept in verdicts) else 1
    if args.deadline:
        with tempfile.TemporaryDirectory() as folder:
            runs = [deadline_once(args, folder) for _ in range(args.runs)]
        verdicts = deadline_verdicts(runs)
        print(f"{table(deadline_rows(runs))}\n\n{verdict_table(verdicts)}")
        return 0 if all(kept for *_, kept in verdicts) else 1
    if args.interleaved:
        with tempfile.TemporaryDirectory() as folder:
            where = prepare(os.path.join(args.bin, "tickpath"), folder)[LINES.index(INTERLEAVED_MAP)]
            runs = [interleaved_once(args, folder, where) for _ in range(args.runs)]
        verdicts = interleaved_verdicts(runs)
        print(f"{table(interleaved_rows(runs))}\n\n{verdict_table(verdicts)}")
        return 0 if all(kept for *_, kept in verdicts) else 1
    if args.blocks:
        with tempfile.TemporaryDirectory() as folder:
            changing_map(args, folder)
            verdicts = blocks_verdicts(blocks_of_all_maps(args, folder))
        print(verdict_table(verdicts))
        return 0 if all(kept for *_, kept in verdicts) else 1
    if args.memory:
        with tempfile.TemporaryDirectory() as folder:
            held = memory_of(args, folder)
        verdicts = memory_verdicts(*held)
        print(table(memory_rows(*held)) + "\n\n" + verdict_table(verdicts))
        return 0 if all(kept for *_, kept in verdicts) else 1
    rows, guided, verdicts = measure(args)
    source = "the benchmark maps named" if os.environ.get("TICKPATH_MAPS") else "generated maps"
    load = os.getloadavg()[0]
    text = (f"{processor()}, {os.cpu_count()} cores, {platform.system()}; {args.runs} runs, {ROWS} problems each, {source};"
            f" no pinning but for frames ({frames_of_load.conditions(args.seconds)}); load average at the end {load:.1f}.\n\n{table(rows)}\n\n{guided}\n\n{verdict_table(verdicts)}")
    print(text)
    history.append(processor(), rows)
    if args.readme:
        with open(args.readme) as file:
            readme = file.read()
        before, rest = readme.split(BEGIN, 1)
        _, after = rest.split(END, 1)
        with open(args.readme, "w") as file:
            file.write(f"{before}{BEGIN}\n{text}\n{END}{after}")
    return 0 if all(kept for *_, kept in verdicts) else 1


if __name__ == "__main__":
    sys.exit(main())
