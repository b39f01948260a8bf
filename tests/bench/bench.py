#!/usr/bin/env python3
"""Measures tickpath on this machine, part by part: medians over runs, the runs of all parts taken in turn so that a busy moment
of the machine falls on all of them alike. What is promised is judged: exit code 1 when a bound is missed, or a part cannot be measured,
which keeps no other from running.

    tests/bench/bench.py [--bin build] [--runs 5] [--seconds 60] [--readme README.md] [--figures FIGURES.md]
    tests/bench/bench.py [--bin build] --only deadline      that part alone; again for more of them
    tests/bench/bench.py --list                             the names of the parts
    tests/bench/bench.py --history                          what the last figures of this processor are by those before

A part is a module of tests/bench/parts/ with a PART (measure.py says what is in it), listed in PARTS here, and a line with its words in bench.mk.

With BENCH_HISTORY=1 in the environment the figures are appended to tests/bench/history.tsv, which nobody edits: date, commit,
processor, figure, value.

Single searches are judged beside another program, if one is named (--beside, or BENCH_BESIDE in the environment), that solves
a scenario by A* when called as `PROGRAM --alg astar --map FILE --scen FILE`, and prints a table of tab-separated columns, a
row a problem, of which `expanded`, `nanos` and `pcost` (unit steps) are read.

Maps are taken from the folder TICKPATH_MAPS (MovingAI maps and scenarios); without it, maps of the same kinds are
generated. With --figures what is printed is also written to that file; with --readme the most of it that a newcomer asks for is, between the two
marks of that file: single searches, and which bounds are missed.
"""

import argparse
import os
import platform
import signal
import sys
import tempfile
import traceback

sys.dont_write_bytecode = True
import history  # noqa: E402
from measure import Bench, ROWS, processor, rows_table, verdicts_table  # noqa: E402
from parts import blocks, changes, crowd, deadline, frames, guided, interleaved, lines, log, memory, open_list, search, snapshot, threads  # noqa: E402

# In the order in which they are measured and printed.
PARTS = [part.PART for part in (lines, search, open_list, changes, blocks, crowd, frames, deadline, interleaved, threads, memory, snapshot, guided, log)]

BEGIN, END = "<!-- figures: begin -->", "<!-- figures: end -->"


class Measured:
    """A part and what became of it: the figures of its runs, then rows, words and verdicts. Who failed says why, and measures no more."""

    def __init__(self, part):
        self.part, self.runs, self.whole = part, [], None
        self.rows, self.words, self.verdicts, self.failed = [], "", [], False

    def attempt(self, step):
        """Takes a step, unless one failed before."""
        if self.failed:
            return
        try:
            step()
        except Exception as error:  # whatever it is: the other parts go on
            traceback.print_exc()
            self.failed = True
            self.rows, self.words = [], ""
            words = (str(error).strip().splitlines() or [""])[-1].replace("|", "/")
            self.verdicts = [(f"part `{self.part.name}`", "measured", f"{type(error).__name__}: {words}", False)]

    def run(self, bench):
        if self.part.each:
            self.attempt(lambda: self.runs.append(self.part.each(bench)))

    def end(self, bench):
        def measure():
            if self.part.once:
                self.whole = self.part.once(bench)
            self.rows, self.words, self.verdicts = (tell(self.runs, self.whole) for tell in (self.part.rows, self.part.words, self.part.verdicts))

        self.attempt(measure)


def measure(parts, bench):
    """What became of each part."""
    measured = [Measured(part) for part in parts]
    for run in range(bench.runs if any(part.each for part in parts) else 0):
        for part in measured:
            part.run(bench)
        print(f"run {run + 1} of {bench.runs} done", file=sys.stderr)
    for part in measured:
        part.end(bench)
    return measured


def conditions_of(measured, bench):
    """Where and how it was measured."""
    source = "the benchmark maps named" if bench.maps else "generated maps"
    parts = [m.part for m in measured]
    runs = f" {bench.runs} runs," if any(part.each or part is search.PART for part in parts) else ""
    problems = f" {ROWS} problems each," if lines.PART in parts else ""
    if all(part is open_list.PART for part in parts):
        source = "no maps"
    others = [f"; `{m.part.name}`: {m.part.conditions(bench)}" for m in measured if m.part.conditions(bench)]
    return (f"{processor()}, {os.cpu_count()} cores, {platform.system()};{runs}{problems} {source}; "
            f"no pinning{' but as told' if others else ''}{''.join(others)}; load average at the end {os.getloadavg()[0]:.1f}.")


def page(conditions, measured):
    """What is printed: the conditions, the figures, words of parts, what is judged."""
    rows, verdicts = all_of(measured, "rows"), all_of(measured, "verdicts")
    return "\n\n".join([conditions, *([rows_table(rows)] if rows else []), *(m.words for m in measured if m.words),
                        *([verdicts_table(verdicts)] if verdicts else [])])


def short_page(conditions, rows, verdicts):
    """README's: of the figures these rows, of the verdicts those that are no PASS."""
    missed = [verdict for verdict in verdicts if not verdict[3]]
    kept = f"Of {len(verdicts)} bounds judged {len(verdicts) - len(missed)} were kept{'. Missed:' if missed else '.'}"
    return "\n\n".join([conditions, rows_table(rows), kept, *([verdicts_table(missed)] if missed else [])])


def all_of(measured, name):
    return [one for part in measured for one in getattr(part, name)]


def write_figures(path, text):
    with open(path, "w") as file:
        file.write(f"# Figures\n\nWritten by `make bench BENCH_README=1`, not by hand.\n\n{text}\n")


def write_readme(path, text):
    with open(path) as file:
        before, rest = file.read().split(BEGIN, 1)
    _, after = rest.split(END, 1)
    with open(path, "w") as file:
        file.write(f"{before}{BEGIN}\n{text}\n{END}{after}")


def arguments():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", default="build")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--beside", default=os.environ.get("BENCH_BESIDE"))
    parser.add_argument("--only", action="append", choices=[part.name for part in PARTS])
    parser.add_argument("--readme")
    parser.add_argument("--figures")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--history", action="store_true")
    args = parser.parse_args()
    if args.only and (args.readme or args.figures):
        parser.error("the figures that are kept are those of all parts")
    return args


def stop(number, _):
    sys.exit(128 + number)  # by the way out that ends what was started


def main():
    args = arguments()
    if args.list or args.history:
        print("\n".join(part.name for part in PARTS) if args.list else history.table(processor()))
        return 0
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, stop)
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(args.bin, folder, args.runs, args.seconds, args.beside, os.environ.get("TICKPATH_MAPS"))
        measured = measure([part for part in PARTS if not args.only or part.name in args.only], bench)
    conditions = conditions_of(measured, bench)
    text = page(conditions, measured)
    print(text)
    history.append(processor(), all_of(measured, "rows"))
    failed = [part.part.name for part in measured if part.failed]
    if failed and (args.readme or args.figures):
        print(f"what is kept stays as it is: not measured: {', '.join(failed)}", file=sys.stderr)
    if args.figures and not failed:
        write_figures(args.figures, text)
    if args.readme and not failed:
        short = [m for m in measured if m.part is lines.PART]
        write_readme(args.readme, short_page(conditions, all_of(short, "rows"), all_of(measured, "verdicts")))
    return 0 if all(kept for *_, kept in all_of(measured, "verdicts")) else 1


if __name__ == "__main__":
    sys.exit(main())
