// The daemon itself, as /stats tells of it: which one it is, how it is, and the slowest of its last ticks.

import {short, time} from "./charts.js";

const EVERY_MS = 5000;

function bytes(count) {
    for (const [least, unit] of [[2 ** 30, "GiB"], [2 ** 20, "MiB"], [2 ** 10, "KiB"]])
        if (count >= least)
            return (count / least).toFixed(count >= least * 10 ? 0 : 1) + " " + unit;
    return count + " B";
}

function span(seconds) {
    const units = [[86400, "d"], [3600, "h"], [60, "min"]], at = units.findIndex(([least]) => seconds >= least);
    if (at < 0)
        return `${Math.floor(seconds)} s`;
    const [least, unit] = units[at], [below, small] = units[at + 1] ?? [1, "s"];
    return `${Math.floor(seconds / least)} ${unit} ${Math.floor(seconds % least / below)} ${small}`;
}

const sum = (counts) => Object.values(counts).reduce((all, count) => all + count, 0);

function facts(stats) {
    const numbers = stats.metrics, slow = stats.slow_ticks[0], errors = sum(numbers.errors);
    const pairs = [["version", stats.version], ["up", span(numbers.uptime_seconds)]];
    if (stats.not_ready_because.length > 0)
        pairs.push(["not ready", stats.not_ready_because.join(", ")]);
    pairs.push(["store", stats.store.name + (stats.store.volatile ? ", lost at a restart" : "")]);
    if (stats.store.degraded)
        pairs.push(["degraded", stats.store.degraded]);
    pairs.push(["threads", numbers.threads], ["connections", short(numbers.connections_open)], ["maps", short(stats.maps.length)]);
    pairs.push(["sessions", short(sum(numbers.sessions_open))]);
    if (numbers.resident_bytes > 0)
        pairs.push(["memory", bytes(numbers.resident_bytes)]);
    pairs.push(["search memory", bytes(numbers.node_bytes) + (Number.isFinite(numbers.node_bytes_max) ? ` of ${bytes(numbers.node_bytes_max)}` : "")]);
    if (errors > 0)
        pairs.push(["errors answered", short(errors)]);
    if (slow)
        pairs.push(["slowest tick", `${time(slow.seconds * 1e6)}: ${slow.why.join(", ")}`]);
    return pairs;
}

// Asks again and again while the page is seen; `show` gets pairs of words. One that does not answer leaves what was shown.
export async function watchDaemon(show) {
    if (!document.hidden)
        try {
            const answer = await fetch("/stats");
            if (answer.ok)
                show(facts(await answer.json()));
        } catch {
            // the stream says that the daemon is gone
        }
    setTimeout(() => watchDaemon(show), EVERY_MS);
}
