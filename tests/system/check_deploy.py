#!/usr/bin/env python3
"""What deploy/compose.yaml describes, run here as plain processes: the Redis, the daemons and the HAProxy of that file,
with its commands and settings, on other ports, addresses and folders. Agents walk through HAProxy; the daemon that holds a
connection is killed, and the other one has its map; one hangs; one is told to drain, and HAProxy sends nobody there while those who are
there go on; Redis is killed, and has the maps when it is back.

What the files say otherwise is checked by tests/integration/check_deploy_files.py. Prints totals in Check's form.
"""

import csv
import json
import os
import shutil
import signal
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(ROOT, "tests", "lib"))
import deployed  # noqa: E402
from checks import check, close  # noqa: E402
from processes import Processes, free_ports, http, wait_for  # noqa: E402

BIN = os.path.join(ROOT, os.environ.get("TICKPATH_BIN") or "build")
PATH = os.environ.get("PATH", "/usr/bin:/bin") + ":/usr/sbin:/sbin"
DRAIN_TRIES = 3
SAME = ("width", "height", "epoch", "version", "passable_cells")  # of a map, on every daemon that has it
CITY = "tool/city"  # the map of a load, by the name that the tool gives it


class Failed(Exception):
    """What comes after makes no sense."""


def need(condition, words):
    if not check(condition, words):
        raise Failed(words)


def program(name):
    path = shutil.which(name, path=PATH)
    need(path, "%s is not here; deploy/install-deps.sh installs it" % name)
    return path


class Daemon:
    """A daemon of the compose file, in the place of its container."""

    def __init__(self, fleet, service, server):
        self.fleet, self.service, self.server = fleet, service, server  # server: its name in haproxy.cfg
        self.port, self.stats = free_ports(2)
        settings = {**deployed.dockerfile()["env"], **fleet.services[service]["environment"]}
        for name, port in (("TICKPATHD_LISTEN", self.port), ("TICKPATHD_STATS", self.stats)):
            need(settings[name].startswith("0.0.0.0:"), "%s in a container is %s" % (name, settings[name]))
            settings[name] = "127.0.0.1:%d" % port
        need("//redis:6379/" in settings["TICKPATHD_REDIS"], "the URL %s does not name the service" % settings["TICKPATHD_REDIS"])
        settings["TICKPATHD_REDIS"] = settings["TICKPATHD_REDIS"].replace("redis:6379", "127.0.0.1:%d" % fleet.redis_port)
        self.settings, self.process = settings, None

    def start(self):
        self.process = self.fleet.processes.start(self.service, [os.path.join(BIN, "tickpathd")], self.settings)
        ready = wait_for(lambda: not self.process.is_running() or http(self.stats, "/readyz")[0] == 200)
        need(ready and self.process.is_running(), "%s does not get ready:\n%s" % (self.service, self.process.log()))

    def told(self):
        return json.loads(http(self.stats, "/stats")[1])

    def count(self, metric):
        value = self.told()["metrics"][metric]
        return sum(value.values()) if isinstance(value, dict) else value

    def map(self, name):
        for row in self.told()["maps"]:
            if row["name"] == name:
                return row
        return None


