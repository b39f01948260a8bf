"""Many sessions in turn, each a few expansions, on one map; through a daemon too, as many on each connection."""

import statistics

from measure import Part, median_row, problems, spread

SESSIONS, K, ROUNDS, MAP, KIND = 512, 32, 5, "bg512/AR0700SR", "city"
LOOPS = (1, 2)


def run_of(bench, what, sessions, *numbers):
    """The medians of the rounds of a run with so many sessions."""
    map_path, scen, *_ = problems(bench, MAP, KIND)
    figures = bench.program("interleaved", what, map_path, scen, sessions, K, ROUNDS, *numbers)
    return {name: statistics.median(value) if isinstance(value, list) else value for name, value in figures.items()}


def each(bench):
    """One run of tests/bench/interleaved in the library, and through daemons of one loop and two."""
    figures = run_of(bench, "library", SESSIONS)
    for loops in LOOPS:
        with bench.daemon("--threads", str(loops)) as daemon:
            through = run_of(bench, "daemon", SESSIONS, daemon.ports[0], daemon.pid, loops)
        figures.update({f"{name}_{loops}": through[name] for name in ("cpu", "wall")})
    return figures


def rows(runs, _):
    name = f"{SESSIONS} `astar` sessions in turn, k = {K}, million expansions a second: "
    parts = [("single", "one session alone"), ("whole", "one session alone, to the end in one tick"), ("interleaved", "all"),
             ("unfetched", "all, without fetching ahead from session to session")]
    for loops in LOOPS:
        who = "a batch of all through a daemon of one loop" if loops == 1 else f"{loops} connections, a batch of all on each of {loops} loops"
        parts += [(f"cpu_{loops}", f"{who}, by its CPU time"), (f"wall_{loops}", f"{who}, by wall time")]
    return [median_row(name + words, [f[key] / 1e6 for f in runs]) for key, words in parts]


def verdicts(runs, _):
    """What many sessions in turn promise: ratios within a run."""
    judged = []
    for key, other, words, bound in (("interleaved", "single", "in turn, by one alone", 1 / 3),
                                     ("cpu_1", "interleaved", "in batches through a daemon, by those in the library, CPU time", 0.8)):
        ratios = [f[key] / f[other] for f in runs]
        judged.append((f"expansions a second of {SESSIONS} sessions, k = {K}: {words}", f"at least {bound:.2f}",
                       f"{statistics.median(ratios):.2f} ({spread(ratios)})", statistics.median(ratios) >= bound))
    return judged


PART = Part("interleaved", each=each, rows=rows, verdicts=verdicts)
