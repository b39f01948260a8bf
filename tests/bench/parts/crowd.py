"""A crowd of guided sessions on one map, with room for all their fields and ways and (fewer of them) with little; and on larger maps, where there
are benchmark maps."""

import statistics

from measure import CITY, Part

CROWD, CROWD_KIB, CROWD_FRAMES = 1000, 256 << 10, 200
CROWD_LITTLE = (250, 1 << 10, 60)
CROWD_MAPS = ("sc1/Cauldron", "street/Paris_1_1024")


def one(bench, map_path, sessions=CROWD, kib=CROWD_KIB, frames=CROWD_FRAMES):
    return bench.program("guide", map_path, sessions, kib, frames)


def each(bench):
    return one(bench, bench.generated(CITY))


def once(bench):
    """(words, figures) of the crowds on other maps, or with little room."""
    runs = [("little room", one(bench, bench.generated(CITY), *CROWD_LITTLE))]
    return runs + [(name, one(bench, bench.benchmark(name) + ".map")) for name in CROWD_MAPS if bench.maps]


def rows(runs, others):
    parts = (("first", "setting off at once"), ("steady", "goals renewed"), ("churn", "and 100 cells changed a frame"))
    ticks = (("field_ticks", "the field over areas reaches an agent"), ("way_ticks", "its way over nodes is found"), ("move_ticks", "it moves"))

    def row(name, figures, part, key, digits):
        value = {q: statistics.median(f[part][key][q] for f in figures) for q in ("p50", "p99", "max")}
        return (name, f"{value['p99']:.{digits}f}", f"p50 {value['p50']:.{digits}f}, max {value['max']:.{digits}f}")

    made = []
    for where, figures in [("", runs)] + [(f" ({words})", [run]) for words, run in others]:
        name = f"{figures[0]['sessions']} guided sessions, k = 16, 100 units{where}: "
        made += [row(f"{name}CPU time of a tick of all, {words}, p99, ms", figures, part, "frame_ms", 1) for part, words in parts]
        if figures is runs:
            made += [row(f"{name}ticks until {words}, p99", figures, "first", key, 0) for key, words in ticks]
        made.append((name + "MiB of fields and ways, most", f"{max(f['most_bytes'] for f in figures) / 1048576:.1f}",
                     f"cap {figures[0]['cap_bytes'] / 1048576:g}"))
    return made


def verdicts(runs, others):
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


PART = Part("crowd", each=each, once=once, rows=rows, verdicts=verdicts)
