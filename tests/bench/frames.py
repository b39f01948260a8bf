"""The bench of frames: what a frame costs the daemon's loop, through the network, and what a request of one session costs
beside a bare echo. bench.py runs it (--frames: alone); `tickpath load` makes the load and tells the CPU time of the loop.

Server and client are pinned to a processor each, where there are two."""

import contextlib
import json
import os
import statistics
import subprocess

# Units that all guided agents pay together in a measured frame; before, each may pay its own, so that all are under way.
GUIDE_UNITS, GUIDED_WARM = 2000, 40
# Maps: name in TICKPATH_MAPS (None: made always), and the options of `tickpath map generate` that make one without it. Paths are long and
# soon found on the last: what is walked on finished paths is to be renewed while others walk.
GAME = ("bg512/AR0700SR", "--kind city --size 512x512 --seed 1")
CITY = (None, "--kind city --size 1024x1024 --seed 1")
OPEN = (None, "--kind random --density 10 --size 1024x1024 --seed 1")
# words, map, options of `tickpath load`, bound of the loop's CPU time a frame at p99 in ms (None: shown, not judged)
LOADS = [
    ("1,000 searching agents, k = 16, 60 Hz", GAME, "--workload searching --alg tbwa --agents 1000 --k 16 --hz 60", 3.0),
    ("1,000 searching agents, k = 32, 60 Hz", GAME, "--workload searching --alg tbwa --agents 1000 --k 32 --hz 60", None),
    ("10,000 guided agents, k = 4, 100 cells changed a frame, 30 Hz", CITY,
     f"--workload guided --agents 10000 --k 4 --hz 30 --changes 100 --total-guide-units {GUIDE_UNITS} --warm-frames {GUIDED_WARM}", 3.0),
    ("10,000 agents on finished paths, 30 Hz", OPEN, "--workload finished --alg tbwa --w 2 --agents 10000 --k 4 --hz 30", 2.0),
]
SHARED_MOST = 0.01  # of the frames, whose CPU time was told for several together since one was late: more of them blur p99
# Single sessions against the echo, in turn.
CONNECTIONS, ROUNDS, ECHO_SHARE = 16, 5, 0.70
SINGLE = f"--workload single --connections {CONNECTIONS} --agents 1024 --alg tbwa --w 2 --k 4"


def cores():
    """Processors of the server and of the client."""
    there = sorted(os.sched_getaffinity(0))
    return there[0], there[-1]


def conditions(seconds):
    server, client = cores()
    pinning = f"server on processor {server}, client on {client}" if server != client else "one processor, shared: nothing is pinned apart"
    return f"{len(os.sched_getaffinity(0))} processors; {pinning}; one event loop; loopback; {seconds:g} s a load"


@contextlib.contextmanager
def pinned(core):
    """What is started meanwhile runs on that processor."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {core})
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


def map_options(where, folder, tool):
    name, options = where
    maps = os.environ.get("TICKPATH_MAPS")
    if maps and name:
        return ["--map", os.path.join(maps, name + ".map")]
    path = os.path.join(folder, options.replace("--", "").replace(" ", "-") + ".map")
    if not os.path.exists(path):
        subprocess.run([tool, "map", "generate", *options.split(), "--out", path], check=True)
    return ["--map", path]


def load_once(tool, daemon, options):
    """One run of `tickpath load`: what it measured, also where frames were left unanswered."""
    with pinned(cores()[1]):
        run = subprocess.run([tool, "load", "--json", "--via", daemon.address, "--daemon-pid", str(daemon.process.pid), *options],
                             capture_output=True, text=True)
    if not run.stdout:
        raise RuntimeError(f"load {' '.join(options)}: {run.stderr}")
    return json.loads(run.stdout)


def frames_once(args, folder, start_daemon, where, options):
    tool = os.path.join(args.bin, "tickpath")
    with pinned(cores()[0]):
        daemon = start_daemon(os.path.join(args.bin, "tickpathd"), folder, ["--threads", "1"])
    try:
        return load_once(tool, daemon, [*map_options(where, folder, tool), *options.split(), "--seconds", str(args.seconds)])
    finally:
        daemon.stop()


class Echo:
    """The bare echo, with the interface of bench.py's Daemon."""

    def __init__(self, binary, folder):
        port_file = os.path.join(folder, "echo-port")
        self.binary = binary
        self.process = subprocess.Popen([binary, "serve", port_file])
        while not (os.path.exists(port_file) and os.path.getsize(port_file)):
            if self.process.poll() is not None:
                raise RuntimeError("the echo does not serve")
        with open(port_file) as file:
            self.port = file.read().strip()

    def cpu_us(self):
        with open(f"/proc/{self.process.pid}/schedstat") as file:
            return int(file.read().split()[0]) / 1e3

    def load_once(self, seconds):
        before = self.cpu_us()
        with pinned(cores()[1]):
            run = subprocess.run([self.binary, "load", self.port, str(CONNECTIONS), str(seconds)], check=True, capture_output=True, text=True)
        figures = json.loads(run.stdout)
        return {**figures, "loop_cpu_us_per_request": (self.cpu_us() - before) / figures["answered"]}

    def stop(self):
        self.process.terminate()
        self.process.wait(timeout=30)


def singles(args, folder, start_daemon):
    """Requests of one session and echoes in turn: a list of each."""
    tool = os.path.join(args.bin, "tickpath")
    seconds = args.seconds / (2 * ROUNDS)
    options = [*map_options(OPEN, folder, tool), *SINGLE.split(), "--seconds", str(seconds)]
    ticked, echoed = [], []
    with pinned(cores()[0]):
        daemon = start_daemon(os.path.join(args.bin, "tickpathd"), folder, ["--threads", "1"])
        echo = Echo(os.path.join(args.bin, "tests", "bench", "echo"), folder)
    try:
        for _ in range(ROUNDS):
            echoed.append(echo.load_once(seconds))
            ticked.append(load_once(tool, daemon, options))
    finally:
        echo.stop()
        daemon.stop()
    return ticked, echoed


def run(args, folder, start_daemon):
    """Everything, once: what rows and verdicts are made of."""
    figures = [frames_once(args, folder, start_daemon, where, options) for _, where, options, _ in LOADS]
    return figures, singles(args, folder, start_daemon)


def rows(figures, single):
    """(what, value, spread) of what was measured."""
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


def verdicts(figures, single):
    """What is promised: (promise, bound, measured, whether it is kept)."""
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
