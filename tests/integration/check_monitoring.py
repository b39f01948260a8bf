#!/usr/bin/env python3
"""deploy/prometheus/ and deploy/grafana/ against a real daemon: promtool takes the files and the rules do what their tests say; every query
of rules and dashboard names numbers that the daemon has, with their types and labels; and a real Prometheus, with the configuration
of the file, scrapes a daemon under a known load, has its numbers, and answers every query. Prints totals in Check's form."""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import urllib.parse

import yaml

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(ROOT, "tests", "lib"))
import deployed  # noqa: E402
import promql  # noqa: E402
from checks import check, close  # noqa: E402
from processes import Processes, free_ports, http, wait_for  # noqa: E402

BIN = os.path.join(ROOT, os.environ.get("TICKPATH_BIN") or "build")
RULES = os.path.join(deployed.DEPLOY, "prometheus", "tickpath.rules.yml")
AGENTS = 20
# What there is only while something is wrong: these queries end with "> 0".
MAY_BE_EMPTY = re.compile(r"> 0$")


def promtool(*words, text=None):
    done = subprocess.run(["promtool", *words], input=text, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=60, check=False)
    check(done.returncode == 0, "promtool %s:\n%s" % (" ".join(words[:2]), done.stdout))


def rules():
    with open(RULES, encoding="utf-8") as file:
        return [rule for group in yaml.safe_load(file)["groups"] for rule in group["rules"]]


def dashboard():
    with open(os.path.join(deployed.DEPLOY, "grafana", "tickpath.json"), encoding="utf-8") as file:
        return json.load(file)


def dashboard_queries(board):
    """[(panel's title, query, legend)]"""
    return [(panel["title"], target["expr"], target["legendFormat"]) for panel in board["panels"] for target in panel.get("targets", [])]


# ---- what is asked for is there ----

# Queries with a fault each, which must be seen.
FAULTY = (
    "rate(tickpath_no_such_total[1m])",
    "rate(tickpath_maps[1m])",
    "tickpath_moves_total",
    "rate(tickpath_moves_total)",
    "tickpath_maps[1m]",
    'tickpath_sessions_open{algorithm="no-such"}',
    'rate(tickpath_errors_total{code=~"INTERNAL|NO_SUCH"}[1m])',
    'tickpath_maps{algorithm="guided"}',
    "sum by (algorithm) (tickpath_maps)",
    "histogram_quantile(0.9, sum by (instance) (rate(tickpath_tick_seconds_bucket[1m])))",
    "histogram_quantile(0.9, sum by (le) (rate(tickpath_tick_seconds_count[1m])))",
    "rate(tickpath_tick_seconds[1m])",
    "rate(tickpath_moves_total_sum[1m])",
    "1 + 1",
)


def check_queries(numbers, board):
    for query in FAULTY:
        check(promql.faults(query, numbers), "nothing is found wrong with %s" % query)
    recorded = {rule["record"]: rule["expr"] for rule in rules() if "record" in rule}
    asked = [(rule.get("alert") or rule["record"], rule["expr"]) for rule in rules()]
    asked += [(title, query) for title, query, _ in dashboard_queries(board)]
    asked += [(each["name"], each["query"]["query"].partition("(")[2].partition(",")[0]) for each in board["templating"]["list"] if each["type"] == "query"]
    asked += [(each["name"], each["expr"]) for each in board["annotations"]["list"]]
    for name, query in asked:
        plain = query.replace("[$__rate_interval]", "[1m]").replace('"$instance"', '".*"')
        wrong = promql.faults(plain, numbers, recorded)
        check(not wrong and "$" not in plain, "%s: %s: %s" % (name, query, "; ".join(wrong)))
    causes = re.findall(r"^\| `(\w+)` \|", deployed.read("deploy", "OPERATING.md").partition("\n| why |")[2].partition("\n\n")[0], re.MULTILINE)
    check(set(causes) == numbers["tickpath_slow_causes_total"].labels["cause"], "OPERATING.md tells of the causes %s" % causes)
    check(len(asked) > 60, "only %d queries were looked at" % len(asked))


