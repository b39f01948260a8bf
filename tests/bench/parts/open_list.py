"""The open lists by themselves: what an operation costs, and the caches' share of it."""

from measure import Part

# So many states open.
FEW, MANY, BOUND = "1000", "1000000", 2


def once(bench):
    """One run of tests/bench/open: nanoseconds an operation by way and number of open states."""
    return bench.program("open")


def rows(_, figures):
    ways = {"bucket": "open list `bucket`", "exact": "open list `exact`", "bare": "plain stacks that lie ready, the same states (the caches' share)"}
    return [(f"{words}, {int(size):,} states open, ns an operation", f"{ns:.2f}", "median of 7") for way, words in ways.items()
            for size, ns in figures[way].items()]


def verdicts(_, figures):
    ratios = {way: ns[MANY] / ns[FEW] for way, ns in figures.items()}
    return [(f"open list `bucket`: an operation with {int(MANY):,} states open, by one with {int(FEW):,}", f"at most {BOUND}",
             f"{ratios['bucket']:.2f} (plain stacks {ratios['bare']:.2f}; `exact` {ratios['exact']:.2f})", ratios["bucket"] <= BOUND)]


PART = Part("open", once=once, rows=rows, verdicts=verdicts)