class Fleet:
    def __init__(self, folder, processes):
        self.folder, self.processes = folder, processes
        self.services = deployed.compose()["services"]
        self.redis_port, self.port, self.balancer_stats = free_ports(3)
        names = deployed.compose_daemons(self.services)
        need(len(names) == 2, "the compose file has the daemons %s" % names)
        self.daemons = [Daemon(self, name, name[-1]) for name in names]
        self.redis = self.balancer = None
        self.redis_starts = 0

    # ---- starting what the file describes ----

    def start_redis(self):
        command = list(self.services["redis"]["command"])
        need(command[0] == "redis-server" and "--dir" in command, "redis' command is %s" % command)
        at = command.index("--dir") + 1
        mounts = [volume.split(":")[1] for volume in self.services["redis"]["volumes"]]
        need(command[at] in mounts, "redis writes to %s; its volumes are at %s" % (command[at], mounts))
        command[at] = os.path.join(self.folder, "redis")
        os.makedirs(command[at], exist_ok=True)
        # Debian's redis-tools has the server under another name; which of the two it is it reads from its own name.
        path = shutil.which("redis-server", path=PATH) or program("redis-check-rdb")
        self.redis = self.processes.start("redis", [*command, "--port", str(self.redis_port), "--bind", "127.0.0.1"], executable=path)
        # its log is of all its starts, each of which ends with this line
        self.redis_starts += 1
        well = wait_for(lambda: not self.redis.is_running() or self.redis.log().count("Ready to accept") == self.redis_starts)
        need(well and self.redis.is_running(), "Redis does not start:\n%s" % self.redis.log())

    def start_balancer(self):
        service = self.services["haproxy"]
        command, environment = list(service["command"]), {
            "TICKPATH_BIND": "127.0.0.1:%d" % self.port,
            "TICKPATH_BALANCER_STATS": "127.0.0.1:%d" % self.balancer_stats,
            "TICKPATH_CONNECTIONS_MAX": "100",
        }
        for daemon in self.daemons:
            environment["TICKPATHD_" + daemon.server.upper()] = "127.0.0.1:%d" % daemon.port
            environment["TICKPATHD_%s_STATS" % daemon.server.upper()] = str(daemon.stats)
        _, variables = deployed.haproxy()
        need(set(variables) == set(environment), "haproxy.cfg asks for %s, not for %s" % (sorted(variables), sorted(environment)))
        for volume in service["volumes"]:
            here, there = volume.split(":")[:2]
            command = [os.path.join(deployed.DEPLOY, here) if word == there else word for word in command]
        path = program(command[0])
        tried = self.processes.start("haproxy-c", [command[0], "-c", *command[1:]], environment, executable=path)
        status = tried.wait()
        need(status == 0 and "WARNING" not in tried.log(), "haproxy -c says %s:\n%s" % (status, tried.log()))
        self.balancer = self.processes.start("haproxy", command, environment, executable=path)

    # ---- asking ----

    def row(self, daemon):
        """What HAProxy says of a daemon; {} when it says nothing."""
        rows = csv.DictReader(http(self.balancer_stats, "/;csv")[1].lstrip("# ").splitlines())
        return next((row for row in rows if (row.get("pxname"), row.get("svname")) == ("tickpath", daemon.server)), {})

    def server(self, daemon):
        """(status, last check) of a daemon, as HAProxy has it."""
        row = self.row(daemon)
        return row.get("status"), row.get("check_status")

    def await_up(self, daemon):
        up = wait_for(lambda: self.server(daemon) == ("UP", "L7OK"))
        need(up, "HAProxy says %s of %s, which is ready:\n%s" % (self.server(daemon), daemon.service, self.balancer.log()))

    def tool(self, name, *words):
        return self.processes.start(name, [os.path.join(BIN, "tickpath"), *map(str, words)])

    def through(self, name, *words):
        return self.tool(name, *words, "--via", "127.0.0.1:%d" % self.port)

    def other(self, daemon):
        return self.daemons[1 - self.daemons.index(daemon)]

    def walk(self, name):
        """Agents that walk through HAProxy, to the end."""
        run = self.through(name, "run", "--map", "town.map", "--agents", 20, "--doors", 8, "--door-rounds", 5)
        status = run.wait(60)
        check(status == 0, "%s: a run through HAProxy ended with %s:\n%s" % (name, status, run.log()))

    def hold(self, name, *words):
        """A load that lasts; gives it, and the daemon that has it."""
        load = self.through(name, "load", "--agents", 10, "--size", "64x64", "--seconds", 60, *words)
        holds = lambda: [daemon for daemon in self.daemons if (daemon.map(CITY) or {}).get("sessions") == 10]  # noqa: E731
        holder = wait_for(lambda: not load.is_running() or holds())
        need(load.is_running(), "%s: the load through HAProxy has ended:\n%s" % (name, load.log()))
        return load, holder[0]

    def watch(self, name, port, count=1):
        """What `count` clients at a time are told of the map CITY, each in the first line of a watch: the versions."""
        words = ("watch", "--map", CITY, "--via", "127.0.0.1:%d" % port, "--seconds", 1)
        versions = []
        for watch in [self.tool("%s-%d" % (name, i), *words) for i in range(count)]:
            status = watch.wait()
            if check(status == 0, "%s: ended with %s:\n%s" % (name, status, watch.log())):
                versions.append(json.loads(watch.log().splitlines()[0])["version"])
        return versions