def check_alerts():
    alerts = [rule for rule in rules() if "alert" in rule]
    told = re.findall(r"^\| `(Tickpath\w+)` ", deployed.read("deploy", "OPERATING.md"), re.MULTILINE)
    check(sorted(told) == sorted(rule["alert"] for rule in alerts), "OPERATING.md tells of the alerts %s" % sorted(told))
    tested = deployed.read("deploy", "prometheus", "tickpath.test.yml")
    for rule in alerts:
        check(rule["labels"]["severity"] in ("warning", "critical"), "%s: %s" % (rule["alert"], rule["labels"]))
        check('alertname="%s"' % rule["alert"] in tested, "%s is never seen to call" % rule["alert"])
        known = promql.labels_of(rule["expr"]) or {"instance", "job", "code", "reason"}
        for words in rule["annotations"].values():
            used = set(re.findall(r"\$labels\.(\w+)", words))
            check(used <= known, "%s writes the labels %s; it has %s" % (rule["alert"], used, known))


def check_board(board):
    taken = set()
    ids = [panel["id"] for panel in board["panels"]]
    check(len(set(ids)) == len(ids), "two panels of one id")
    for panel in board["panels"]:
        at = panel["gridPos"]
        cells = {(x, y) for x in range(at["x"], at["x"] + at["w"]) for y in range(at["y"], at["y"] + at["h"])}
        check(not cells & taken and at["x"] + at["w"] <= 24, "the panel %s lies on another, or outside" % panel["title"])
        taken |= cells
    for title, query, legend in dashboard_queries(board):
        used = set(re.findall(r"\{\{(\w+)\}\}", legend))
        has = promql.labels_of(query) or {"instance"}
        check(used <= has, "%s: the legend %s of %s" % (title, legend, query))
    variables = {each["name"] for each in board["templating"]["list"]}
    used = set(re.findall(r"\$\{?([a-z]\w*)", json.dumps(board))) - {"labels"}
    check(used == variables, "the dashboard has the variables %s and uses %s" % (variables, used))


def check_provisioned():
    """Grafana's files, with one another and with compose.yaml."""
    service = deployed.compose()["services"]["grafana"]
    mounts = dict(volume.split(":")[:2] for volume in service["volumes"] if volume.startswith("."))
    where = {os.path.basename(source): target for source, target in mounts.items()}
    provider = yaml.safe_load(deployed.read("deploy", "grafana", "dashboards.yml"))["providers"][0]
    check(os.path.dirname(where["tickpath.json"]) == provider["options"]["path"], "the dashboard is at %s, looked for in %s" % (where, provider["options"]))
    for name in ("datasources", "dashboards"):
        check(where[name + ".yml"].startswith("/etc/grafana/provisioning/%s/" % name), "%s.yml is at %s" % (name, where[name + ".yml"]))
    source = yaml.safe_load(deployed.read("deploy", "grafana", "datasources.yml"))["datasources"][0]
    check(source["url"] == "http://prometheus:9090" and "prometheus" in deployed.compose()["services"], "Grafana asks %s" % source["url"])


# ---- a real Prometheus ----


class Prometheus:
    def __init__(self, processes, folder, daemon_stats):
        self.port = free_ports(1)[0]
        config = yaml.safe_load(deployed.read("deploy", "prometheus", "prometheus.yml"))
        config["global"].update(scrape_interval="200ms", scrape_timeout="200ms", evaluation_interval="200ms")
        config["rule_files"] = [RULES]
        config["scrape_configs"] = [job for job in config["scrape_configs"] if job["job_name"] == "tickpathd"]
        config["scrape_configs"][0]["static_configs"] = [{"targets": ["127.0.0.1:%d" % daemon_stats]}]
        path = os.path.join(folder, "prometheus.yml")
        with open(path, "w", encoding="utf-8") as file:
            yaml.safe_dump(config, file)
        address = "--web.listen-address=127.0.0.1:%d" % self.port
        command = ["prometheus", "--config.file=" + path, "--storage.tsdb.path=" + os.path.join(folder, "tsdb"), address]
        self.process = processes.start("prometheus", command)

    def ask(self, query):
        """The rows of an answer: [(labels, value)]. None, with what Prometheus says, when it refuses."""
        status, text = http(self.port, "/api/v1/query?" + urllib.parse.urlencode({"query": query}))
        if status != 200:
            return None, text
        return [(row["metric"], float(row["value"][1])) for row in json.loads(text)["data"]["result"]], text

    def value(self, query):
        rows, _ = self.ask(query)
        return rows[0][1] if rows else None


