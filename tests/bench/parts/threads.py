"""One thread and two, each with sessions of its own, over one map: in the library, with a pool each, and through daemons of one loop and two.
Shown, not judged: what generates the load needs a processor too."""

import os

from measure import Part, median_row
from parts.interleaved import K, run_of

SESSIONS, THREADS = 500, 2  # of each thread, or connection


def conditions(bench):
    processors = len(os.sched_getaffinity(0))
    words = f"{processors} processors; the load's {THREADS} threads run beside the daemon's loops"
    return words + ("" if processors >= 2 * THREADS else ", which take turns with them: by wall time more loops show little")


def each(bench):
    """Expansions a second: of one thread and of all, in the library, and of daemons by their loops."""
    figures = run_of(bench, "threads", SESSIONS, THREADS)
    for loops in (1, THREADS):
        with bench.daemon("--threads", str(loops)) as daemon:
            through = run_of(bench, "daemon", SESSIONS, daemon.ports[0], daemon.pid, THREADS)
        figures.update({f"daemon_{name}_{loops}": through[name] for name in ("cpu", "wall")})
    return figures


def rows(runs, _):
    made = []
    in_library = (f"{SESSIONS} `astar` sessions in turn on each of {THREADS} threads, k = {K}", "one_{}", "all_{}", "one of them alone",
                  "the sum of all at once")
    through = (f"{SESSIONS} `astar` sessions on each of {THREADS} connections, k = {K}, a batch of each", "daemon_{}_1", f"daemon_{{}}_{THREADS}",
               "one loop", f"{THREADS} loops")
    for who, one, more, alone, together in (in_library, through):
        for clock in ("cpu", "wall"):
            name, of_one, of_more = f"{who}, by {'CPU' if clock == 'cpu' else clock} time: ", one.format(clock), more.format(clock)
            made += [median_row(f"{name}{alone}, million expansions a second", [f[of_one] / 1e6 for f in runs]),
                     median_row(f"{name}{together}, million expansions a second", [f[of_more] / 1e6 for f in runs]),
                     median_row(f"{name}{together} by {alone}", [f[of_more] / f[of_one] for f in runs])]
    return made


PART = Part("threads", each=each, rows=rows, conditions=conditions)
