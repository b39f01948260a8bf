#!/usr/bin/env python3
"""The bench without its programs: every part reads what they print, told here in short, and judges it: kept where the figures are good, missed
where one of them is not. That a part which fails keeps no other from running; that what is started is ended on every way out; that README's
figures and the history are written; that `make` has each part by its name. Prints totals in Check's form."""

import contextlib
import copy
import io
import json
import os
import re
import signal
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BENCH = os.path.join(ROOT, "tests", "bench")
sys.dont_write_bytecode = True
sys.path[:0] = [BENCH, os.path.join(ROOT, "tests", "lib")]
import bench as program  # noqa: E402
import history  # noqa: E402
import measure  # noqa: E402
from checks import check, close  # noqa: E402

# ---- what the programs print, in short ----

HELD = {"held_base": 1000, "held_most": 9000, "held_after": 1000, "versions_base": 1, "versions_after": 1, "over_budget": 0, "agent_ticks": 100}
QUANTILES = {"p50": 1, "p99": 2, "max": 3}
BLOCKS = {"width": 1024, "height": 1024, "bytes_a_cell": 0.4, "build_ms": 5, "single_us": 3, "scattered_give_up_us": 9,
          **{f"{kind}_{of}us": 100 for kind in ("scattered", "clustered") for of in ("", "worst_", "p99_")}}
CROWD = {"frame_ms": QUANTILES, "field_ticks": QUANTILES, "way_ticks": QUANTILES, "move_ticks": QUANTILES}
PHASE = {"resident": 1e6, "resident_an_agent": 100, "held_an_agent": 80, "ways_an_agent": 20, "most_beside_path": 300, "path_bytes_a_step": 0.5}
LOAD = {"loop_cpu_us": {"p50": 900, "p99": 1000, "p99_9": 1100, "max": 1200}, "latency_us": {"p50": 1900, "p99": 2000, "p99_9": 2100, "max": 2200},
        "agent_ticks": 1000, "moving": 900, "path_complete": 100, "goals_renewed": 7, "intended": 3600, "answered": 3600, "late": 0,
        "loop_cpu_shared": 0, "answered_per_s": 100e3, "loop_cpu_us_per_request": 8}
