#!/usr/bin/python3
"""What README.md shows is what happens: the tour's commands run one after the other against a real daemon, the C example
compiles and walks its agent, and the table of knobs holds the daemon's options, all of them and no others.
Prints totals in Check's form."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(ROOT, "tests", "lib"))
from checks import check, close  # noqa: E402
from processes import free_ports  # noqa: E402

BIN = os.path.join(ROOT, os.environ.get("TICKPATH_BIN") or "build")
PORTS = {"7878": None, "7879": None}  # the ports written in README.md, and free ones in their place


def blocks(readme, language):
    return re.findall(r"^```%s\n(.*?)^```" % language, readme, re.MULTILINE | re.DOTALL)


def with_free_ports(text):
    for written, port in PORTS.items():
        text = text.replace(written, port)
    return text


def run(command, folder, timeout=None):
    """The program ended, with all that it started: also when it takes too long."""
    process = subprocess.Popen(
        command, cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, preexec_fn=os.setpgrp
    )
    try:
        stdout, _ = process.communicate(timeout=timeout)
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
    return subprocess.CompletedProcess(command, process.returncode, stdout)


def operators_table(head):
    """The lines of a table of the operators' page, by the head of its first column."""
    with open(os.path.join(ROOT, "deploy", "OPERATING.md"), encoding="utf-8") as file:
        return file.read().partition("\n| %s |" % head)[2].partition("\n\n")[0].splitlines()[2:]


def check_dump(path):
    """The keys of what `tickpath inspect` wrote are those that the operators' page explains."""
    if not check(os.path.exists(path), "the tour wrote no %s" % os.path.basename(path)):
        return
    with open(path, encoding="utf-8") as file:
        keys = set(json.load(file))
    lines = operators_table("keys")
    named = {key for line in lines for key in re.findall(r"`([a-z_]+)`", line.split("|")[1])}
    said = {key for line in lines for key in re.findall(r"`([a-z_]+)`", line)}
    check(len(keys) > 40 and keys <= said, "OPERATING.md does not name %s" % (keys - said))
    check(named - keys == {"velocity"}, "no key of a search on a grid: %s" % (named - keys))  # of vehicles alone


def check_tour(readme, folder):
    os.symlink(BIN, os.path.join(folder, "build"))
    script = "set -e\ntrap 'kill $(jobs -p) 2>/dev/null || true' EXIT\n" + "".join(blocks(readme, "sh")) + "wait $!\n"
    # the first sleep is for a reader; a slow machine may need longer until the daemon serves
    wait = 'for _ in $(seq 100); do (exec 3<>/dev/tcp/127.0.0.1/7878) 2>/dev/null && break; sleep 0.1; done\n'
    script = script.replace("sleep 1\n", wait)
    done = run(["bash", "-c", with_free_ports(script)], folder, timeout=120)
    check(done.returncode == 0, "the tour ended with %d:\n%s" % (done.returncode, done.stdout))
    for name in ("walks.png", "way.png"):
        path = os.path.join(folder, name)
        head = open(path, "rb").read(8) if os.path.exists(path) else b""
        check(head == b"\x89PNG\r\n\x1a\n", "the tour made no picture %s" % name)
    check_dump(os.path.join(folder, "search.json"))
    check(re.search(r"^tickpath_moves_total [1-9]", done.stdout, re.MULTILINE), "the tour's metrics show no moves")
    solved = re.findall(r"^cost +([0-9.]+) \(optimal", done.stdout, re.MULTILINE)
    check(len(solved) == 5 and solved[0] == solved[1], "bench in-process and through the daemon differ: %s" % solved)
    check(len(solved) == 5 and float(solved[2]) < float(solved[4]) < float(solved[3]),
          "k = 256 walks no less than k = 4, or w = 2.6 shrinks no detours: %s" % solved)
    optimal = re.findall(r"^cost +[0-9.]+ \(optimal ([0-9.]+)", done.stdout, re.MULTILINE)
    check(len(optimal) == 5 and float(solved[0]) < 1.05 * float(optimal[0]) and float(solved[0]) <= float(solved[2]),
          "the default walks detours: %s, optimal %s" % (solved, optimal))
    doors = os.path.join(folder, "doors.jsonl")
    lines = open(doors, encoding="utf-8").read().splitlines() if os.path.exists(doors) else []
    check(len(lines) > 2 and '"cells": [[' in lines[1] and '"dropped": true' in lines[-1],
          "watch told of the doors: %s" % lines[:3])
    ignored = open(os.path.join(ROOT, ".gitignore"), encoding="utf-8").read().split()
    made = [name for name in os.listdir(folder) if "/" + name not in ignored and "/" + name + "/" not in ignored]
    check(made == [os.path.basename("build")] or not made, "the tour leaves what .gitignore does not name: %s" % made)
    check(os.path.isdir(os.path.join(folder, "tour-maps")), "the daemon of the tour kept no maps")


