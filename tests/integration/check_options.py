#!/usr/bin/python3
"""The options that /stats shows: all that --help lists and no other, each with the value that holds, whoever gave it; after SIGHUP the new ones of
those that are live and the old ones of the others; secrets nowhere; the daemon asked while it reads its file over and over. Prints totals in Check's form."""

import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import threading
import urllib.request

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(ROOT, "tests", "lib"))
import jsonschema  # noqa: E402
from checks import check, close  # noqa: E402
from processes import Processes, free_ports, http, wait_for  # noqa: E402

BIN = os.path.join(ROOT, os.environ.get("TICKPATH_BIN") or "build")
DAEMON = os.path.join(BIN, "tickpathd")
TOKEN, NEXT_TOKEN = "first-token-0123456789", "second-token-9876543210"
LOGIN = "operator:p@ss/word?%20"  # as a password may be, but for what has to be %-coded
RELOADS = 60
SCHEMA = json.load(open(os.path.join(ROOT, "daemon", "stats", "stats.schema.json"), encoding="utf-8"))


def ask(port, token):
    """(the options that are told, the whole body)"""
    request = urllib.request.Request("http://127.0.0.1:%d/stats" % port, headers={"Authorization": "Bearer " + token})
    with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(request, timeout=10) as answer:
        body = answer.read().decode()
    return json.loads(body)["options"], body


def listed():
    """{option: whether it is live} of --help."""
    text = subprocess.run([DAEMON, "--help"], capture_output=True, text=True, timeout=30, check=True).stdout
    found = re.findall(r"^  --([a-z-]+) (\S+)? +(\(live\) )?", text, re.MULTILINE)
    return {name: bool(live) for name, _, live in found if name not in ("help", "version", "check-config")}


def write(path, text):
    with open(path + "~", "w", encoding="utf-8") as file:
        file.write(text)
    os.replace(path + "~", path)


def expect(options, due):
    for name, value in due.items():
        told = {key: of for key, of in options[name].items() if key != "live"}
        wanted = value if isinstance(value, dict) else {"value": value}
        check(told == wanted, "%s is told as %s, not %s" % (name, told, wanted))


def reloads(port):
    return int(float(re.search(r'config_reloads_total\{outcome="ok"\} (\S+)', http(port, "/metrics")[1]).group(1)))


def reload(daemon, port):
    before = reloads(port)
    os.kill(daemon.pid, signal.SIGHUP)
    check(wait_for(lambda: reloads(port) > before), "SIGHUP is not heard")


def check_values(folder, processes):
    port, stats, redis = free_ports(3)
    config = os.path.join(folder, "tickpathd.conf")
    write(config, "threads = 2\nsessions-max = 7\nslow-tick-us = 99\nmaps-max = 5\nlog-format = json\nstats-token = %s\n" % TOKEN)
    # a password's @ and : may stand as they are; / and ? end where it stands
    login = LOGIN.replace("/", "%2F").replace("?", "%3F")
    url = "redis://%s@127.0.0.1:%d/3?prefix=night:" % (login, redis)
    command = [DAEMON, "--config", config, "--listen", "127.0.0.1:%d" % port, "--stats", "127.0.0.1:%d" % stats, "--maps-max=6"]
    daemon = processes.start("values", command, {"TICKPATHD_REDIS": url, "TICKPATHD_SLOW_TICK_US": "98"})
    if not check(wait_for(lambda: http(stats, "/livez")[0] == 200), "no daemon: " + daemon.log()):
        return
    options, body = ask(stats, TOKEN)
    jsonschema.Draft202012Validator({**SCHEMA["properties"]["options"], "$defs": SCHEMA["$defs"]}).validate(options)
    check({name: option["live"] for name, option in options.items()} == listed(), "other options are told than --help lists: %s" % options)
    due = {
        "config": config,
        "listen": "127.0.0.1:%d" % port,
        "stats": "127.0.0.1:%d" % stats,
        "threads": 2,                          # of the file
        "sessions-max": 7,
        "slow-tick-us": 98,                    # the variable's, over the file's
        "maps-max": 6,                         # the command line's, over the file's
        "node-bytes-max": 4294967296,          # nobody's
        "data": "",
        "log-level": "info",
        "log-format": "json",
        "stats-token": {"set": True},
        "redis": "redis://127.0.0.1:%d/3?prefix=night:&wait=0" % redis,
    }
    expect(options, due)
    secrets = [TOKEN, NEXT_TOKEN, LOGIN, login, "operator", "p@ss", "word"]
    check(not any(secret in body for secret in secrets), "a secret is told: " + body)

    write(config, "threads = 1\nsessions-max = 8\nlog-level = warn\nlog-format = pairs\nslow-tick-us = 5\nstats-token = %s\n" % NEXT_TOKEN)
    reload(daemon, stats)
    options, body = ask(stats, NEXT_TOKEN)
    expect(options, {**due, "sessions-max": 8, "log-level": "warn", "log-format": "pairs"})
    check(not any(secret in body for secret in secrets), "a secret is told: " + body)
    check(not any(secret in daemon.log() for secret in secrets), "a secret is logged: " + daemon.log())

    write(config, "sessions-max = 9\n")  # and no token: the port is loopback's
    reload(daemon, stats)
    options, _ = ask(stats, "")
    expect(options, {**due, "sessions-max": 9, "log-format": "pairs", "stats-token": {"set": False}})
    daemon.terminate()
    check(daemon.wait() == 0, "the daemon ends with %s: %s" % (daemon.wait(0), daemon.log()))


