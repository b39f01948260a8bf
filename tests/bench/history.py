"""The history of the figures: tests/bench/history.tsv, to which bench.py appends when BENCH_HISTORY=1, and which nobody edits."""

import os
import subprocess
import time

PATH = os.path.join(os.path.dirname(os.path.abspath(__file__)), "history.tsv")
COLUMNS = ("date", "commit", "processor", "figure", "value")


def commit():
    """The commit measured, with a + where files differ from it."""
    def git(*words):
        return subprocess.run(["git", "-C", os.path.dirname(PATH), *words], capture_output=True, text=True).stdout.strip()

    return (git("rev-parse", "--short", "HEAD") or "unknown") + ("+" if git("status", "--porcelain", "--untracked-files=no") else "")


def append(processor, rows):
    """Appends the figures, if that is asked for."""
    if os.environ.get("BENCH_HISTORY") != "1":
        return
    begins = not os.path.exists(PATH)
    line = (time.strftime("%Y-%m-%dT%H:%MZ", time.gmtime()), commit(), processor)
    with open(PATH, "a") as file:
        if begins:
            file.write("\t".join(COLUMNS) + "\n")
        for name, value, _ in rows:
            file.write("\t".join((*line, name, value)) + "\n")


def table(processor):
    """The last value of each figure on a processor, and the one before."""
    entries = {}
    if os.path.exists(PATH):
        with open(PATH) as file:
            for row in list(file)[1:]:
                date, of, processor_of, name, value = row.rstrip("\n").split("\t")
                if processor_of == processor:
                    entries.setdefault(name, []).append((date, of, float(value.replace(",", ""))))
    if not entries:
        return f"no figures of {processor} in {os.path.relpath(PATH)}"
    lines = ["| figure | last | commit | before | commit | change |", "|---|---|---|---|---|---|"]
    for name, values in entries.items():
        (_, before_of, before), (_, last_of, last) = values[-2] if len(values) > 1 else (None, "", None), values[-1]
        change = "" if not before else f"{100 * (last / before - 1):+.1f} %"
        lines.append(f"| {name} | {last:g} | {last_of} | {'' if before is None else f'{before:g}'} | {before_of} | {change} |")
    return "\n".join(lines)