# ---- what is shown ----


def check_walks(fleet):
    fleet.walk("walk")
    load, holder = fleet.hold("leastconn")
    before = fleet.other(holder).count("sessions_opened")
    fleet.walk("walk-beside")
    after = fleet.other(holder).count("sessions_opened")
    check(after == before + 20, "20 agents beside a load: the daemon without the load opened %d sessions" % (after - before))
    load.terminate()
    check(load.wait() is not None, "a load that is told to end goes on")
    status, page = http(fleet.balancer_stats, "/metrics")
    check(status == 200 and "haproxy_server_status" in page, "HAProxy's page for Prometheus says %d: %s" % (status, page[:200]))


def check_killed(fleet):
    """The daemon that has a map dies with a client's connection; who connects again finds the map on the other one."""
    load, holder = fleet.hold("changes", "--changes", 2)
    changed = wait_for(lambda: holder.map(CITY)["version"] > 20)
    need(changed, "the load's changes make no versions: %s" % holder.map(CITY))
    had = holder.map(CITY)
    other = fleet.other(holder)
    holder.process.kill()
    load.kill()  # else it would drop its map, could it
    # At once, before a check has told HAProxy; several, for it tries the dead one with each that follows another.
    found = fleet.watch("watch-after-kill", fleet.port, 4)
    check(min(found, default=0) >= had["version"], "after a kill the other daemon has the versions %s; killed was %s" % (found, had))
    down = wait_for(lambda: fleet.server(holder)[0] == "DOWN")
    check(down, "HAProxy says %s of a daemon that was killed" % (fleet.server(holder),))
    check(fleet.server(other) == ("UP", "L7OK"), "HAProxy says %s of the daemon that was not killed" % (fleet.server(other),))
    fleet.walk("walk-on-one")
    holder.start()
    fleet.await_up(holder)
    fleet.watch("watch-the-restarted", holder.port)
    check_same(fleet, "after a kill")


def check_same(fleet, when):
    rows = [daemon.map(CITY) for daemon in fleet.daemons]
    same = [tuple(row[name] for name in SAME) if row else None for row in rows]
    check(same[0] and same[0] == same[1], "%s the daemons have %s of the map: %s" % (when, SAME, same))


def check_hung(fleet):
    """A daemon that says nothing any more: its connections are shut, for their clients would wait for it."""
    load, holder = fleet.hold("hung")
    check(fleet.row(holder).get("scur") == "1", "a load of one connection: HAProxy says %s" % fleet.row(holder).get("scur"))
    holder.process.popen.send_signal(signal.SIGSTOP)
    shut = wait_for(lambda: fleet.server(holder)[0] == "DOWN" and fleet.row(holder).get("scur") == "0")
    check(shut, "HAProxy says %s of a daemon that hangs" % fleet.row(holder))
    fleet.walk("walk-beside-hung")
    load.kill()
    holder.process.popen.send_signal(signal.SIGCONT)
    fleet.await_up(holder)
    check(wait_for(lambda: holder.count("sessions_open") == 0), "a daemon that goes on keeps the sessions of who is gone")


