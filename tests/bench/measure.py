"""What the parts of the bench share: how programs are run and servers started, maps, and the words and numbers of tables."""

import contextlib
import dataclasses
import json
import os
import platform
import random
import shutil
import socket
import statistics
import subprocess
import tempfile
import time
import typing
import urllib.request

START_S, END_S = 15, 30  # how long a server may take to say its port, and to end


@dataclasses.dataclass(frozen=True)
class Part:
    """A part of the bench, which `make bench-NAME` runs alone. `each` measures once a run, the runs of all parts in turn; `once` a single time,
    after all runs; both are handed the Bench and give figures of the part's own. The others make of the list of what `each` gave, and of what `once`
    gave (None without one): rows (what, median, spread), verdicts (promise, bound, measured, whether it is kept), words of its own."""

    name: str
    each: typing.Callable = None
    once: typing.Callable = None
    rows: typing.Callable = lambda runs, whole: []
    verdicts: typing.Callable = lambda runs, whole: []
    words: typing.Callable = lambda runs, whole: ""
    conditions: typing.Callable = lambda bench: ""  # how it is measured, if not as the others are


@dataclasses.dataclass(frozen=True)
class Server:
    """A program that serves on the loopback, for as long as `Bench.serving` holds it."""

    pid: int
    ports: list

    @property
    def address(self):
        return f"127.0.0.1:{self.ports[0]}"

    def cpu_us(self):
        """CPU time of its first thread: of the loop, where it has one."""
        with open(f"/proc/{self.pid}/schedstat") as file:
            return int(file.read().split()[0]) / 1e3


