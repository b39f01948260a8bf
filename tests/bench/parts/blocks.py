"""The block graph: how long it takes to build and to repair, on the map that changes, the same repeated to a side of 4096 cells, and, judged,
on every map."""

import glob
import os

from measure import CITY, Part, median_row

SIDES = ("1024", "4096")
# Kinds of maps whose bytes a cell are bounded more narrowly than those of all maps.
GAME_MAPS = ("dao", "sc1", "bg512", "wc3")


def one(bench, map_path, *side, links="straight"):
    return bench.program("blocks", links, map_path, *side)


def each(bench):
    """Figures of the changing map, by side."""
    return [one(bench, bench.generated(CITY), side) for side in SIDES]


def rows(runs, _):
    made = []
    for side, figures in zip(SIDES, zip(*runs)):
        name = f"block graph of {side}x{side} cells: "
        for words, key, digits in (("built, ms", "build_ms", 2), ("a batch of one cell repaired, us", "single_us", 0),
                                   ("a batch of 1,000 cells in a square repaired, us", "clustered_us", 0),
                                   ("a batch of 1,000 scattered cells repaired, us", "scattered_us", 0),
                                   ("the same, the worst of 200 batches, us", "scattered_worst_us", 0),
                                   ("the version before such a batch given up, us", "scattered_give_up_us", 0)):
            made.append(median_row(name + words, [f[key] for f in figures], digits))
    return made


def once(bench):
    """Figures of every map, each as it is and repeated to the sides, by both ways of hanging together: (name, kind, figures)."""
    figures = []
    for path in sorted(glob.glob(os.path.join(bench.maps, "*", "*.map"))) if bench.maps else [bench.generated(CITY)]:
        kind = os.path.basename(os.path.dirname(path))
        for side in ((), *((side,) for side in SIDES)):
            for links in ("straight", "diagonal"):
                name = " ".join((os.path.basename(path)[:-len(".map")], *side, links))
                figures.append((name, kind, one(bench, path, *side, links=links)))
    return figures


def verdicts(_, figures):
    """What the block graph promises."""
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

    judged = judge("built for up to 1024x1024 cells", 40, "ms", "build_ms", is_small)
    judged += judge("built for up to 4096x4096 cells", 1000, "ms", "build_ms")
    for key, words in (("scattered", "1,000 scattered cells"), ("clustered", "1,000 cells in a square")):
        judged += judge(f"{words} repaired, median", 1000, "us of CPU time", f"{key}_us", digits=0)
        worst = max(f[f"{key}_worst_us"] for *_, f in figures)
        judged += judge(f"{words} repaired, p99 (worst single batch {worst:.0f} us)", 1000, "us of CPU time", f"{key}_p99_us", digits=0)
    judged += judge(f"bytes a cell on maps of {', '.join(GAME_MAPS)}", 0.5, "bytes", "bytes_a_cell",
                      lambda kind, f: kind in GAME_MAPS, 3)
    return judged + judge("bytes a cell on all maps", 2, "bytes", "bytes_a_cell", digits=3)


PART = Part("blocks", each=each, once=once, rows=rows, verdicts=verdicts)