def check_drain(fleet):
    """SIGTERM: out of HAProxy's choice before the daemon ends, and the connection that it has is served on meanwhile."""
    for attempt in range(DRAIN_TRIES):
        # A connection that is silent for 100 ms is done, to a daemon that drains: on a machine that stalls try again.
        load, holder = fleet.hold("drained-%d" % attempt, "--hz", 200)
        heard = len(fleet.balancer.log())
        holder.process.terminate()
        stops = "Server tickpath/%s is stopping" % holder.server
        wait_for(lambda: stops in fleet.balancer.log()[heard:] or not holder.process.is_running())
        page = http(holder.stats, "/readyz")
        was_served = holder.process.is_running() and load.is_running() and fleet.server(holder)[0] == "NOLB"
        if was_served:
            check(page[0] == 503, "a daemon that drains says %s" % (page,))
            before = fleet.other(holder).count("sessions_opened")
            fleet.walk("walk-beside-drain-%d" % attempt)
            check(fleet.other(holder).count("sessions_opened") == before + 20, "new agents went to the daemon that drains")
        status = holder.process.wait()
        check(status == 0, "a daemon that drained ended with %s:\n%s" % (status, holder.process.log()))
        down = wait_for(lambda: fleet.server(holder)[0] == "DOWN")
        check(down, "HAProxy says %s of a daemon that drained and ended" % (fleet.server(holder),))
        load.kill()
        holder.start()
        fleet.await_up(holder)
        if was_served:
            return
    check(False, "in %d drains HAProxy never said that it stops before the daemon ended:\n%s" % (DRAIN_TRIES, fleet.balancer.log()))


def check_redis_killed(fleet):
    """What Redis said it has is on the disk: it is killed, the daemons serve on, and one that knew nothing finds the map."""
    load, holder = fleet.hold("before-redis", "--changes", 2)
    need(wait_for(lambda: holder.map(CITY)["version"] > 20), "the load's changes make no versions: %s" % holder.map(CITY))
    load.kill()
    need(wait_for(lambda: holder.map(CITY)["sessions"] == 0), "a client that died keeps its sessions: %s" % holder.map(CITY))
    other = fleet.other(holder)
    fleet.redis.kill()
    other.process.kill()
    degraded = wait_for(lambda: holder.told()["store"]["degraded"])
    check(degraded, "without Redis the daemon's store is %s" % holder.told()["store"])
    check(http(holder.stats, "/readyz")[0] == 200, "without Redis the daemon is not ready: %s" % (http(holder.stats, "/readyz"),))
    fleet.start_redis()
    other.start()
    fleet.watch("watch-after-redis", other.port)
    check_same(fleet, "after Redis was killed")
    check(wait_for(lambda: not holder.told()["store"]["degraded"]), "with Redis back the store is %s" % holder.told()["store"])


def check_ends(fleet):
    """Each ends on the signal that its container is stopped with, within the grace that the file gives it."""
    grace = {name: int(service.get("stop_grace_period", "10s").rstrip("s")) for name, service in fleet.services.items()}
    for daemon in fleet.daemons:
        daemon.process.terminate()
        status = daemon.process.wait(grace[daemon.service])
        check(status == 0, "%s, stopped, ended with %s" % (daemon.service, status))
    fleet.balancer.popen.send_signal(signal.SIGUSR1)
    fleet.redis.terminate()
    for name, process in (("haproxy", fleet.balancer), ("redis", fleet.redis)):
        status = process.wait(grace[name])
        check(status == 0, "%s, stopped, ended with %s:\n%s" % (name, status, process.log()))


def main():
    folder = tempfile.mkdtemp(prefix="tickpath-deploy-")
    try:
        with Processes(folder) as processes:
            fleet = Fleet(folder, processes)
            fleet.start_redis()
            for daemon in fleet.daemons:
                daemon.start()
            fleet.start_balancer()
            for daemon in fleet.daemons:
                fleet.await_up(daemon)
            town = fleet.tool("generate", "map", "generate", "--kind", "city", "--size", "96x96", "--seed", 3, "--out", "town.map")
            need(town.wait() == 0, "no map is made:\n" + town.log())
            for part in (check_walks, check_killed, check_hung, check_drain, check_redis_killed, check_ends):
                part(fleet)
    except Failed:
        pass
    finally:
        shutil.rmtree(folder)
    return close()


if __name__ == "__main__":
    sys.exit(main())
