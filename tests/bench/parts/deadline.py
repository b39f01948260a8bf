"""Ticks with a total of time: what the loop spends beyond it, and how long a session goes without an expansion."""

import statistics

from measure import CITY, Part, median_row

# Sessions, microseconds, ticks a run; and the bounds.
SESSIONS, TOTAL_US, TICKS = 1000, 1000, 2000
OVER_US, STARVED = 50, 8


# What searches all the time, and the default, whose guide takes time too.
ALGORITHMS = ("tbwa", "guided")


def name_of(algorithm):
    return f"{SESSIONS} `{algorithm}` sessions, total of {TOTAL_US} us: "


def each(bench):
    """One run of tests/bench/deadline an algorithm, against a daemon of its own."""
    figures = {}
    for algorithm in ALGORITHMS:
        with bench.daemon("--threads", "1") as daemon:
            figures[algorithm] = bench.program("deadline", daemon.ports[0], daemon.pid, bench.generated(CITY), algorithm, SESSIONS, TOTAL_US,
                                               TICKS)
    return figures


def rows(runs, _):
    made = []
    for algorithm in ALGORITHMS:
        name = name_of(algorithm)
        made += [median_row(f"{name}the loop's CPU time beyond it, {words}, us", [f[algorithm][key] for f in runs], 1)
                 for key, words in (("p50", "p50"), ("p99", "p99"), ("p999", "p99.9"), ("max", "max"))]
        made += [median_row(name + words, [f[algorithm][key] for f in runs], 0)
                 for key, words in (("expansions", "expansions a tick"), ("starved", "sessions starved in a tick, mean"),
                                    ("moves_p50", "the loop's CPU time for their moves alone, p50, us"), ("moves_p99", "the same, p99, us"))]
    return made


def verdicts(runs, _):
    """What a tick's total of time promises."""
    judged = []
    for algorithm in ALGORITHMS:
        name, of = name_of(algorithm), [f[algorithm] for f in runs]
        over, longest = statistics.median(f["p999"] for f in of), max(f["longest"] for f in of)
        wrong = sum(f["illegal"] + f["unanswered"] for f in of)
        judged += [
            (f"{name}the loop's CPU time beyond it, p99.9 of {TICKS:,} ticks, median of {len(runs)} runs", f"below {OVER_US} us",
             f"{over:.1f} us", over < OVER_US),
            (f"{name}ticks on end that a session was starved in, most", f"at most {STARVED}", f"{longest}", longest <= STARVED),
            (f"{name}sessions not answered, illegal moves", "0", f"{wrong}", wrong == 0),
        ]
    return judged


PART = Part("deadline", each=each, rows=rows, verdicts=verdicts)
