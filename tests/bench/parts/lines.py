"""Figures of searches as `tickpath bench` makes them, in process and through a daemon."""

import json
import statistics

from measure import ROWS, Part, median_row, problems

# name of the line, benchmark map, kind generated without it, options
LINES = [
    ("`astar` to the end, game map (1)", "bg512/AR0011SR", "caves", ["--alg", "astar", "--k", "1000000000"]),
    ("`astar` to the end, game map (2)", "bg512/AR0700SR", "city", ["--alg", "astar", "--k", "1000000000"]),
    ("`astar` to the end, 25 % blocked", "random/random512-25-0", "random",
     ["--alg", "astar", "--k", "1000000000"]),
    ("`tbwa` w = 1.8, k = 64", "bg512/AR0011SR", "caves", ["--alg", "tbwa", "--w", "1.8", "--k", "64"]),
    ("`tba` R = 100", "bg512/AR0011SR", "caves", ["--alg", "tba", "--R", "100"]),
]
REMOTE = LINES[3]  # this one through a daemon too


def one(bench, line, *via):
    _, name, kind, options = line
    map_path, scen, first, stride = problems(bench, name, kind)
    return json.loads(bench.tool("bench", "--json", "--map", map_path, "--scen", scen, "--first", first, "--stride", stride, "--count", ROWS,
                                 *options, *via))


def each(bench):
    """Figures of each line, and of the one through a daemon."""
    figures = [one(bench, line) for line in LINES]
    with bench.daemon() as daemon:
        return figures, one(bench, REMOTE, "--via", daemon.address)


def rows(runs, _):
    made = []
    for i, (name, *_) in enumerate(LINES):
        made.append(median_row(name + ", million expansions a second", [1e3 / figures[i]["ns_per_expansion"] for figures, _ in runs]))
    for i in (0, 2):
        made.append(median_row(LINES[i][0] + ", bytes a touched state", [figures[i]["bytes_per_state"] for figures, _ in runs]))
    ticks = [f["ticks"] / (f["ns_per_expansion"] * f["expansions"]) * 1e6 for _, f in runs]
    return made + [median_row("`tbwa` w = 1.8, k = 64 through a daemon, 16 agents on one connection, thousand ticks a second", ticks, 1)]


PART = Part("lines", each=each, rows=rows)