def check_example(readme, folder):
    sources = blocks(readme, "c")
    check(len(sources) == 1, "%d C examples" % len(sources))
    with open(os.path.join(folder, "example.c"), "w", encoding="utf-8") as file:
        file.write(sources[0])
    library = os.path.join(BIN, "libtickpath-client.a")
    with open(library, "rb") as file:
        sanitizers = ["-fsanitize=address,undefined"] if b"__asan_init" in file.read() else []
    protobuf = subprocess.run(["pkg-config", "--libs", "libprotobuf-c"], stdout=subprocess.PIPE, text=True, check=True)
    compiler = ["gcc", "-std=c11", "-Wall", "-Wextra", "-Werror", "-I" + os.path.join(ROOT, "client")]
    done = run(
        compiler + sanitizers + ["example.c", library] + protobuf.stdout.split() + ["-o", "example"], folder
    )
    check(done.returncode == 0, "the C example does not compile:\n" + done.stdout)
    if done.returncode != 0:
        return
    daemon = subprocess.Popen(
        [os.path.join(BIN, "tickpathd"), "--listen", "127.0.0.1:0", "--port-file", "port", "--log-level", "error"],
        cwd=folder,
        stdin=subprocess.DEVNULL,
    )
    try:
        port_file = os.path.join(folder, "port")
        end = time.monotonic() + 15
        while not os.path.exists(port_file) and daemon.poll() is None and time.monotonic() < end:
            time.sleep(0.01)
        with open(port_file, encoding="utf-8") as file:
            port = file.readline().strip()
        for _ in range(2):  # a second time too: it replaces its map
            done = run(["./example", port], folder, timeout=60)
            check(done.returncode == 0, "the C example ended with %d:\n%s" % (done.returncode, done.stdout))
            lines = done.stdout.splitlines()
            check(
                lines and "cell (29, 5), status 4, map version 2" in lines[-1],
                "the C example's last line: %s" % (lines[-1:] or done.stdout),
            )
            check(any("cell (20, 9)" in line for line in lines), "the example's agent did not take the gap")
    finally:
        daemon.terminate()
        try:
            daemon.wait(30)
        except subprocess.TimeoutExpired:
            daemon.kill()
            daemon.wait()
        check(daemon.returncode == 0, "the example's daemon ended with %s" % daemon.returncode)


def check_knobs(readme):
    told = subprocess.run([os.path.join(BIN, "tickpathd"), "--help"], stdout=subprocess.PIPE, text=True, check=True)
    options = [o for o in re.findall(r"^  --([a-z-]+)", told.stdout, re.MULTILINE) if o not in ("check-config", "help", "version")]
    rows = re.findall(r"^\| `--([a-z-]+)[ `]", readme, re.MULTILINE)
    live = re.findall(r"^  --([a-z-]+).*? \(live\) ", told.stdout, re.MULTILINE)
    told_live = re.findall(r"^\| `--([a-z-]+)[^|]*\|[^|]*\| live \|", readme, re.MULTILINE)
    check(len(options) > 10, "tickpathd --help lists %d options" % len(options))
    check(len(live) > 5 and told_live == live, "README.md says that %s are live; the daemon %s" % (told_live, live))
    check(rows == options, "README.md's knobs are %s; the daemon's %s" % (rows, options))


