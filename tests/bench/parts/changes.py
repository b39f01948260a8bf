"""Maps that change under sessions that tick: what a tick of all costs then, what a batch of changes costs, what old versions hold."""

import statistics

from measure import CITY, Part, median_row, quantile

# Sessions; frames of 50 ms on the map that stays and on the one that changes, and in the run whose resident bytes are read. Over
# all runs there are at least so many frames on the changing map that its p99.9 is no maximum.
SESSIONS, STILL_FRAMES, CHANGING_FRAMES, MEMORY_FRAMES = 1000, 120, 400, (20, 60)
FRAMES_JUDGED = 2000
STREAM_SESSIONS, STREAM_SECONDS = 100, 3
# Each tile of a map's version is then given back to the system when it is freed: resident bytes tell what is in use.
COUNTED = {"MALLOC_MMAP_THRESHOLD_": "4000", "MALLOC_MMAP_MAX_": "60000", "MALLOC_TRIM_THRESHOLD_": "0"}


def run_of(bench, what, *numbers, environment=None):
    """One run of tests/bench/changes against a daemon of its own."""
    with bench.daemon("--threads", "2", environment=environment) as daemon:
        return bench.program("changes", what, *daemon.ports[:2], daemon.pid, bench.generated(CITY), *numbers)


def each(bench):
    """What ticks and batches take, what is resident, and how many changes a second are taken."""
    frames = max(CHANGING_FRAMES, -(-FRAMES_JUDGED // bench.runs))
    return (run_of(bench, "steady", SESSIONS, STILL_FRAMES, frames),
            run_of(bench, "steady", SESSIONS, *MEMORY_FRAMES, environment=COUNTED),
            run_of(bench, "stream", STREAM_SESSIONS, STREAM_SECONDS))


def all_of(runs, name):
    return [value for run in runs for value in run[name]]


def held_mib(runs, name):
    return [run[name] / 1048576 for run in runs]


def quantiles(values):
    return f"{quantile(values, 0.999):.1f}", f"p50 {statistics.median(values):.1f}, max {max(values):.1f}"


def rows(runs, _):
    steady, memory, stream = zip(*runs)
    changing = all_of(steady, "changing_ms")
    name = f"{SESSIONS} sessions, R = 100, 100,000 cells changed each second: "

    def row(words, values):
        return median_row(name + words, values)

    return [
        row("the loop's CPU time for a tick of all, unchanged map, p50, ms", [statistics.median(f["still_ms"]) for f in steady]),
        (name + f"the same on the changing map, p99.9 of {len(changing):,}, ms", *quantiles(changing)),
        (name + "wall time of a tick of all, seen by the client, p99.9, unchanged map, ms", *quantiles(all_of(steady, "still_wall_ms"))),
        (name + "the same on the changing map, ms", *quantiles(all_of(steady, "changing_wall_ms"))),
        row("a batch, from its arrival at the world to its acknowledgement, wall, ms", all_of(steady, "applied_ms")),
        row("a batch, CPU time of the world thread, ms", all_of(steady, "world_cpu_ms")),
        row("a batch, the world thread's wait for a processor from the sending on, ms", all_of(steady, "world_wait_ms")),
        row("MiB held by versions of the map, before", held_mib(steady, "held_base")),
        row("MiB held by versions of the map, at most, with some sessions that stay on old ones", held_mib(steady, "held_most")),
        row("MiB held by versions of the map, after the last reader left", held_mib(steady, "held_after")),
        row("resident MiB besides search memory, before", [f["mib_before"] for f in memory]),
        row("resident MiB besides search memory, while it changes, sessions included", [f["mib_under"] for f in memory]),
        row("resident MiB besides search memory, after the last reader left", [f["mib_after"] for f in memory]),
        median_row(f"single-cell changes a second in batches of 1,000, one connection, {STREAM_SESSIONS} sessions ticking, million",
                   [f["changes_per_s"] / 1e6 for f in stream]),
    ]


def verdicts(runs, _):
    """What changing maps promise."""
    steady, memory, stream = zip(*runs)
    relative = [value / statistics.median(f["still_ms"]) for f in steady for value in f["changing_ms"]]
    ratio = quantile(relative, 0.999)
    applied, cpu = all_of(steady, "applied_ms"), all_of(steady, "world_cpu_ms")
    everywhere = steady + memory + stream
    over, ticks = sum(f["over_budget"] for f in everywhere), sum(f["agent_ticks"] for f in everywhere)
    left = [int(f["held_after"] - f["held_base"]) for f in everywhere]
    kept = [int(f["versions_after"] - f["versions_base"]) for f in everywhere]
    rose = min(f["held_most"] - f["held_base"] for f in steady + memory)
    slowest = min(f["changes_per_s"] for f in stream)
    lost = sum(f["batches_sent"] - f["batches_applied"] for f in stream)
    return [
        ("agent ticks that spent more than their budget", "0", f"{over:,} of {ticks:,}", over == 0),
        ("CPU time of the loop's tick on the changing map, p99.9, by the p50 on the unchanged one", "at most 2",
         f"{ratio:.2f} of {len(relative):,} frames", ratio <= 2 and len(relative) >= FRAMES_JUDGED),
        ("batch of 100,000 cells applied, wall time, median", "below 10 ms",
         f"{statistics.median(applied):.2f} ms (longest {max(applied):.2f})", statistics.median(applied) < 10),
        ("batch of 100,000 cells applied, CPU time, longest", "below 10 ms", f"{max(cpu):.2f} ms", max(cpu) < 10),
        ("bytes of old versions left when their last reader is gone", "0 bytes, 0 versions",
         f"{max(left, key=abs):,} bytes, {max(kept, key=abs)} versions (held meanwhile: {rose / 1048576:.2f} MiB or more)",
         not any(left) and not any(kept) and rose > 0),
        (f"single-cell changes a second, {STREAM_SESSIONS} sessions ticking, slowest run", "at least 1,000,000",
         f"{slowest:,.0f}, {lost:.0f} batches lost", slowest >= 1e6 and lost == 0),
    ]


PART = Part("changes", each=each, rows=rows, verdicts=verdicts)
