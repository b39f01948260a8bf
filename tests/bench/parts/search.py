"""Single searches of A*, judged beside another program if one is named."""

import os
import statistics

from measure import Part

# Single searches of A*, w = 1, beside another program: maps, rows of each, and the ratio of expansions a second, by the open list: the
# geometric mean over the maps at least, and none below.
MAPS = ("bg512/AR0700SR", "bg512/AR0011SR", "random/random1000-10")
ROWS = 100
BESIDE = "another program"
BOUNDS = {"bucket": (3.5, 3.0), "exact": (1.2, 1.1)}


def problems_of(bench, name):
    """(map, scenario) of so many rows spread over those of a benchmark map."""
    base = bench.benchmark(name)
    with open(base + ".scen") as file:
        version, *lines = [line for line in file if line.strip()]
    stride = max(1, len(lines) // ROWS)
    path = os.path.join(bench.folder, "search-" + os.path.basename(name) + ".scen")
    with open(path, "w") as out:
        out.writelines([version] + lines[stride // 2::stride][:ROWS])
    return base + ".map", path


def ours(bench, open_list, where):
    """Expansions, nanoseconds and cost of each row."""
    figures = bench.program("search", open_list, *where)
    return figures["expansions"], figures["ns"], figures["cost"]


def beside(bench, where):
    """The same, of the other program's table. Its clock tells CPU time, as ours does (cputime.c)."""
    preload = {"LD_PRELOAD": os.path.abspath(os.path.join(bench.bin, "tests", "bench", "cputime.so"))}
    lines = bench.run(bench.beside, "--alg", "astar", "--map", where[0], "--scen", where[1], environment=preload).splitlines()
    begin = next(i for i, line in enumerate(lines) if {"expanded", "nanos", "pcost"} <= set(line.split("\t")))
    names = lines[begin].split("\t")
    rows = [dict(zip(names, line.split("\t"))) for line in lines[begin + 1:] if line.count("\t") == len(names) - 1]
    return tuple([float(row[name]) for row in rows] for name in ("expanded", "nanos", "pcost"))


def once(bench):
    """For each map, by who searched: (million expansions a second of CPU time, cost of each row). The time of a row is its median over the
    runs, taken in turn, so that a busy moment falls on none alone."""
    programs = {open_list: lambda where, open_list=open_list: ours(bench, open_list, where) for open_list in BOUNDS}
    if bench.beside:
        programs[BESIDE] = lambda where: beside(bench, where)
    figures = {}
    for name in MAPS if bench.maps else ():
        where = problems_of(bench, name)
        times, of = {who: [] for who in programs}, {}
        for _ in range(bench.runs):
            for who, program in programs.items():
                expansions, ns, cost = program(where)
                times[who].append(ns)
                of[who] = sum(expansions), cost
        figures[name] = {who: (1e3 * of[who][0] / sum(statistics.median(row) for row in zip(*times[who])), of[who][1])
                         for who in programs}
    return figures


def rows(_, figures):
    return [(f"`astar`, w = 1, {ROWS} rows of {name}, {who if who == BESIDE else f'open list `{who}`'}, million expansions a second",
             f"{rate:.2f}", "medians of each row") for name, of in figures.items() for who, (rate, _) in of.items()]


def verdicts(_, figures):
    judged = []
    for open_list, (mean, least) in BOUNDS.items():
        ratios = {name: of[open_list][0] / of[BESIDE][0] for name, of in figures.items() if BESIDE in of}
        if not ratios:
            continue
        measured = statistics.geometric_mean(ratios.values())
        judged.append((f"`astar`, w = 1, open list `{open_list}`: expansions a second by those of the other program, geometric mean of "
                       f"{len(ratios)} maps; least", f"at least {mean}; {least}",
                       f"{measured:.2f}; {min(ratios.values()):.2f} ({', '.join(f'{name} {ratio:.2f}' for name, ratio in ratios.items())})",
                       measured >= mean and min(ratios.values()) >= least))
    for name, of in figures.items():
        costs = [cost for _, cost in of.values()]
        worst = max(max(row) - min(row) for row in zip(*costs))
        alike = len({len(cost) for cost in costs}) == 1 and worst < 1e-2
        judged.append((f"`astar`, w = 1, {len(costs[0])} rows of {name}: costs differ by, unit steps", "below 0.01", f"{worst:.5f}", alike))
    return judged


def words(_, figures):
    return "" if figures else "single searches: no maps, TICKPATH_MAPS is not set"


PART = Part("search", once=once, rows=rows, verdicts=verdicts, words=words)
