"""What sessions hold: a crowd on a map of 1024x1024, and searches one by one on maps whose tiles a search fills."""

from measure import CITY, Part

SESSIONS, CROWD_MAPS = 10000, ("sc1/Cauldron", "street/Paris_1_1024")
SEARCH_MAPS = ("bg512/AR0011SR", "bg512/AR0700SR", "random/random512-25-0", "sc1/Cauldron", "street/Paris_1_1024")
ALGORITHMS, PROBLEMS = ("astar", "tba", "tbwa", "guided"), 20
PHASES = ("opened", "searching", "walking", "arrived")


def one(bench, *arguments):
    return bench.program("memory", *arguments)


def once(bench):
    """The crowds by map, and the searches by row, list and map; without benchmark maps a crowd on a generated one alone."""
    if not bench.maps:
        return {"generated": one(bench, "crowd", bench.generated(CITY), SESSIONS, "guided", "bucket")}, {}
    crowds = {name: one(bench, "crowd", bench.benchmark(name) + ".map", SESSIONS, "guided", "bucket") for name in CROWD_MAPS}
    searches = {}
    for name in SEARCH_MAPS:
        base = bench.benchmark(name)
        for row in ALGORITHMS:
            for kind in ("exact", "bucket"):
                searches[row, kind, name] = one(bench, "search", base + ".map", base + ".scen", PROBLEMS, row, kind)
    return crowds, searches


def mean_of(searches, row, kind):
    """Bytes a touched state over all maps, and how full tiles are at the least."""
    of = [f for (r, k, _), f in searches.items() if (r, k) == (row, kind)]
    touched = sum(f["touched"] for f in of)
    return sum(f["bytes_a_state"] * f["touched"] for f in of) / touched, min(f["fill"] for f in of), touched / len(of) / PROBLEMS


def rows(_, figures):
    crowds, searches = figures
    made = []
    for name, f in crowds.items():
        for phase in PHASES:
            p = f[phase]
            made.append((f"{f['sessions']:,} `guided` sessions on {name} ({f['width']}x{f['height']}), {phase}: MiB resident",
                     f"{p['resident'] / 1048576:.1f}", f"{p['resident_an_agent']:.0f} bytes an agent; held by sessions {p['held_an_agent']:.0f}, "
                     f"by ways and fields {p['ways_an_agent']:.0f}"))
    for row in ALGORITHMS if searches else ():
        for kind in ("exact", "bucket"):
            mean, fill, states = mean_of(searches, row, kind)
            made.append((f"`{row}`, list `{kind}`: bytes a touched state, tiles, tables, list and marks included, {len(SEARCH_MAPS)} maps",
                     f"{mean:.2f}", f"{states:,.0f} states a search; tiles full to {100 * fill:.0f} % at the least"))
    return made


def verdicts(_, figures):
    crowds, searches = figures
    judged = []
    for name, f in crowds.items():
        most = max(f["walking"]["most_beside_path"], f["arrived"]["most_beside_path"])
        judged.append((f"an agent that walks a whole path, or has arrived, on {name}: bytes beside a byte a step, most of {f['sessions']:,}",
                       "below 512", f"{most}", most < 512))
        step = f["walking"]["path_bytes_a_step"]
        judged.append((f"its path on {name}, pieces rounded up", "at most 1 byte a step", f"{step:.2f}", step <= 1))
        judged.append((f"left in the pool on {name} when all are closed", "0 bytes", f"{f['left']}", f["left"] == 0))
    if not searches:
        return judged + [("searches: maps to judge them on", f"{len(SEARCH_MAPS)}", "none", False)]
    for row in ("astar", "tba", "tbwa"):
        mean, fill, _ = mean_of(searches, row, "bucket")
        judged.append((f"`{row}`, list `bucket`: bytes a touched state", "at most 12", f"{mean:.2f}", mean <= 12))
        judged.append((f"`{row}`, list `bucket`: tiles full, least of {len(SEARCH_MAPS)} maps", "at least 60 %", f"{100 * fill:.0f} %", fill >= 0.6))
    return judged


PART = Part("memory", once=once, rows=rows, verdicts=verdicts)
