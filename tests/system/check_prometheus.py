#!/usr/bin/env python3
"""A real Prometheus scrapes a daemon while agents walk: what it answers is what the agents' own table says. promtool and the reference parser of
OpenMetrics read both forms of /metrics, and a validator of JSON Schema reads /stats. Prints totals in Check's form."""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import urllib.parse
import urllib.request

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(ROOT, "tests", "lib"))
import jsonschema  # noqa: E402
from checks import check, close  # noqa: E402
from processes import Processes, free_ports, http, wait_for  # noqa: E402
from prometheus_client.openmetrics.parser import text_string_to_metric_families  # noqa: E402

BIN = os.path.join(ROOT, os.environ.get("TICKPATH_BIN") or "build")
AGENTS = 20
CONFIG = """
global: {scrape_interval: 200ms, scrape_timeout: 200ms}
scrape_configs: [{job_name: tickpath, static_configs: [{targets: ["127.0.0.1:%d"]}]}]
"""


def tool(*words):
    done = subprocess.run([os.path.join(BIN, "tickpath"), *words], capture_output=True, text=True, timeout=60, check=False)
    check(done.returncode == 0, "tickpath %s ends with %d: %s" % (" ".join(words), done.returncode, done.stderr))
    return done.stdout


def numbers(table, pattern):
    """The numbers that a line of the tool's table has at the groups of the pattern."""
    found = re.search(pattern, table, re.MULTILINE)
    check(found, "no line of the table is as %s:\n%s" % (pattern, table))
    return [int(number) for number in found.groups()] if found else [-1] * pattern.count("(")


def ask(port, query):
    """What Prometheus answers to a query: [(labels, value)]; None when it does not."""
    status, text = http(port, "/api/v1/query?" + urllib.parse.urlencode({"query": query}))
    if status != 200:
        return None
    return [(row["metric"], float(row["value"][1])) for row in json.loads(text)["data"]["result"]]


def one(port, query):
    rows = ask(port, query)
    return rows[0][1] if rows and len(rows) == 1 else None


def metrics(port, accept):
    request = urllib.request.Request("http://127.0.0.1:%d/metrics" % port, headers={"Accept": accept})
    with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(request, timeout=5) as answer:
        return answer.headers["Content-Type"], answer.read().decode()


def documented():
    """The names of daemon/stats/METRICS.md, with the types that they have."""
    with open(os.path.join(ROOT, "daemon", "stats", "METRICS.md"), encoding="utf-8") as page:
        return dict(re.findall(r"^\| `(tickpath_\w+)[^|]*\| (\w+) \|", page.read(), re.MULTILINE))


def check_exposition(stats, promtool):
    kind, text = metrics(stats, "text/plain")
    check(kind.startswith("text/plain; version=0.0.4"), "the text has the type " + kind)
    read = subprocess.run([promtool, "check", "metrics"], input=text, capture_output=True, text=True, timeout=30, check=False)
    check(read.returncode == 0 and not read.stdout + read.stderr, "promtool says: %s%s" % (read.stdout, read.stderr))
    bad = subprocess.run([promtool, "check", "metrics"], input=text.replace("_seconds", "_us"), capture_output=True, text=True, timeout=30, check=False)
    check(bad.returncode != 0, "promtool takes anything")
    check(dict(re.findall(r"^# TYPE (\w+) (\w+)$", text, re.MULTILINE)) == documented(), "METRICS.md lists other metrics than the daemon has")

    kind, text = metrics(stats, "application/openmetrics-text; version=1.0.0")
    check(kind.startswith("application/openmetrics-text; version=1.0.0"), "OpenMetrics has the type " + kind)
    families = {family.name: family for family in text_string_to_metric_families(text)}
    check(families["tickpath_build"].type == "info", "the build is no info")
    check(families["tickpath_tick_seconds"].unit == "seconds", "times have the unit %s" % families["tickpath_tick_seconds"].unit)
    check(len(families) == len(documented()), "OpenMetrics has %d families" % len(families))


def check_stats(stats):
    with open(os.path.join(ROOT, "daemon", "stats", "stats.schema.json"), encoding="utf-8") as file:
        schema = json.load(file)
    jsonschema.Draft202012Validator.check_schema(schema)
    validator = jsonschema.Draft202012Validator(schema)
    told = json.loads(http(stats, "/stats")[1])
    faults = ["%s: %s" % ("/".join(map(str, fault.absolute_path)), fault.message[:200]) for fault in validator.iter_errors(told)]
    check(not faults, "/stats is not of its schema: %s" % faults)
    # every name that it answers is one that the schema knows, or that METRICS.md lists
    names = {re.sub(r"^tickpath_|_total$", "", name) for name in documented()}
    check(set(told) == set(schema["properties"]), "/stats has %s" % sorted(told))
    check(set(told["metrics"]) == names, "its metrics are not those of METRICS.md: %s" % sorted(set(told["metrics"]) ^ names))
    check(told["by_thread"]["loop0"].keys() < names and "world" in told["by_thread"], "its threads are %s" % list(told["by_thread"]))
    # and it holds something that the schema would refuse
    for path, worse in (("ready", 1), ("maps", [{}]), ("metrics", {}), ("store", {"name": "tape"}), ("not_ready_because", None)):
        check(not validator.is_valid({**told, path: worse}), "the schema takes %s as %s" % (worse, path))
    told["metrics"]["tick_seconds"]["buckets"] = [[1, 0]]
    check(not validator.is_valid(told), "the schema takes an empty bucket")