def check_odd_texts(folder, processes):
    """A path of arbitrary bytes, and an IPv6 address: the answer is JSON all the same."""
    stats, = free_ports(1)
    path = os.path.join(folder, 'a "quoted" \\ name \xe4').encode("utf-8") + b"\xff\n\x01"
    daemon = processes.start("odd", [DAEMON.encode(), b"--listen", b"[::1]:0", b"--stats", b"127.0.0.1:%d" % stats, b"--data", path])
    if not check(wait_for(lambda: http(stats, "/readyz")[0] == 200), "no daemon: " + daemon.log()):
        return
    options, _ = ask(stats, "")
    expect(options, {"listen": "[::1]:0", "data": path.decode("utf-8", "replace"), "redis": "", "stats-token": {"set": False}})
    daemon.terminate()
    check(daemon.wait() == 0, "the daemon ends with %s: %s" % (daemon.wait(0), daemon.log()))


def check_while_read(folder, processes):
    """Its values are all one file's, whenever it is asked."""
    stats, = free_ports(1)
    config = os.path.join(folder, "turns.conf")
    text = "sessions-max = %d\nslow-tick-us = %d\nlog-level = %s\nlog-format = %s\n"
    turns = [text % (11, 11, "warn", "json"), text % (12, 12, "error", "pairs") + "stats-token = %s\n" % TOKEN]
    write(config, turns[0])
    daemon = processes.start("turns", [DAEMON, "--config", config, "--listen", "127.0.0.1:0", "--stats", "127.0.0.1:%d" % stats])
    if not check(wait_for(lambda: http(stats, "/readyz")[0] == 200), "no daemon: " + daemon.log()):
        return
    is_over = threading.Event()

    def turn():
        for i in range(RELOADS):
            write(config, turns[(i + 1) % 2])
            os.kill(daemon.pid, signal.SIGHUP)
            if is_over.wait(0.01):
                break

    seen, mixed = set(), []

    def look():
        options, body = ask(stats, TOKEN)
        told = [options[name].get("value", options[name].get("set")) for name in ("sessions-max", "slow-tick-us", "log-level", "log-format", "stats-token")]
        if told not in ([11, 11, "warn", "json", False], [12, 12, "error", "pairs", True]):
            mixed.append(told)
        check(TOKEN not in body, "a secret is told: " + body)
        seen.add(told[0])

    look()
    turner = threading.Thread(target=turn)
    turner.start()
    try:
        while turner.is_alive():
            look()
    finally:
        is_over.set()
        turner.join()
    write(config, turns[1])
    for _ in range(2):  # the first may be one that was on its way
        reload(daemon, stats)
    look()
    check(not mixed, "values of two files at once: %s" % mixed[:3])
    check(seen == {11, 12}, "of the files %s were seen" % seen)
    daemon.terminate()
    check(daemon.wait() == 0, "the daemon ends with %s: %s" % (daemon.wait(0), daemon.log()))


def main():
    with tempfile.TemporaryDirectory() as folder, Processes(folder) as processes:
        check_values(folder, processes)
        check_odd_texts(folder, processes)
        check_while_read(folder, processes)


if __name__ == "__main__":
    main()
    sys.exit(close())
