"""The log that daemons share: how many batches of changes a second go through it, how soon they are acknowledged, and whether ticks feel that
snapshots of a large map are written meanwhile. Redis, daemons and load run on the same machine, over the loopback."""

import contextlib
import json
import statistics

from measure import Part

# Batches of four cells with a key each; a connection has one on its way.
CONNECTIONS, RATE, SECONDS = 256, 10000, 5
FSYNCS, DAEMONS = ("everysec", "always"), (1, 2)
# Ticks on a map whose snapshots are written one after the other: FOLDS changes to a snapshot, one change a frame.
LARGE, FOLDS, NO_FOLDS = "--kind city --size 4096x4096 --seed 1", 30, 1000000
TICKS = "--workload guided --alg tbwa --w 2 --agents 100 --k 4 --hz 30 --changes 10 --seconds 10"
AGENTS, FRAME_MS = 100, 1000 / 30


def conditions(bench):
    return (f"{CONNECTIONS} connections, batches of 4 cells with a key each; Redis with appendonly yes and appendfsync as named, no snapshots of its own; "
            f"{SECONDS} s a load; all on one machine")


@contextlib.contextmanager
def fleet(bench, count, *options):
    """So many daemons."""
    with contextlib.ExitStack() as stack:
        yield [stack.enter_context(bench.daemon("--threads", "1", *options)) for _ in range(count)]


def loads(bench):
    """Of each setting of Redis and number of daemons: as many as go through, and RATE a second."""
    figures = {}
    for fsync in FSYNCS:
        for count in DAEMONS:
            with bench.redis(fsync) as url, fleet(bench, count, "--redis", url) as daemons:
                ports = ",".join(d.ports[0] for d in daemons)
                figures[fsync, count] = [bench.program("log", ports, CONNECTIONS, SECONDS, rate) for rate in (0, RATE)]
    return figures


def ticks(bench, folds):
    """What frames cost while the map's snapshots are written each `folds` changes, and how many were."""
    with bench.redis("everysec") as url, bench.daemon("--threads", "1", "--redis", url, "--fold-batches", str(folds)) as daemon:
        figures = json.loads(bench.tool("load", "--json", "--map", bench.generated(LARGE), "--via", daemon.address, "--daemon-pid", daemon.pid,
                                        *TICKS.split(), may_fail=True))
        return {**figures, "snapshots": bench.metric(daemon, "tickpath_store_snapshots_total")}


def each(bench):
    return loads(bench), ticks(bench, NO_FOLDS), ticks(bench, FOLDS)


def named(fsync, count):
    return f"log of a shared Redis (appendfsync {fsync}), {count} daemon{'s' if count > 1 else ''}: "


def rows(runs, _):
    made = []
    for fsync in FSYNCS:
        for count in DAEMONS:
            for which, words in ((0, "as many as go through"), (1, f"{RATE:,} a second")):
                of = [run[0][fsync, count][which] for run in runs]
                for name, key, digits in (("batches a second", "per_s", 0), ("acknowledged, p50, ms", "p50_ms", 2), ("acknowledged, p99, ms", "p99_ms", 2)):
                    values = [f[key] for f in of]
                    made.append((f"{named(fsync, count)}{words}: {name}", f"{statistics.median(values):,.{digits}f}",
                                 f"{min(values):,.{digits}f} .. {max(values):,.{digits}f}"))
    for which, words in ((1, "no snapshots"), (2, "snapshots written all the time")):
        for name, key in (("CPU time of the loop a frame", "loop_cpu_us"), ("from the time a frame was due to its answer", "latency_us")):
            q = [run[which][key] for run in runs]
            made.append((f"{AGENTS} agents on a shared map of 4096x4096 cells, {words}: {name}, p99, ms", f"{statistics.median(f['p99'] for f in q) / 1e3:.2f}",
                         f"p50 {statistics.median(f['p50'] for f in q) / 1e3:.2f}, p99.9 {max(f['p99_9'] for f in q) / 1e3:.2f}, max {max(f['max'] for f in q) / 1e3:.2f}"))
    return made


def verdicts(runs, _):
    judged = []
    for fsync in FSYNCS:
        for count in DAEMONS:
            most = statistics.median(run[0][fsync, count][0]["per_s"] for run in runs)
            at_rate = [run[0][fsync, count][1] for run in runs]
            kept, p99 = statistics.median(f["per_s"] for f in at_rate), statistics.median(f["p99_ms"] for f in at_rate)
            judged.append((named(fsync, count) + "batches a second", f"at least {RATE:,}", f"{most:,.0f}; of {RATE:,} due a second {kept:,.0f}, p99 {p99:.1f} ms",
                           most >= RATE and kept >= 0.98 * RATE))
    written = min(run[2]["snapshots"] for run in runs)
    over = sum(run[2]["late"] + run[2]["intended"] - run[2]["answered"] for run in runs)
    cpu = [max(run[which]["loop_cpu_us"]["max"] for run in runs) / 1e3 for which in (1, 2)]
    frames = sum(run[2]["intended"] for run in runs)
    judged.append((f"a tick of {AGENTS} agents while snapshots of 4096x4096 cells are written: CPU time of the loop, longest", f"within the frame of {FRAME_MS:.1f} ms, none late",
                   f"{cpu[1]:.2f} ms (without snapshots {cpu[0]:.2f}); {over} late of {frames:,}; {written:.0f} snapshots or more a run",
                   cpu[1] < FRAME_MS and over == 0 and written >= 4))
    return judged


PART = Part("log", each=each, rows=rows, verdicts=verdicts, conditions=conditions)