def check_resident(stats, pid):
    """The whole process' memory is what the system says of it, but for what comes between two looks."""
    with open("/proc/%d/statm" % pid, encoding="ascii") as file:
        pages = int(file.read().split()[1])
    told = json.loads(http(stats, "/stats")[1])["metrics"]["resident_bytes"]
    check(abs(told - pages * os.sysconf("SC_PAGESIZE")) < 16 << 20, "%d bytes are resident, told are %d" % (pages * os.sysconf("SC_PAGESIZE"), told))


def check_workload(folder, stats, daemon_port, prometheus):
    up = wait_for(lambda: one(prometheus, "up") == 1)
    check(up, "Prometheus does not reach the daemon")
    check(one(prometheus, "tickpath_statuses_total{status='MOVING'}") == 0, "there are moves before anybody moved")
    city = os.path.join(folder, "city.map")
    tool("map", "generate", "--kind", "city", "--size", "64x64", "--seed", "7", "--out", city)
    table = tool("run", "--map", city, "--via", "127.0.0.1:%d" % daemon_port, "--agents", str(AGENTS), "--seed", "3")
    moves, back_moves = numbers(table, r"^moves +(\d+), of them (\d+) back-moves")
    arrived, under_way, resting = numbers(table, r"^agents +\d+: (\d+) arrived") + numbers(table, r"^ticks .*; (\d+) agent ticks under way, (\d+) of")
    check(arrived == AGENTS, "of the agents %d arrive" % arrived)
    due = {
        "sum(tickpath_sessions_open)": 0,
        "tickpath_sessions_opened_total": AGENTS,
        "tickpath_sessions_closed_total": AGENTS,
        "tickpath_moves_total": moves,
        "tickpath_back_moves_total": back_moves,
        "tickpath_arrivals_total": AGENTS,
        "tickpath_restarts_total": numbers(table, r"^restarts +(\d+)")[0],
        "tickpath_guide_expansions_total": numbers(table, r"^guide +(\d+) units")[0],
        "tickpath_tick_seconds_count": numbers(table, r"^ticks +(\d+) requests")[0],
        "tickpath_tick_sessions_sum": under_way + resting,
        "sum(tickpath_tick_sessions_sum) == bool sum(tickpath_statuses_total)": 1,
        "tickpath_expansions_total": numbers(table, r"^expansions +(\d+),")[0],
        "tickpath_expansions_total == bool tickpath_tick_expansions_sum": 1,
        "sum(tickpath_errors_total)": 0,
        "tickpath_batches_applied_total > bool 0": 1,
        "tickpath_ready": 1,
        # what an alert or a dashboard asks
        "histogram_quantile(0.99, rate(tickpath_tick_seconds_bucket[1m])) < bool 10": 1,
        "rate(tickpath_moves_total[1m]) > bool 0": 1,
    }
    for query, value in due.items():
        got = wait_for(lambda q=query, v=value: one(prometheus, q) == v, 5)
        check(got, "%s is %s, not %s" % (query, ask(prometheus, query), value))
    codes = ask(prometheus, "tickpath_errors_total")
    check(len(codes) > 20 and {"NOT_FOUND", "MALFORMED_FRAME"} < {labels["code"] for labels, _ in codes}, "the codes are %s" % codes)


def main():
    path = os.environ.get("PATH", "/usr/bin:/bin") + ":/usr/sbin:/sbin"
    programs = [shutil.which(name, path=path) for name in ("prometheus", "promtool")]
    if not check(all(programs), "prometheus is not here; deploy/install-deps.sh installs it"):
        return
    with tempfile.TemporaryDirectory() as folder, Processes(folder) as processes:
        port, stats, prometheus = free_ports(3)
        daemon = processes.start(
            "daemon", [os.path.join(BIN, "tickpathd"), "--listen", "127.0.0.1:%d" % port, "--stats", "127.0.0.1:%d" % stats, "--threads", "2"])
        if not check(wait_for(lambda: http(stats, "/readyz")[0] == 200), "the daemon does not get ready:\n" + daemon.log()):
            return
        config = os.path.join(folder, "prometheus.yml")
        with open(config, "w", encoding="utf-8") as file:
            file.write(CONFIG % stats)
        server = processes.start("prometheus", [
            programs[0], "--config.file=" + config, "--storage.tsdb.path=" + os.path.join(folder, "tsdb"),
            "--web.listen-address=127.0.0.1:%d" % prometheus, "--log.level=warn"])
        check_exposition(stats, programs[1])
        if check(wait_for(lambda: http(prometheus, "/-/ready")[0] == 200), "Prometheus does not start:\n" + server.log()):
            check_workload(folder, stats, port, prometheus)
        check_stats(stats)
        check_resident(stats, daemon.pid)
        daemon.terminate()
        check(daemon.wait() == 0, "the daemon ends with %s:\n%s" % (daemon.wait(0), daemon.log()))


if __name__ == "__main__":
    main()
    sys.exit(close())