PRINTED = {
    "metric": 9,
    "tickpath bench": {"ns_per_expansion": 50, "bytes_per_state": 8, "ticks": 900, "expansions": 40000, "solved": 40},
    "tickpath load": LOAD,
    "search": {"expansions": [100, 200], "ns": [5000, 10000], "cost": [10.5, 20.5]},
    "open": {way: {"1000": 6, "10000": 6, "1000000": 9} for way in ("bucket", "exact", "bare")},
    "changes steady": {**HELD, "still_ms": [1, 1], "changing_ms": [1] * 2000, "still_wall_ms": [2], "changing_wall_ms": [3], "applied_ms": [4],
                       "world_cpu_ms": [4], "world_wait_ms": [0], "mib_before": 10, "mib_under": 20, "mib_after": 11},
    "changes stream": {**HELD, "changes_per_s": 2e6, "batches_sent": 9, "batches_applied": 9},
    "blocks": BLOCKS,
    "guide": {"sessions": 1000, "first": CROWD, "steady": CROWD, "churn": CROWD, "most_bytes": 1 << 20, "cap_bytes": 1 << 21, "over_budget": 0,
              "illegal": 0, "agent_ticks": 1000, "under_way": 0},
    "echo": {"answered": 1000, "answered_per_s": 120e3},
    "deadline": {"p50": 5, "p99": 9, "p999": 20, "max": 60, "expansions": 4000, "starved": 3, "moves_p50": 200, "moves_p99": 300, "longest": 2,
                 "illegal": 0, "unanswered": 0},
    "interleaved library": {"single": [20e6, 21e6], "interleaved": [12e6, 13e6], "unfetched": [8e6], "whole": [22e6], "k": 32},
    "interleaved threads": {"one_cpu": [12e6], "one_wall": [11e6], "all_cpu": [23e6], "all_wall": [22e6], "threads": 2},
    "interleaved daemon": {"cpu": [11e6, 12e6], "wall": [10e6], "k": 32},
    "memory crowd": {"sessions": 10000, "width": 1024, "height": 1024, "left": 0, **{p: PHASE for p in ("opened", "searching", "walking", "arrived")}},
    "log": {"batches": 60000, "seconds": 5, "per_s": 12000, "p50_ms": 4, "p99_ms": 9, "p99_9_ms": 12, "max_ms": 20},
    "snapshot": {"width": 4096, "height": 4096, "encode_ms": [60, 55], "decode_ms": [70, 60], "bytes": 110, "map_bytes": 105, "zstd_bytes": 100},
    "memory search": {"touched": 1000, "bytes_a_state": 9, "fill": 0.8},
}
BESIDE = "\n".join(["some words", "expanded\tnanos\tpcost", "100\t50000\t10.5", "200\t100000\t20.5", ""])
REPORT_NAMES = ("experiment", "algorithm", "x", "n", "cost_optimal", "back", "ticks_optimal", "expansions", "guide", "max_work", "illegal", "over", "solved")
SETS = ("dao", "sc1", "bg512", "wc3", "room", "random", "street", "maze")
REPORT = [["guided-" + kind, "guided", k, 50, 1.01, 0.05, 1.2, 300, 40, 16, 0, 0, 100] for kind in SETS for k in (4, 16)]
# Benchmark maps that a part names.
MAPS = ("bg512/AR0011SR", "bg512/AR0700SR", "random/random512-25-0", "random/random1000-10", "sc1/Cauldron", "street/Paris_1_1024")
MAP = "type octile\nheight 4\nwidth 4\nmap\n" + "....\n" * 4
SCEN = "version 1\n" + "0\tx.map\t4\t4\t0\t0\t3\t3\t4.24264069\n" * 200


class Told(measure.Bench):
    """A bench whose programs print what is told here, and whose servers are ourselves."""

    def __init__(self, folder, printed, maps, beside="beside"):
        super().__init__("none", folder, 2, 1, beside, maps)
        self.printed = printed

    def run(self, *command, core=None, environment=None, may_fail=False):
        command = [os.path.basename(command[0]), *map(str, command[1:])]
        if command[:2] == ["tickpath", "map"]:
            write(command[command.index("--out") + 1], MAP)
            return ""
        if command[:2] == ["tickpath", "report"]:
            write(command[command.index("--values") + 1], "".join("\t".join(map(str, line)) + "\n" for line in [REPORT_NAMES, *self.printed["report"]]))
            return ""
        if command[0] == "beside":
            return BESIDE
        return json.dumps(self.printed[" ".join(command[:2])] if " ".join(command[:2]) in self.printed else self.printed[command[0]])

    @contextlib.contextmanager
    def serving(self, *command, **_):
        yield measure.Server(os.getpid(), ["1", "2"])

    @contextlib.contextmanager
    def redis(self, _):
        yield "redis://127.0.0.1:3/0"

    def metric(self, *_):
        return self.printed["metric"]


def write(path, text):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


def told():
    return copy.deepcopy({**PRINTED, "report": REPORT})


def measured(folder, printed, names=None, maps=True):
    """The bench's parts, of what is told, by name."""
    bench = Told(folder, printed, os.path.join(folder, "maps") if maps else None)
    with contextlib.redirect_stderr(io.StringIO()):
        parts = program.measure([part for part in program.PARTS if names is None or part.name in names], bench)
    return {part.part.name: part for part in parts}, program.page(program.conditions_of(parts, bench), parts)


# ---- what is checked ----


