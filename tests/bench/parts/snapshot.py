"""Snapshots of maps of 4096x4096 cells: how long one takes to write and to read, and how large it is beside the plain cells as zstd packs them."""

import glob
import os
import statistics

from measure import Part, median_row

SIDE = 4096
KINDS = ("city", "random", "rooms", "caves", "maze")
# Milliseconds of wall time, and times the bytes of the plain cells packed with zstd at level 3.
ENCODE_MS, DECODE_MS, SIZE_RATIO = 1000, 300, 1.3
NOT_GRIDS = ("graph", "racetrack", "puzzle")


def each(bench):
    """Figures of a map of each kind that is generated."""
    return [bench.program("snapshot", bench.generated(f"--kind {kind} --size {SIDE}x{SIDE} --seed 1")) for kind in KINDS]


def once(bench):
    """Figures of every benchmark map, repeated side by side."""
    paths = sorted(glob.glob(os.path.join(bench.maps, "*", "*.map"))) if bench.maps else []
    return [(os.path.basename(path)[:-len(".map")], bench.program("snapshot", path, SIDE)) for path in paths
            if os.path.basename(os.path.dirname(path)) not in NOT_GRIDS]


def times(runs, key):
    """By map: all times of all runs."""
    return {kind: [ms for figures in run for ms in figures[key]] for kind, run in zip(KINDS, zip(*runs))}


def rows(runs, _):
    made = []
    for kind, figures in zip(KINDS, zip(*runs)):
        name = f"snapshot of {SIDE}x{SIDE} cells, {kind}: "
        made += [median_row(name + "written, ms", times(runs, "encode_ms")[kind], 1),
                 median_row(name + "read, ms", times(runs, "decode_ms")[kind], 1),
                 median_row(name + "read first in a process, ms", [f["decode_ms"][0] for f in figures], 1),
                 median_row(name + "KiB with all keys and a full lineage", [f["bytes"] / 1024 for f in figures], 0),
                 median_row(name + "KiB of the plain cells by zstd -3", [f["zstd_bytes"] / 1024 for f in figures], 0)]
    return made


def verdicts(runs, benchmark):
    """What a snapshot promises, of the map that keeps it worst."""

    def judge(promise, bound, unit, measured, digits=0):
        most, name = max((value, name) for name, value in measured)
        return (f"snapshot of {SIDE}x{SIDE} cells, {promise}, worst of {len(measured)} maps", f"at most {bound} {unit}",
                f"{most:.{digits}f} ({name})", most <= bound)

    benchmark = benchmark or []
    judged = []
    for promise, bound, key in (("written, median", ENCODE_MS, "encode_ms"), ("read, median", DECODE_MS, "decode_ms")):
        measured = [(kind, statistics.median(ms)) for kind, ms in times(runs, key).items()]
        measured += [(name, statistics.median(figures[key])) for name, figures in benchmark]
        judged.append(judge(promise, bound, "ms", measured))
    generated = list(zip(KINDS, runs[0]))
    judged.append(judge("size with all keys and a full lineage by the cells' by zstd -3", SIZE_RATIO, "times",
                        [(name, f["bytes"] / f["zstd_bytes"]) for name, f in generated], 3))
    judged.append(judge("size of the map alone by the cells' by zstd -3", SIZE_RATIO, "times",
                        [(name, f["map_bytes"] / f["zstd_bytes"]) for name, f in generated + benchmark], 3))
    return judged


PART = Part("snapshot", each=each, once=once, rows=rows, verdicts=verdicts)