def check_scraped(processes, folder, daemon_stats, load, board):
    prometheus = Prometheus(processes, folder, daemon_stats)
    up = wait_for(lambda: prometheus.value('up{job="tickpathd"}') == 1)
    if not check(up, "Prometheus does not scrape the daemon:\n%s" % prometheus.process.log()[-2000:]):
        return
    seen = prometheus.value("tickpath_tick_seconds_count") or 0
    check(wait_for(lambda: (prometheus.value("tickpath_tick_seconds_count") or 0) > seen + 10), "Prometheus sees no ticks")
    check(prometheus.value("sum(tickpath_sessions_open)") == AGENTS, "%s sessions are open" % prometheus.value("sum(tickpath_sessions_open)"))
    check(wait_for(lambda: prometheus.value("tickpath:tick_seconds:p99") is not None), "the rules make no p99")
    for title, query, _ in dashboard_queries(board):
        rows, text = prometheus.ask(query.replace("$__rate_interval", "10s").replace("$instance", ".*"))
        check(rows is not None and (rows or MAY_BE_EMPTY.search(query)), "%s: %s: %s" % (title, query, text[:300]))
    for rule in rules():
        rows, text = prometheus.ask(rule["expr"])
        check(rows is not None, "%s: %s" % (rule.get("alert") or rule["record"], text[:300]))
    load.terminate()
    load.wait()
    wait_for(lambda: prometheus.value("sum(tickpath_sessions_open)") == 0)
    # What it has now, beside what is known: each agent was ticked in each tick, and all of them were opened once.
    ticks, agents = prometheus.value("tickpath_tick_seconds_count"), prometheus.value("sum(tickpath_statuses_total)")
    check(ticks and agents == AGENTS * ticks, "%s agents were answered in %s ticks" % (agents, ticks))
    check(prometheus.value("tickpath_sessions_opened_total") == AGENTS, "Prometheus has not the sessions opened")
    check(prometheus.value("tickpath_maps_put_total") == 1, "Prometheus has not the map put")
    page = promql.exposition(http(daemon_stats, "/metrics")[1])
    names = json.loads(http(prometheus.port, "/api/v1/label/__name__/values")[1])["data"]
    parts = {"histogram": ("_bucket", "_sum", "_count")}
    wanted = {name + part for name, family in page.items() for part in parts.get(family.kind, ("",))}
    check(wanted <= set(names), "Prometheus lacks %s" % sorted(wanted - set(names)))
    prometheus.process.terminate()
    check(prometheus.process.wait() == 0, "Prometheus ended badly")


def main():
    promtool("check", "config", os.path.join(deployed.DEPLOY, "prometheus", "prometheus.yml"))
    promtool("check", "rules", RULES)
    promtool("test", "rules", os.path.join(deployed.DEPLOY, "prometheus", "tickpath.test.yml"))
    board = dashboard()
    check_alerts()
    check_board(board)
    check_provisioned()
    folder = tempfile.mkdtemp(prefix="tickpath-monitoring-")
    try:
        with Processes(folder) as processes:
            port, stats = free_ports(2)
            daemon = processes.start("daemon", [os.path.join(BIN, "tickpathd"), "--listen", "127.0.0.1:%d" % port, "--stats", "127.0.0.1:%d" % stats])
            check(wait_for(lambda: http(stats, "/readyz")[0] == 200), "the daemon is not ready:\n%s" % daemon.log())
            words = ["load", "--via", "127.0.0.1:%d" % port, "--agents", AGENTS, "--size", "64x64", "--hz", 50, "--seconds", 60]
            load = processes.start("load", [os.path.join(BIN, "tickpath"), *map(str, words)])
            page = http(stats, "/metrics")[1]
            promtool("check", "metrics", text=page)
            check_queries(promql.exposition(page), board)
            check_scraped(processes, folder, stats, load, board)
            daemon.terminate()
            check(daemon.wait() == 0, "the daemon ended badly:\n%s" % daemon.log())
    finally:
        shutil.rmtree(folder)
    return close()


if __name__ == "__main__":
    sys.exit(main())