def check_good(folder):
    parts, page = measured(folder, told())
    names = []
    for name, part in parts.items():
        check(not part.failed, f"{name} is not measured: {part.verdicts}")
        check(part.rows or part.words, f"{name} tells nothing")
        check(all(len(row) == 3 and all(isinstance(word, str) for word in row) for row in part.rows), f"{name}: rows {part.rows}")
        missed = [verdict for verdict in part.verdicts if verdict[3] is not True]
        check(not missed, f"{name} is missed: {missed}")
        names += [row[0] for row in part.rows]
    check(len(set(names)) == len(names), "two rows of one name: the history could not tell them apart")
    check("FAIL" not in page and page.count("PASS") == sum(len(part.verdicts) for part in parts.values()), "the page:\n" + page)
    check(all(f"| {row[0]} | {row[1]} | {row[2]} |" in page for part in parts.values() for row in part.rows), "the page lacks rows")


def check_without_maps(folder):
    """Generated maps in the place of benchmark maps."""
    parts, _ = measured(folder, told(), maps=False)
    failed = [name for name, part in parts.items() if part.failed]
    check(not failed, f"without maps {failed} are not measured")


# part, program, figure's place, what is bad of it, words of the verdict that is missed
BAD = [
    ("search", "search", ("ns", 0), 100000, "by those of the other program"),
    ("search", "search", ("cost", 0), 11, "costs differ"),
    ("open", "open", ("bucket", "1000000"), 13, "an operation"),
    ("changes", "changes steady", ("still_ms",), [0.4], "p99.9, by the p50"),
    ("changes", "changes steady", ("applied_ms", 0), 11, "wall time, median"),
    ("changes", "changes stream", ("held_after",), 1001, "bytes of old versions"),
    ("changes", "changes stream", ("batches_applied",), 8, "single-cell changes"),
    ("blocks", "blocks", ("scattered_p99_us",), 1001, "scattered cells repaired, p99"),
    ("blocks", "blocks", ("bytes_a_cell",), 0.6, "bytes a cell on maps of dao"),
    ("crowd", "guide", ("illegal",), 1, "moved illegally"),
    ("crowd", "guide", ("first", "field_ticks", "p50"), 6, "the field over areas"),
    ("frames", "tickpath load", ("loop_cpu_us", "p99"), 3001, "k = 16, 60 Hz"),
    ("frames", "tickpath load", ("answered",), 3599, "k = 16, 60 Hz"),
    ("frames", "tickpath load", ("answered_per_s",), 80e3, "a bare echo"),
    ("deadline", "deadline", ("p999",), 51, "beyond it, p99.9"),
    ("deadline", "deadline", ("longest",), 9, "starved in"),
    ("interleaved", "interleaved library", ("interleaved",), [5e6], "in turn, by one alone"),
    ("interleaved", "interleaved daemon", ("cpu",), [9e6], "through a daemon"),
    ("memory", "memory crowd", ("left",), 1, "left in the pool"),
    ("memory", "memory search", ("fill",), 0.59, "tiles full"),
    ("log", "log", ("per_s",), 9000, "batches a second"),
    ("log", "tickpath load", ("late",), 1, "while snapshots of"),
    ("snapshot", "snapshot", ("encode_ms",), [1001, 1001], "written"),
    ("snapshot", "snapshot", ("decode_ms",), [301, 301], "read"),
    ("snapshot", "snapshot", ("bytes",), 131, "with all keys"),
    ("snapshot", "snapshot", ("map_bytes",), 131, "of the map alone"),
    ("guided", "report", (0, 4), 1.2, "cost / optimal"),
    ("guided", "report", (0, 12), 99, "did not arrive"),
]


def check_bad(folder):
    for part, of, place, value, words in BAD:
        printed = told()
        figures = printed[of]
        for step in place[:-1]:
            figures = figures[step]
        figures[place[-1]] = value
        judged = measured(folder, printed, [part])[0][part]
        missed = [promise for promise, *_, kept in judged.verdicts if not kept]
        check(not judged.failed and any(words in promise for promise in missed), f"{of} with {place} = {value} misses {missed}, not {words}")
    of_none = {part.name for part in program.PARTS if part.verdicts is not measure.Part.verdicts} - {part for part, *_ in BAD}
    check(not of_none, f"no bad figure of {of_none}")


