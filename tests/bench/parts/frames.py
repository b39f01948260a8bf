"""Frames: what a frame costs the daemon's loop, through the network, and what a request of one session costs beside a bare echo.
`tickpath load` makes the load and tells the CPU time of the loop. Server and client are pinned to a processor each, where there are two."""

import json
import os
import statistics

from measure import CITY, Part, cores

# Units that all guided agents pay together in a measured frame; before, each may pay its own, so that all are under way.
GUIDE_UNITS, GUIDED_WARM = 2000, 300
# Maps: the benchmark map (None: made always), and the options of `tickpath map generate` that make one without it. Paths are long and
# soon found on the last: what is walked on finished paths is to be renewed while others walk.
GAME = ("bg512/AR0700SR", "--kind city --size 512x512 --seed 1")
OPEN = (None, "--kind random --density 10 --size 1024x1024 --seed 1")
# words, map, options of `tickpath load`, bound of the loop's CPU time a frame at p99 in ms (None: shown, not judged)
LOADS = [
    ("1,000 searching agents, k = 16, 60 Hz", GAME, "--workload searching --alg tbwa --agents 1000 --k 16 --hz 60", 3.0),
    ("1,000 searching agents, k = 32, 60 Hz", GAME, "--workload searching --alg tbwa --agents 1000 --k 32 --hz 60", None),
    ("10,000 guided agents, k = 4, 100 cells changed a frame, 30 Hz", (None, CITY),
     f"--workload guided --agents 10000 --k 4 --hz 30 --changes 100 --total-guide-units {GUIDE_UNITS} --warm-frames {GUIDED_WARM}", 3.0),
    ("10,000 agents on finished paths, 30 Hz", OPEN, "--workload finished --alg tbwa --w 2 --agents 10000 --k 4 --hz 30", 2.0),
]
SHARED_MOST = 0.01  # of the frames, whose CPU time was told for several together since one was late: more of them blur p99
# Single sessions against the echo, in turn.
CONNECTIONS, ROUNDS, ECHO_SHARE = 16, 5, 0.70
SINGLE = f"--workload single --connections {CONNECTIONS} --agents 1024 --alg tbwa --w 2 --k 4"


def conditions(bench):
    server, client = cores()
    pinning = f"server on processor {server}, client on {client}" if server != client else "one processor, shared: nothing is pinned apart"
    return f"{len(os.sched_getaffinity(0))} processors; {pinning}; one event loop; loopback; {bench.seconds:g} s a load"


def map_options(bench, where):
    name, options = where
    return ["--map", bench.benchmark(name) + ".map" if bench.maps and name else bench.generated(options)]


def load_once(bench, daemon, options, seconds):
    """One run of `tickpath load`: what it measured, also where frames were left unanswered."""
    return json.loads(bench.tool("load", "--json", "--via", daemon.address, "--daemon-pid", daemon.pid, *options, "--seconds", seconds,
                                 core=cores()[1], may_fail=True))


def frames_once(bench, where, options):
    with bench.daemon("--threads", "1", core=cores()[0]) as daemon:
        return load_once(bench, daemon, [*map_options(bench, where), *options.split()], bench.seconds)


def echo_once(bench, echo, seconds):
    """What the bare echo answers a load of its own program, and the CPU time that it takes."""
    before = echo.cpu_us()
    figures = bench.program("echo", "load", echo.ports[0], CONNECTIONS, seconds, core=cores()[1])
    return {**figures, "loop_cpu_us_per_request": (echo.cpu_us() - before) / figures["answered"]}


def singles(bench):
    """Requests of one session and echoes in turn: a list of each."""
    seconds = bench.seconds / (2 * ROUNDS)
    options = [*map_options(bench, OPEN), *SINGLE.split()]
    server = cores()[0]
    echo_server = (os.path.join(bench.bin, "tests", "bench", "echo"), "serve", os.path.join(bench.folder, "echo-port"))
    ticked, echoed = [], []
    with bench.daemon("--threads", "1", core=server) as daemon, bench.serving(*echo_server, core=server) as echo:
        for _ in range(ROUNDS):
            echoed.append(echo_once(bench, echo, seconds))
            ticked.append(load_once(bench, daemon, options, seconds))
    return ticked, echoed


def once(bench):
    """The frames of each load, and the single sessions."""
    return [frames_once(bench, where, options) for _, where, options, _ in LOADS], singles(bench)


def rows(_, whole):
    figures, single = whole
    made = []
    for (words, *_), f in zip(LOADS, figures):
        for name, key in (("CPU time of the loop a frame", "loop_cpu_us"), ("from the time a frame was due to its answer", "latency_us")):
            q = f[key]
            made.append((f"{words}: {name}, p99, ms", f"{q['p99'] / 1e3:.2f}",
                         f"p50 {q['p50'] / 1e3:.2f}, p99.9 {q['p99_9'] / 1e3:.2f}, max {q['max'] / 1e3:.2f}"))
        ticks = max(1, f["agent_ticks"]) / 100
        made.append((f"{words}: frames late, of {f['intended']:,}", f"{f['late']:,}",
                     f"{f['moving'] / ticks:.0f} % of agent ticks move, {f['path_complete'] / ticks:.0f} % on complete paths;"
                     f" {f['goals_renewed']:,} goals renewed"))
    for what, of in (("requests of one session", single[0]), ("a bare libuv echo of 64 bytes", single[1])):
        name = f"{what}, {CONNECTIONS} connections, unpipelined: "
        for words, values, digits in (("thousand a second", [f["answered_per_s"] / 1e3 for f in of], 1),
                                      ("CPU time of the server's loop each, us", [f["loop_cpu_us_per_request"] for f in of], 2)):
            made.append((name + words, f"{statistics.median(values):.{digits}f}", f"{min(values):.{digits}f} .. {max(values):.{digits}f}"))
    return made


def verdicts(_, whole):
    """What is promised."""
    figures, single = whole
    judged = []
    for (words, _, _, bound), f in zip(LOADS, figures):
        if bound is None:
            continue
        p99 = f["loop_cpu_us"]["p99"] / 1e3
        unanswered, shared = f["intended"] - f["answered"], f["loop_cpu_shared"]
        judged.append((f"{words}: CPU time of the loop a frame, p99 of {f['intended']:,}", f"below {bound:g} ms, all answered",
                       f"{p99:.2f} ms (p99.9 {f['loop_cpu_us']['p99_9'] / 1e3:.2f}); {unanswered} unanswered; {shared} told together",
                       p99 < bound and unanswered == 0 and shared <= SHARED_MOST * f["intended"]))
    ticked, echoed = single
    share = statistics.median(t["answered_per_s"] / e["answered_per_s"] for t, e in zip(ticked, echoed))
    cpu = statistics.median(e["loop_cpu_us_per_request"] / t["loop_cpu_us_per_request"] for t, e in zip(ticked, echoed))
    judged.append((f"requests of one session a second, {CONNECTIONS} connections, by those of a bare echo, median of {len(ticked)} in turn",
                   f"at least {ECHO_SHARE:.0%}", f"{share:.0%} (by CPU time of the loops {cpu:.0%})", share >= ECHO_SHARE))
    return judged


PART = Part("frames", once=once, rows=rows, verdicts=verdicts, conditions=conditions)