def check_exit_codes(readme):
    """The table of exit codes is the daemon's own, and each of them is tested where it can be had."""
    told = subprocess.run([os.path.join(BIN, "tickpathd"), "--help"], stdout=subprocess.PIPE, text=True, check=True)
    codes = re.findall(r"^ +(\d+)  (.*)$", told.stdout.partition("It ends with")[2], re.MULTILINE)
    rows = re.findall(r"^\| (\d+) \| (.*) \|$", readme.partition("| exit code |")[2].partition("\n\n")[0], re.MULTILINE)
    check(len(codes) > 5 and rows == codes, "README.md's exit codes are %s; the daemon's %s" % (rows, codes))


def check_algorithms(readme):
    """The table of algorithms holds every row of the registry, in its engine's line, with its title; and no others."""
    told = subprocess.run([os.path.join(BIN, "tickpath"), "algorithms"], stdout=subprocess.PIPE, text=True, check=True)
    registry = {}
    for line in told.stdout.splitlines()[::2]:
        name, title, engine = re.split(r"  +", line)[:3]
        registry.setdefault(engine, []).append((name, title))
    table = {}
    for engine, cell in re.findall(r"^\| `([^`]+)` \| (`[a-z]+` [^|]*) \|$", readme, re.MULTILINE):
        table[engine] = [(name, title.replace("\\*", "*")) for name, title in re.findall(r"`([a-z]+)` ([^,]+)", cell)]
    check(len(registry) > 3, "tickpath algorithms lists the engines %s" % list(registry))
    check(table == registry, "README.md's algorithms are %s; the registry's %s" % (table, registry))
    default = [row.split()[0] for row, about in zip(*[iter(told.stdout.splitlines())] * 2) if about.endswith("(the default)")]
    marked = re.findall(r"`([a-z]+)` [^,|]*, the default", readme) + re.findall(r"The default, `([a-z]+)`,", readme)
    check(len(default) == 1 and marked == 2 * default, "the default is %s; README.md marks %s" % (default, marked))


def check_links(name):
    """What a page names is there, and its links to its own headings lead somewhere."""
    with open(os.path.join(ROOT, name), encoding="utf-8") as file:
        page = file.read()
    for path in re.findall(r"`((?:src|proto|daemon|client|tests|deploy)/[A-Za-z0-9_./-]+)`", page):
        check(os.path.exists(os.path.join(ROOT, path)), "%s names %s, which is not there" % (name, path))
    anchors = {re.sub(r"[^a-z0-9 -]", "", head.lower()).replace(" ", "-") for head in re.findall(r"^#+ (.*)$", page, re.MULTILINE)}
    links = re.findall(r"\]\(#([^)]+)\)", page)
    check(len(links) > 5, "%s has %d links to its own headings" % (name, len(links)))
    for link in links:
        check(link in anchors, "%s links to #%s, which is no heading of it" % (name, link))


def check_causes():
    """The operators' page tells of every cause of a slow tick."""
    with open(os.path.join(ROOT, "daemon", "stats", "stats.schema.json"), encoding="utf-8") as file:
        causes = json.load(file)["properties"]["slow_ticks"]["items"]["properties"]["why"]["items"]["enum"]
    told = [re.match(r"\| `([a-z]+)` \|", line).group(1) for line in operators_table("why")]
    check(told == causes, "OPERATING.md tells of the causes %s; the schema of %s" % (told, causes))


def main():
    with open(os.path.join(ROOT, "README.md"), encoding="utf-8") as file:
        readme = file.read()
    PORTS.update(zip(PORTS, map(str, free_ports(len(PORTS)))))
    folder = tempfile.mkdtemp(prefix="tickpath-readme-")
    try:
        check_tour(readme, folder)
        check_example(readme, folder)
    finally:
        shutil.rmtree(folder)
    check_knobs(readme)
    check_exit_codes(readme)
    check_algorithms(readme)
    check_causes()
    for name in ("README.md", os.path.join("deploy", "OPERATING.md")):
        check_links(name)
    return close()


if __name__ == "__main__":
    sys.exit(main())