def main_of(folder, printed, *words):
    """What bench.py itself gives: exit status, what it printed, its errors."""
    out, errors = io.StringIO(), io.StringIO()
    before, argv, handlers = program.Bench, sys.argv, {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGHUP)}
    program.Bench = lambda bin, made_in, runs, seconds, beside, maps: Told(made_in, printed, os.path.join(folder, "maps"))
    sys.argv = ["bench.py", "--runs", "2", *words]
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(errors):
            status = program.main()
    finally:
        program.Bench, sys.argv = before, argv
        for number, handler in handlers.items():
            signal.signal(number, handler)
    return status, out.getvalue(), errors.getvalue()


def check_main(folder):
    readme, figures = os.path.join(folder, "readme"), os.path.join(folder, "figures")
    write(readme, f"before\n{program.BEGIN}\nold\n{program.END}\nafter\n")
    history.PATH = os.path.join(folder, "history.tsv")
    os.environ["BENCH_HISTORY"] = "1"
    for _ in range(2):
        status, page, errors = main_of(folder, told(), "--readme", readme, "--figures", figures)
        check(status == 0, f"good figures end with {status}: {errors}")
    with open(readme, encoding="utf-8") as file:
        written = file.read()
    parts, conditions = measured(folder, told())[0], page.split("\n", 1)[0]
    short = program.short_page(conditions, parts["lines"].rows, [verdict for part in parts.values() for verdict in part.verdicts])
    check(written == f"before\n{program.BEGIN}\n{short}\n{program.END}\nafter\n", "README has other figures:\n" + written)
    check("bounds judged" in short and "Missed" not in short and "FAIL" not in short, "good figures miss bounds:\n" + short)
    with open(figures, encoding="utf-8") as file:
        whole = file.read()
    check(whole.endswith(f"\n\n{page.rstrip()}\n"), "the figures kept are not what was printed")
    bad_rows = [("a", "b", "c", False), ("d", "e", "f", True)]
    check("Of 2 bounds judged 1 were kept. Missed:" in program.short_page("x", [], bad_rows) and "| a | b | c | FAIL |" in program.short_page("x", [], bad_rows)
          and "| d |" not in program.short_page("x", [], bad_rows), "what is missed is not told, or what is kept is")
    rows = [row for part in measured(folder, told())[0].values() for row in part.rows]
    status, compared, _ = main_of(folder, told(), "--history")
    check(status == 0 and compared.count("+0.0 %") == sum(float(row[1].replace(",", "")) != 0 for row in rows), "the history:\n" + compared)
    with open(history.PATH, encoding="utf-8") as file:
        check(sum(1 for _ in file) == 1 + 2 * len(rows), "the history has not each row twice")
    del os.environ["BENCH_HISTORY"]

    broken = told()
    del broken["deadline"]["p999"]
    broken["memory crowd"] = []
    status, page, errors = main_of(folder, broken, "--readme", readme, "--figures", figures)
    for path, before in ((readme, written), (figures, whole)):
        with open(path, encoding="utf-8") as file:
            check(file.read() == before, "a file has figures of a bench that failed")
    check(status == 1, f"parts that fail end with {status}")
    check("part `deadline` | measured | KeyError: 'p999' | FAIL" in page and "part `memory`" in page, "what failed is not told:\n" + page)
    check("in turn, k = 32" in page and "bare libuv echo" in page and "| `guided`" in page, "a part that failed kept others from running:\n" + page)
    check("Traceback" in errors, "where it failed is not told")
    bad = told()
    bad["open"]["bucket"]["1000000"] = 20
    status, page, _ = main_of(folder, bad, "--only", "open", "--only", "lines")
    check(status == 1 and page.count("FAIL") == 1 and "in turn" not in page, f"a missed bound ends with {status}:\n{page}")
    for part, words in (("open", "; no maps;"), ("deadline", "; 2 runs, the benchmark maps named;"), ("memory", "; the benchmark maps named;"),
                        ("lines", "; 2 runs, 40 problems each, the benchmark maps named;")):
        heading = main_of(folder, told(), "--only", part)[1].splitlines()[0]
        check(words in heading, f"{part} alone is headed {heading}")


