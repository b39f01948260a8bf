"""Single searches of A*, judged beside another program if one is named, and the open lists by themselves: for bench.py."""

import json
import os
import statistics
import subprocess
import tempfile

# Single searches of A*, w = 1, beside another program: maps, rows of each, and the ratio of expansions a second, by the open list: the
# geometric mean over the maps at least, and none below.
SEARCH_MAPS = ("bg512/AR0700SR", "bg512/AR0011SR", "random/random1000-10")
SEARCH_ROWS = 100
SEARCH_BOUNDS = {"bucket": (3.5, 3.0), "exact": (1.2, 1.1)}


def search_rows(name, folder):
    """(map, scenario) of so many rows spread over those of a map of TICKPATH_MAPS."""
    base = os.path.join(os.environ["TICKPATH_MAPS"], name)
    with open(base + ".scen") as file:
        version, *rows = [line for line in file if line.strip()]
    stride = max(1, len(rows) // SEARCH_ROWS)
    path = os.path.join(folder, "search-" + os.path.basename(name) + ".scen")
    with open(path, "w") as out:
        out.writelines([version] + rows[stride // 2::stride][:SEARCH_ROWS])
    return base + ".map", path


def search_ours(args, open_list, where):
    """Expansions, nanoseconds and cost of each row."""
    figures = json.loads(subprocess.run([os.path.join(args.bin, "tests", "bench", "search"), open_list, *where], check=True,
                                        capture_output=True, text=True).stdout)
    return figures["expansions"], figures["ns"], figures["cost"]


def search_beside(args, where):
    """The same, of the other program's table. Its clock tells CPU time, as ours does (cputime.c)."""
    preload = {"LD_PRELOAD": os.path.abspath(os.path.join(args.bin, "tests", "bench", "cputime.so"))}
    lines = subprocess.run([args.beside, "--alg", "astar", "--map", where[0], "--scen", where[1]], check=True, capture_output=True,
                           text=True, env={**os.environ, **preload}).stdout.splitlines()
    begin = next(i for i, line in enumerate(lines) if {"expanded", "nanos", "pcost"} <= set(line.split("\t")))
    names = lines[begin].split("\t")
    rows = [dict(zip(names, line.split("\t"))) for line in lines[begin + 1:] if line.count("\t") == len(names) - 1]
    return tuple([float(row[name]) for row in rows] for name in ("expanded", "nanos", "pcost"))


def searches(args, folder):
    """For each map, by who searched: (million expansions a second of CPU time, cost of each row). The time of a row is its median over the
    runs, taken in turn, so that a busy moment falls on none alone."""
    programs = {open_list: lambda where, open_list=open_list: search_ours(args, open_list, where) for open_list in SEARCH_BOUNDS}
    if args.beside:
        programs["beside"] = lambda where: search_beside(args, where)
    figures = {}
    for name in SEARCH_MAPS if os.environ.get("TICKPATH_MAPS") else ():
        where = search_rows(name, folder)
        times, of = {who: [] for who in programs}, {}
        for _ in range(args.runs):
            for who, program in programs.items():
                expansions, ns, cost = program(where)
                times[who].append(ns)
                of[who] = sum(expansions), cost
        figures[name] = {who: (1e3 * of[who][0] / sum(statistics.median(row) for row in zip(*times[who])), of[who][1])
                         for who in programs}
    return figures


def searches_rows(figures):
    return [(f"`astar`, w = 1, {SEARCH_ROWS} rows of {name}, {'another program' if who == 'beside' else f'open list `{who}`'}, million expansions a second",
             f"{rate:.2f}", "medians of each row") for name, of in figures.items() for who, (rate, _) in of.items()]


def searches_verdicts(figures):
    verdicts = []
    for open_list, (mean, least) in SEARCH_BOUNDS.items():
        beside = {name: of[open_list][0] / of["beside"][0] for name, of in figures.items() if "beside" in of}
        if not beside:
            continue
        measured = statistics.geometric_mean(beside.values())
        verdicts.append((f"`astar`, w = 1, open list `{open_list}`: expansions a second by those of the other program, geometric mean of "
                         f"{len(beside)} maps; least", f"at least {mean}; {least}",
                         f"{measured:.2f}; {min(beside.values()):.2f} ({', '.join(f'{name} {ratio:.2f}' for name, ratio in beside.items())})",
                         measured >= mean and min(beside.values()) >= least))
    for name, of in figures.items():
        costs = [cost for _, cost in of.values()]
        worst = max(max(row) - min(row) for row in zip(*costs))
        alike = len({len(cost) for cost in costs}) == 1 and worst < 1e-2
        verdicts.append((f"`astar`, w = 1, {len(costs[0])} rows of {name}: costs differ by, unit steps", "below 0.01", f"{worst:.5f}", alike))
    return verdicts


# The open lists by themselves: so many states open.
OPEN_FEW, OPEN_MANY, OPEN_BOUND = "1000", "1000000", 2


def open_once(args):
    """One run of tests/bench/open: nanoseconds an operation by way and number of open states."""
    return json.loads(subprocess.run([os.path.join(args.bin, "tests", "bench", "open")], check=True, capture_output=True, text=True).stdout)


def open_rows(figures):
    ways = {"bucket": "open list `bucket`", "exact": "open list `exact`", "bare": "plain stacks that lie ready, the same states (the caches' share)"}
    return [(f"{words}, {int(size):,} states open, ns an operation", f"{ns:.2f}", "median of 7") for way, words in ways.items()
            for size, ns in figures[way].items()]


def open_verdicts(figures):
    ratios = {way: ns[OPEN_MANY] / ns[OPEN_FEW] for way, ns in figures.items()}
    return [(f"open list `bucket`: an operation with {int(OPEN_MANY):,} states open, by one with {int(OPEN_FEW):,}", f"at most {OPEN_BOUND}",
             f"{ratios['bucket']:.2f} (plain stacks {ratios['bare']:.2f}; `exact` {ratios['exact']:.2f})", ratios["bucket"] <= OPEN_BOUND)]


def alone(args):
    """Rows and verdicts of what is asked for of these."""
    rows, verdicts = [], []
    if args.search:
        with tempfile.TemporaryDirectory() as folder:
            figures = searches(args, folder)
        rows, verdicts = searches_rows(figures), searches_verdicts(figures)
        if not figures:
            print("single searches: no maps, TICKPATH_MAPS is not set")
    if args.open:
        lists = open_once(args)
        rows, verdicts = rows + open_rows(lists), verdicts + open_verdicts(lists)
    return rows, verdicts