class Bench:
    """What parts are measured with: programs of the folder `bin`, `runs` runs, `seconds` of each load, and `beside`, the program beside ours;
    benchmark maps of the folder `maps` (None: maps of the same kinds are generated), and what is made meanwhile in `folder`."""

    def __init__(self, bin, folder, runs, seconds, beside=None, maps=None):
        self.bin, self.folder, self.runs, self.seconds, self.beside, self.maps = bin, folder, runs, seconds, beside, maps

    def run(self, *command, core=None, environment=None, may_fail=False):
        """What a program prints. One that fails is an error; where it `may_fail`, one that printed nothing."""
        with pinned(core):
            run = subprocess.run(list(map(str, command)), capture_output=True, text=True, env={**os.environ, **(environment or {})})
        if run.returncode != 0 and not (may_fail and run.stdout):
            raise RuntimeError(f"{' '.join(map(str, command))}: exit status {run.returncode}: {run.stderr.strip()}")
        return run.stdout

    def tool(self, *words, **options):
        return self.run(os.path.join(self.bin, "tickpath"), *words, **options)

    def program(self, name, *words, **options):
        """The JSON object that a program of tests/bench prints."""
        return json.loads(self.run(os.path.join(self.bin, "tests", "bench", name), *words, **options))

    @contextlib.contextmanager
    def serving(self, *command, core=None, environment=None):
        """Starts a server whose last argument is the file it writes its ports into, and ends it on every way out."""
        port_file = command[-1]
        if os.path.exists(port_file):
            os.remove(port_file)
        with pinned(core):
            process = subprocess.Popen(command, stderr=subprocess.DEVNULL, env={**os.environ, **(environment or {})})
        try:
            until = time.monotonic() + START_S
            while not (os.path.exists(port_file) and os.path.getsize(port_file)):
                if process.poll() is not None or time.monotonic() > until:
                    raise RuntimeError(f"{command[0]} does not serve")
                time.sleep(0.01)
            with open(port_file) as file:
                yield Server(process.pid, file.read().split())
        finally:
            process.terminate()
            try:
                process.wait(timeout=END_S)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()

    @contextlib.contextmanager
    def redis(self, fsync):
        """A redis-server of its own with an append-only file in a folder of its own, synced as told; gives its URL. Debian's redis-tools has the
        server's program under another name, and it goes by the name it is called by."""
        program = shutil.which("redis-server") or shutil.which("redis-check-rdb")
        if not program:
            raise RuntimeError("no redis-server here")
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        with tempfile.TemporaryDirectory(dir=self.folder) as folder:
            process = subprocess.Popen(["redis-server", "--port", str(port), "--bind", "127.0.0.1", "--dir", folder, "--save", "", "--appendonly", "yes",
                                        "--appendfsync", fsync], executable=program, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            try:
                until = time.monotonic() + START_S
                while not answers(port):
                    if process.poll() is not None or time.monotonic() > until:
                        raise RuntimeError("redis-server does not serve")
                    time.sleep(0.01)
                yield f"redis://127.0.0.1:{port}/0"
            finally:
                process.kill()
                process.wait()

    def daemon(self, *options, **how):
        """A daemon of its own, ended with the block."""
        return self.serving(os.path.join(self.bin, "tickpathd"), "--listen", "127.0.0.1:0", "--stats", "127.0.0.1:0", *options,
                            "--port-file", os.path.join(self.folder, "port"), **how)

    def metric(self, daemon, name):
        """A number of the daemon's /metrics."""
        with urllib.request.urlopen(f"http://127.0.0.1:{daemon.ports[1]}/metrics", timeout=START_S) as page:
            for line in page.read().decode().splitlines():
                if line.startswith(name + " "):
                    return float(line.split()[1])
        raise RuntimeError(f"no metric {name}")

    def generated(self, options):
        """The path of the map that `tickpath map generate` makes with these options; made once."""
        path = os.path.join(self.folder, options.replace("--", "").replace(" ", "-") + ".map")
        if not os.path.exists(path):
            self.tool("map", "generate", *options.split(), "--out", path)
        return path

    def benchmark(self, name):
        """The path of a benchmark map, without .map."""
        return os.path.join(self.maps, name)


# The map that changes, which many sessions of several parts are on.
CITY = "--kind city --size 1024x1024 --seed 1"
ROWS = 40  # problems of a scenario


def problems(bench, name, kind):
    """(map, scenario, first, stride): ROWS problems of a benchmark map, or of one of that kind."""
    if not bench.maps:
        path = bench.generated(f"--kind {kind} --size 512x512 --seed 1")
        return path, drawn_problems(path, path[:-len("map")] + "scen"), 0, 1
    base = bench.benchmark(name)
    with open(base + ".scen") as file:
        count = sum(1 for line in file if line.strip()) - 1
    stride = max(1, count // ROWS)
    return base + ".map", base + ".scen", stride // 2, stride


def drawn_problems(map_path, path):
    """Writes random problems on a generated map. A scenario states optimal lengths; here each is the straight distance, for
    the speed does not depend on it."""
    rng = random.Random(7)
    with open(map_path) as file:
        rows = file.read().split("\n")[4:]
    height, width = len([r for r in rows if r]), len(rows[0])
    free = [(x, y) for y in range(height) for x in range(width) if rows[y][x] in ".GS"]
    with open(path, "w") as out:
        out.write("version 1\n")
        for _ in range(ROWS):
            (ax, ay), (bx, by) = rng.sample(free, 2)
            dx, dy = abs(ax - bx), abs(ay - by)
            octile = max(dx, dy) + 0.41421356 * min(dx, dy)
            out.write(f"0\t{os.path.basename(map_path)}\t{width}\t{height}\t{ax}\t{ay}\t{bx}\t{by}\t{octile:.8f}\n")
    return path


# ---- the machine ----


def answers(port):
    """Whether a redis-server answers there."""
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=1) as link:
            link.sendall(b"PING\r\n")
            return link.recv(16).startswith(b"+PONG")
    except OSError:
        return False


def processor():
    try:
        with open("/proc/cpuinfo") as info:
            for line in info:
                if line.startswith("model name"):
                    return line.split(":", 1)[1].strip()
    except OSError:
        pass
    return platform.processor() or "unknown processor"


def cores():
    """Processors of the server and of the client."""
    there = sorted(os.sched_getaffinity(0))
    return there[0], there[-1]


@contextlib.contextmanager
def pinned(core):
    """What is started meanwhile runs on that processor; None: where it may."""
    if core is None:
        yield
        return
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {core})
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


# ---- tables ----


def quantile(values, q):
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(len(ordered) * q))]


def spread(values, digits=2):
    return f"{min(values):.{digits}f} .. {max(values):.{digits}f}"


def median_row(words, values, digits=2):
    return words, f"{statistics.median(values):.{digits}f}", spread(values, digits)


def rows_table(rows):
    lines = ["| what | median | spread |", "|---|---|---|"]
    lines += [f"| {name} | {value} | {spread} |" for name, value, spread in rows]
    return "\n".join(lines)


def verdicts_table(verdicts):
    lines = ["| judged | bound | measured | |", "|---|---|---|---|"]
    lines += [f"| {promise} | {bound} | {measured} | {'PASS' if kept else 'FAIL'} |" for promise, bound, measured, kept in verdicts]
    return "\n".join(lines)