def is_running(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def check_ended(folder):
    """Servers: one that serves, one that ends at once, one that never says its port, and one that must be killed."""
    bench = measure.Bench(".", folder, 1, 1)
    pids, port_file = os.path.join(folder, "pid"), os.path.join(folder, "port")

    def serve(script):
        return bench.serving("/bin/sh", "-c", f"echo $$ >{pids}; {script}", "sh", port_file)

    def told_pid():
        with open(pids, encoding="utf-8") as file:
            return int(file.read())

    measure.START_S, measure.END_S = 1, 0.2
    for script, starts in (('echo 7 >"$1"; exec sleep 60', True), ("exit 3", False), ("exec sleep 60", False),
                           ('trap "" TERM; echo 7 >"$1"; while :; do sleep 0.1; done', True)):
        try:
            with serve(script) as server:
                check(starts and is_running(server.pid) and server.address == "127.0.0.1:7", f"{script}: serves")
                raise ValueError
        except (ValueError, RuntimeError) as error:
            check(isinstance(error, ValueError) == starts, f"{script}: {error}")
        check(not is_running(told_pid()), f"{script}: is left running")


def check_stopped(folder):
    """A bench that is stopped ends what it started, whatever it is in."""
    for name in ("tickpath", "tickpathd"):
        write(os.path.join(folder, "bin", name), f'#!/bin/sh\necho $$ >"{folder}/{name}.pid"\n'
              + ('while [ "$1" != --port-file ]; do shift; done; echo 7 >"$2"\nexec sleep 60\n' if name == "tickpathd" else
                 '[ "$1" = load ] && exec sleep 60\nwhile [ "$1" != --out ]; do shift; done; : >"$2"\n'))
        os.chmod(os.path.join(folder, "bin", name), 0o755)
    environment = {name: value for name, value in os.environ.items() if name != "TICKPATH_MAPS"}
    process = subprocess.Popen([sys.executable, os.path.join(BENCH, "bench.py"), "--bin", os.path.join(folder, "bin"), "--only", "frames"],
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=environment)
    daemon, load = (os.path.join(folder, name + ".pid") for name in ("tickpathd", "tickpath"))
    try:
        for _ in range(400):
            if os.path.exists(daemon) and os.path.getsize(daemon) and is_load(load):
                break
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(0.05)
        process.terminate()
        check(process.wait(20) == 128 + signal.SIGTERM, f"stopped, it ends with {process.returncode}")
    finally:
        process.kill()
    for path in (daemon, load):
        with open(path, encoding="utf-8") as file:
            check(not is_running(int(file.read())), f"{os.path.basename(path)}: is left running")


def is_load(path):
    """Whether the tool that wrote its pid there is the load, which sleeps."""
    try:
        with open(path, encoding="utf-8") as file, open(f"/proc/{int(file.read())}/comm", encoding="utf-8") as comm:
            return comm.read().strip() == "sleep"
    except (OSError, ValueError):
        return False


def check_make():
    with open(os.path.join(BENCH, "bench.mk"), encoding="utf-8") as file:
        text = file.read()
    names = [part.name for part in program.PARTS]
    check(re.search(r"^BENCH_PARTS := (.*)$", text, re.MULTILINE).group(1).split() == names, f"bench.mk has other parts than {names}")
    modules = {name[:-len(".py")] for name in os.listdir(os.path.join(BENCH, "parts")) if name.endswith(".py")}
    check(len(modules) == len(names), f"modules {sorted(modules)}, parts {names}")


def main():
    with tempfile.TemporaryDirectory() as folder:
        for name in MAPS:
            write(os.path.join(folder, "maps", name + ".map"), MAP)
            write(os.path.join(folder, "maps", name + ".scen"), SCEN)
        check_good(folder)
        check_without_maps(folder)
        check_bad(folder)
        check_main(folder)
        check_ended(folder)
        check_stopped(folder)
    check_make()
    return close()


if __name__ == "__main__":
    sys.exit(main())
