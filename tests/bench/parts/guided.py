"""Guided agents, with the row's defaults: the report's own experiments and problems (client/papers/experiments.txt)."""

import os

from measure import Part

SETS = ("dao", "sc1", "bg512", "wc3", "room", "random", "street", "maze")
BOUNDS = {"4": (1.10, 0.5), "16": (1.05, 0.1)}  # by k: cost / optimal at most, back-moves a walk below


def once(bench):
    """What the report measured: by set and k, names and values."""
    values = os.path.join(bench.folder, "values.tsv")
    bench.tool("report", "--only", "guided-", "--results", os.path.join(bench.folder, "papers"), "--values", values,
               *(("--maps", bench.maps) if bench.maps else ()), may_fail=True)
    if not os.path.exists(values):
        raise RuntimeError("report told no values")
    with open(values) as file:
        names = file.readline().rstrip("\n").split("\t")
        lines = [dict(zip(names, line.rstrip("\n").split("\t"))) for line in file]
    return {(line["experiment"].split("-", 1)[1], line["x"]): {name: float(line[name]) for name in names[3:]}
            for line in lines if line["experiment"].startswith("guided-")}


def words(_, guided):
    lines = ["| `guided`: maps | k | problems | cost / optimal | back-moves | ticks / optimal moves | expansions | guide units | worst tick |",
             "|---|---|---|---|---|---|---|---|---|"]
    for k in BOUNDS:
        for kind in SETS:
            f = guided.get((kind, k))
            if f:
                lines.append(f"| {kind} | {k} | {f['n']:.0f} | {f['cost_optimal']:.4f} | {f['back']:.2f} | {f['ticks_optimal']:.3f} "
                             f"| {f['expansions']:.0f} | {f['guide']:.0f} | {f['max_work']:.0f} |")
    return "\n".join(lines)


def verdicts(_, guided):
    judged = []
    for k, (cost, back) in BOUNDS.items():
        of = {kind: guided[kind, k] for kind in SETS if (kind, k) in guided}
        if not of:
            judged.append((f"`guided`, k = {k}: sets of maps to judge it on", f"{len(SETS)}", "none", False))
            continue
        for what, name, bound, most in (("cost / optimal", "cost_optimal", f"at most {cost:.2f}", cost),
                                        ("back-moves a walk", "back", f"below {back}", back)):
            worst = max(of, key=lambda kind: of[kind][name])
            value = of[worst][name]
            judged.append((f"`guided`, k = {k}: {what}, worst of {len(of)} sets of maps", bound, f"{value:.4f} ({worst})",
                           len(of) == len(SETS) and (value < most or (name == "cost_optimal" and value == most))))
        wrong = sum(f["illegal"] + f["over"] + (f["solved"] < 100) for f in of.values())
        judged.append((f"`guided`, k = {k}: illegal moves, ticks over budget, sets with a walk that did not arrive", "0", f"{wrong:.0f}",
                       wrong == 0))
    return judged


PART = Part("guided", once=once, words=words, verdicts=verdicts)
