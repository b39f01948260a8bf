#!/usr/bin/env python3
"""The files of deploy/ against the facts: the daemon's options, ports, pages, times and memory, the Dockerfile's stages and
user, and one another. A daemon is started with the settings of the compose file, and one with those of the manifests, to see that it
takes them and answers the pages that are asked of it. Prints totals in Check's form.

That the compose file's fleet works together is shown by tests/system/check_deploy.py.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile

import yaml

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(ROOT, "tests", "lib"))
import deployed  # noqa: E402
from checks import check, close  # noqa: E402
from kubernetes import Pod, may_reach, misfits_of, quantity, selects  # noqa: E402
from processes import Processes, free_ports, http, wait_for  # noqa: E402

BIN = os.path.join(ROOT, os.environ.get("TICKPATH_BIN") or "build")
HOME = "tickpath"  # the namespace
MI_B = {"k": 2**10, "m": 2**20, "g": 2**30}


# ---- facts ----


class Facts:
    """What the sources and the programs say."""

    def __init__(self):
        told = subprocess.run([os.path.join(BIN, "tickpathd"), "--help"], stdout=subprocess.PIPE, text=True, check=True).stdout
        rows = re.findall(r"^  --([a-z-]+) .*?(?:default ([^)]*)\))?$", told, re.MULTILINE)
        self.defaults = {"TICKPATHD_" + name.upper().replace("-", "_"): default for name, default in rows}
        self.version = re.search(r'TP_VERSION "([^"]+)"', deployed.read("src", "base", "version.h")).group(1)
        self.stop_s = int(re.search(r"STOP_SECONDS_MAX = (\d+)", deployed.read("daemon", "server.c")).group(1))
        self.image = deployed.dockerfile()
        self.uid = int(self.image["user"].partition(":")[0])

    def number(self, settings, name):
        return int(settings.get(name) or self.defaults[name])

    def end_s(self, settings):
        """The longest from SIGTERM to the end."""
        return (self.number(settings, "TICKPATHD_DRAIN_DELAY_MS") + self.number(settings, "TICKPATHD_DRAIN_MS")) / 1000 + self.stop_s


def port_of(address):
    return int(address.rpartition(":")[2])


def check_image(image, facts, where):
    name, _, tag = image.partition(":")
    check(tag and not tag.startswith("latest"), "%s: the image %s has no version" % (where, image))
    if name == "tickpath":
        check(tag == facts.version, "%s: the image %s; the project is at %s" % (where, image, facts.version))


def check_settings(settings, facts, where):
    """The settings of a daemon, whole: each is an option, together they are taken, and the daemon serves its pages."""
    unknown = sorted(set(settings) - set(facts.defaults))
    check(not unknown, "%s: tickpathd has no options %s" % (where, unknown))
    listen, stats = settings["TICKPATHD_LISTEN"], settings["TICKPATHD_STATS"]
    check((port_of(listen), port_of(stats)) == tuple(facts.image["expose"]), "%s: ports of %s, %s" % (where, listen, stats))
    check(port_of(listen) == port_of(facts.defaults["TICKPATHD_LISTEN"]), "%s: clients' port is not the daemon's own" % where)
    check(listen.startswith("0.0.0.0:") and stats.startswith("0.0.0.0:"), "%s: a container's loopback reaches nobody" % where)
    check(settings["TICKPATHD_DATA"] == "" and settings["TICKPATHD_REDIS"], "%s: maps are not kept in Redis alone" % where)


def check_served(processes, settings, pages, name):
    port, stats = free_ports(2)
    there = {"TICKPATHD_LISTEN": "127.0.0.1:%d" % port, "TICKPATHD_STATS": "127.0.0.1:%d" % stats}
    # a port on which nobody listens: the daemon is alive without its Redis, and not ready
    there["TICKPATHD_REDIS"] = re.sub(r"redis:6379", "127.0.0.1:%d" % free_ports(1)[0], settings["TICKPATHD_REDIS"])
    check(there["TICKPATHD_REDIS"] != settings["TICKPATHD_REDIS"], "%s: the URL names no redis:6379" % name)
    daemon = processes.start(name, [os.path.join(BIN, "tickpathd")], {**settings, **there})
    serves = wait_for(lambda: not daemon.is_running() or http(stats, "/livez")[0] == 200)
    if check(serves and daemon.is_running(), "%s: the daemon does not take its settings:\n%s" % (name, daemon.log())):
        check("no option" not in daemon.log(), "%s: the daemon complains:\n%s" % (name, daemon.log()))
        for page in sorted(pages):
            wanted = 503 if page == "/readyz" else 200  # it has not read which maps its Redis has
            answer = wait_for(lambda page=page, wanted=wanted: http(stats, page)[0] == wanted)
            check(answer, "%s: the page %s says %s" % (name, page, http(stats, page)))
    daemon.terminate()
    check(daemon.wait() == 0, "%s: the daemon ended badly:\n%s" % (name, daemon.log()))


# ---- Dockerfile ----


def check_dockerfile(facts):
    """What tests/system/check_image.py does not see: it carries the lines out."""
    said = facts.image
    check(said["base"] == "scratch", "the image begins with %s" % said["base"])
    user = "'tickpath:x:%d:%d:tickpath:%s:" % (facts.uid, facts.uid, said["volumes"][0])
    check(user in deployed.read("deploy", "docker-runtime.sh"), "docker-runtime.sh makes no user %s" % user)
    check(said["user"] == "%d:%d" % (facts.uid, facts.uid) and facts.uid > 0, "the image's user is %s" % said["user"])
    check(said["volumes"] == [said["workdir"]] == [said["env"]["TICKPATHD_DATA"]], "the image's volumes are %s" % said["volumes"])
    sources = [name for word, rest in deployed.docker_lines() if word == "COPY" and "--from" not in rest for name in deployed.docker_copy(rest)[1]]
    check(all(os.path.exists(os.path.join(ROOT, name)) for name in sources), "the Dockerfile copies %s" % sources)
    scripts = [rest.split()[0] for word, rest in deployed.docker_lines() if word == "RUN"]
    check(scripts and all(os.access(os.path.join(ROOT, name), os.X_OK) for name in scripts), "the Dockerfile runs %s" % scripts)
    laid = re.search(r"^programs=\((.*)\)$", deployed.read("deploy", "docker-runtime.sh"), re.MULTILINE).group(1)
    for program in (said["entrypoint"][0], said["health"][0]):
        check('"$out%s"' % program in laid.split(), "the Dockerfile names %s, which is not in the image" % program)


# ---- compose.yaml and haproxy.cfg ----


def check_service(name, service, file, facts):
    where = "compose.yaml, %s" % name
    check_image(service["image"], facts, where)
    check(re.fullmatch(r"[1-9]\d*:[1-9]\d*", service.get("user", "")), "%s: runs as %s" % (where, service.get("user")))
    check(service.get("read_only") is True and service.get("cap_drop") == ["ALL"], "%s: may write, or has capabilities" % where)
    check("no-new-privileges:true" in service.get("security_opt", []), "%s: may gain privileges" % where)
    check(service.get("mem_limit"), "%s: no limit of memory" % where)
    unknown = [n for n in service["networks"] if n not in file["networks"]] + [d for d in service.get("depends_on", []) if d not in file["services"]]
    check(not unknown, "%s: names %s, which are not there" % (where, unknown))
    for volume in service.get("volumes", []):
        source = volume.split(":")[0]
        there = os.path.exists(os.path.join(deployed.DEPLOY, source)) if source.startswith(".") else source in file["volumes"]
        check(there, "%s: there is no %s" % (where, source))


def check_compose(processes, facts):
    file = deployed.compose()
    services = file["services"]
    names = deployed.compose_daemons(services)
    check(len(names) == 2 and set(services) == {*names, "haproxy", "redis", "prometheus", "grafana"}, "compose.yaml has the services %s" % sorted(services))
    for name, service in services.items():
        check_service(name, service, file, facts)
    for name in names:
        where, service = "compose.yaml, %s" % name, services[name]
        settings = {**facts.image["env"], **service["environment"]}
        check_settings(settings, facts, where)
        check(service["build"]["target"] == facts.image["stages"][-1], "%s: the Dockerfile has the stages %s" % (where, facts.image["stages"]))
        check(os.path.exists(os.path.join(deployed.DEPLOY, service["build"]["context"], "Dockerfile")), "%s: no Dockerfile" % where)
        check(service["user"] == "%d:%d" % (facts.uid, facts.uid), "%s: the image's user is %d" % (where, facts.uid))
        check(int(service["stop_grace_period"].rstrip("s")) >= facts.end_s(settings), "%s: killed before it has drained" % where)
        limit = int(service["mem_limit"][:-1]) * MI_B[service["mem_limit"][-1]]
        check(limit >= 1.5 * facts.number(settings, "TICKPATHD_NODE_BYTES_MAX"), "%s: search memory leaves too little of %d" % (where, limit))
        check(set(service["networks"]) == {"front", "store"}, "%s: networks %s" % (where, service["networks"]))
    check(services["redis"]["networks"] == ["store"] and file["networks"]["store"]["internal"], "Redis is reached by more than the daemons")
    for name in ("haproxy", "prometheus", "grafana"):
        check(services[name]["networks"] == ["front"], "%s reaches Redis" % name)
    check_watch(services, names)
    settings = {**facts.image["env"], **services[names[0]]["environment"]}
    pages = check_haproxy(services, names, settings, facts)
    check_redis(services["redis"]["command"], services["redis"]["volumes"][0].split(":")[1], "compose.yaml")
    check_served(processes, settings, pages, "compose")


def check_watch(services, names):
    """Prometheus and Grafana, which only the profile starts; tests/integration/check_monitoring.py has what they are told."""
    watching = {name for name, service in services.items() if service.get("profiles") == ["watch"]}
    check(watching == {"prometheus", "grafana"}, "the profile watch has %s" % watching)
    for name in watching:
        check(all(port.startswith("127.0.0.1:") for port in services[name]["ports"]), "%s is published to others: %s" % (name, services[name]["ports"]))
    config = yaml.safe_load(deployed.read("deploy", "prometheus", "prometheus.yml"))
    jobs = {job["job_name"]: job["static_configs"][0]["targets"] for job in config["scrape_configs"]}
    ports = {key: variables for key, variables in deployed.haproxy()[1].items() if key.endswith("STATS")}
    check(jobs["tickpathd"] == ["%s:%s" % (name, ports["TICKPATHD_A_STATS"]) for name in names], "Prometheus scrapes %s" % jobs)
    check(jobs["haproxy"] == ["haproxy" + ports["TICKPATH_BALANCER_STATS"]], "Prometheus scrapes %s" % jobs)
    mounts = dict(volume.split(":")[:2] for volume in services["prometheus"]["volumes"])
    told = [word.partition("=")[2] for word in services["prometheus"]["command"] if word.startswith("--config.file=")]
    check(told == [mounts["./prometheus/prometheus.yml"]], "Prometheus reads %s" % told)
    for rules in config["rule_files"]:
        check(mounts["./prometheus/" + rules] == os.path.join(os.path.dirname(told[0]), rules), "%s is at %s" % (rules, mounts))


def check_redis(command, folder, where):
    options = dict(zip(command[1::2], command[2::2]))
    for option, value in {
        "--dir": folder,
        "--appendonly": "yes",
        "--appendfsync": "always",
        "--save": "",
        "--maxmemory-policy": "noeviction",
    }.items():
        check(options.get(option) == value, "%s: redis' %s is %s, not %s" % (where, option, options.get(option), value))
    return options


def seconds(text):
    number, unit = re.fullmatch(r"(\d+)(ms|s|m|h)", text).groups()
    return int(number) * {"ms": 1e-3, "s": 1, "m": 60, "h": 3600}[unit]


def check_haproxy(services, names, settings, facts):
    """Gives the pages that HAProxy asks a daemon for."""
    lines, variables = deployed.haproxy()
    ports = {port_of(settings["TICKPATHD_LISTEN"]): "LISTEN", port_of(settings["TICKPATHD_STATS"]): "STATS"}
    servers = [line[1] for line in lines if line[0] == "server"]
    check([name[-1] for name in names] == servers, "haproxy.cfg has the servers %s; the daemons are %s" % (servers, names))
    for name in names:
        key = "TICKPATHD_" + name[-1].upper()
        host, _, port = variables.get(key, "").partition(":")
        check((host, ports.get(int(port or 0))) == (name, "LISTEN"), "haproxy.cfg: %s is at %s" % (name, variables.get(key)))
        check(ports.get(int(variables.get(key + "_STATS", 0))) == "STATS", "haproxy.cfg asks after %s elsewhere" % name)
    published = [port.rpartition(":")[2] for port in services["haproxy"]["ports"]]
    for key, port in zip(("TICKPATH_BIND", "TICKPATH_BALANCER_STATS"), published):
        check(variables[key] == ":" + port, "haproxy.cfg binds %s; compose.yaml publishes %s" % (variables[key], published))
    check(all(p.split(":")[0] == "127.0.0.1" for p in services["haproxy"]["ports"]), "published: %s" % published)
    check(int(variables["TICKPATH_CONNECTIONS_MAX"]) >= 2 * facts.number(settings, "TICKPATHD_CONNECTIONS_MAX"), "HAProxy's bound is the lower one")
    begins = lines.index(["listen", "tickpath"])
    ends = next(i for i, line in enumerate(lines) if i > begins and line[0] in ("listen", "frontend", "backend"))
    times = {line[1]: seconds(line[2]) for line in lines[begins:ends] if line[0] == "timeout"}
    idle = facts.number(settings, "TICKPATHD_IDLE_TIMEOUT_MS") / 1000
    check(min(times["client"], times["server"]) > idle, "HAProxy drops who is silent before the daemon does, at %d s: %s" % (idle, times))
    check(["mode", "tcp"] in lines[begins:ends] and times["connect"] <= 2, "haproxy.cfg: %s" % times)
    asks = next(line for line in lines if line[0] == "default-server" and "inter" in line)
    noticed = seconds(asks[asks.index("inter") + 1]) + seconds(next(line[2] for line in lines if line[:2] == ["timeout", "check"]))
    delay = facts.number(settings, "TICKPATHD_DRAIN_DELAY_MS") / 1000
    check(noticed <= delay, "HAProxy notices a drain after %s s; connections are taken for %s s" % (noticed, delay))
    check(["http-check", "expect", "status", "200", "error-status", "L7OKC"] in lines, "a daemon that drains is DOWN for HAProxy: its connections would be shut")
    pages = {line[line.index("uri") + 1] for line in lines if line[:2] == ["http-check", "send"]}
    check(pages == {"/livez", "/readyz"}, "haproxy.cfg asks for %s" % pages)
    return pages


# ---- kubernetes/ ----


class Objects:
    def __init__(self):
        self.all = deployed.manifests()

    def of(self, *kinds):
        return {each["metadata"]["name"]: each for each in self.all if each["kind"] in kinds}

    def workloads(self):
        return self.of("Deployment", "StatefulSet")

    def selected(self, selector):
        """The names of the workloads whose pods a selector takes."""
        return [name for name, each in self.workloads().items() if selects(selector, each["spec"]["template"]["metadata"]["labels"])]


def check_shapes(objects):
    """Gives whether the rest can be asked of these objects."""
    good = True
    for each in objects.all:
        wrong = misfits_of(each)
        good &= check(not wrong, "kubernetes: %s" % "; ".join(wrong))
    keys = [(each["kind"], each["metadata"]["name"]) for each in objects.all]
    check(len(set(keys)) == len(keys), "kubernetes: two of one name: %s" % keys)
    custom = deployed.kustomization()
    files = sorted(name for name in os.listdir(deployed.MANIFESTS) if name != "kustomization.yaml")
    check(sorted(custom["resources"]) == files, "kustomization.yaml has %s of the files %s" % (custom["resources"], files))
    check(custom["namespace"] == HOME, "kustomization.yaml: the namespace %s" % custom["namespace"])
    kinds = {"ConfigMap", "Service", "Deployment", "StatefulSet", "PodDisruptionBudget", "NetworkPolicy"}
    return good & check({key[0] for key in keys} == kinds, "kubernetes: %s" % keys)


def check_selectors(objects):
    for name, each in objects.workloads().items():
        for selector in [each["spec"]["selector"]] + [
            spread["labelSelector"] for spread in each["spec"]["template"]["spec"].get("topologySpreadConstraints", [])
        ]:
            check(objects.selected(selector["matchLabels"]) == [name], "%s selects %s" % (name, objects.selected(selector["matchLabels"])))
    targets = {"redis": "redis", "tickpathd": "tickpathd", "tickpathd-each": "tickpathd"}
    services = objects.of("Service")
    check(set(services) == set(targets), "kubernetes has the services %s" % sorted(services))
    for name, each in services.items():
        taken = objects.selected(each["spec"]["selector"])
        check(taken == [targets[name]], "the service %s selects %s" % (name, taken))
        ports = container_ports(objects.workloads()[taken[0]])
        for port in each["spec"]["ports"]:
            check(ports.get(port["targetPort"]) == port["port"], "the service %s: %s, the pods' ports are %s" % (name, port, ports))
    headless = {name for name, each in services.items() if each["spec"].get("clusterIP") == "None"}
    check(headless == {"redis", "tickpathd-each"}, "headless are %s" % headless)
    for name, each in objects.of("StatefulSet").items():
        check(each["spec"]["serviceName"] in headless, "%s has no headless service" % name)
    for name, each in objects.of("PodDisruptionBudget").items():
        taken = objects.selected(each["spec"]["selector"]["matchLabels"])
        check(taken == [name] == ["tickpathd"], "the budget %s is of %s" % (name, taken))
        replicas = objects.workloads()[name]["spec"]["replicas"]
        check(1 <= each["spec"]["minAvailable"] < replicas, "the budget %s of %d pods lets no node be emptied, or all at once" % (each["spec"], replicas))


def container_ports(workload):
    return {port["name"]: port["containerPort"] for port in only_container(workload)["ports"]}


def only_container(workload):
    return workload["spec"]["template"]["spec"]["containers"][0]


def check_workload(name, each, objects, facts):
    spec, container = each["spec"]["template"]["spec"], only_container(each)
    where = "kubernetes, %s" % name
    check(len(spec["containers"]) == 1, "%s: containers" % where)
    check_image(container["image"], facts, where)
    pod = spec["securityContext"]
    check(pod["runAsNonRoot"] and pod["runAsUser"] > 0 and pod["runAsGroup"] > 0, "%s: may be root" % where)
    check(pod["seccompProfile"] == {"type": "RuntimeDefault"}, "%s: every system call" % where)
    own = container["securityContext"]
    check(own == {"allowPrivilegeEscalation": False, "readOnlyRootFilesystem": True, "capabilities": {"drop": ["ALL"]}}, "%s: %s" % (where, own))
    check(spec["automountServiceAccountToken"] is False, "%s: has a token of the cluster's" % where)
    ports = container_ports(each)
    for probe in ("startupProbe", "readinessProbe", "livenessProbe"):
        port = (container[probe].get("httpGet") or container[probe]["tcpSocket"])["port"]
        check(port in ports, "%s: the %s asks the port %s of %s" % (where, probe, port, ports))
    volumes = {claim["metadata"]["name"] for claim in each["spec"].get("volumeClaimTemplates", [])}
    mounted = {mount["name"] for mount in container.get("volumeMounts", [])}
    check(volumes == mounted, "%s: mounts %s of %s" % (where, mounted, volumes))
    resources = container["resources"]
    for kind, most in resources["limits"].items():
        check(quantity(resources["requests"][kind]) <= quantity(most), "%s: asks for more %s than it may have" % (where, kind))
    known = set()
    for variable in container.get("env", []):
        asked = set(re.findall(r"\$\((\w+)\)", variable.get("value", "")))
        check(asked <= known, "%s: %s asks for %s before it is there" % (where, variable["name"], asked))
        known.add(variable["name"])
        secret = variable.get("valueFrom", {}).get("secretKeyRef")
        if secret:
            made = "create secret generic %s --from-literal=%s=" % (secret["name"], secret["key"])
            check(made in deployed.read("deploy", "kubernetes", "kustomization.yaml"), "%s: nobody is told how to make the secret %s" % (where, secret))
    asked = set(re.findall(r"\$\((\w+)\)", " ".join(container.get("args", []))))
    check(asked <= known, "%s: the arguments ask for %s of %s" % (where, asked, known))
    for source in container.get("envFrom", []):
        check(source["configMapRef"]["name"] in objects.of("ConfigMap"), "%s: there is no %s" % (where, source))


def check_daemons(objects, processes, facts):
    deployment = objects.of("Deployment")["tickpathd"]
    spec, container = deployment["spec"]["template"]["spec"], only_container(deployment)
    settings = {**facts.image["env"], **objects.of("ConfigMap")["tickpathd"]["data"]}
    settings["TICKPATHD_REDIS"] = next(v["value"] for v in container["env"] if v["name"] == "TICKPATHD_REDIS").replace("$(REDIS_PASSWORD)", "Letters4digits")
    where = "kubernetes, tickpathd"
    check_settings(settings, facts, where)
    ports = container_ports(deployment)
    check(ports == {"clients": port_of(settings["TICKPATHD_LISTEN"]), "stats": port_of(settings["TICKPATHD_STATS"])}, "%s: ports %s" % (where, ports))
    check(deployment["spec"]["replicas"] >= 2, "%s: one alone" % where)
    check(deployment["spec"]["strategy"]["rollingUpdate"] == {"maxSurge": 1, "maxUnavailable": 0}, "%s: a daemon goes before another is ready" % where)
    pages = {probe: container[probe]["httpGet"]["path"] for probe in ("startupProbe", "readinessProbe", "livenessProbe")}
    check(pages == {"startupProbe": "/livez", "readinessProbe": "/readyz", "livenessProbe": "/livez"}, "%s: probes %s" % (where, pages))
    check(all(container[probe]["httpGet"]["port"] == "stats" for probe in pages), "%s: probes of another port" % where)
    hangs = container["livenessProbe"]["periodSeconds"] * container["livenessProbe"]["failureThreshold"]
    check(hangs >= 30, "%s: killed after %d s that a node may be slow for" % (where, hangs))
    check(spec["securityContext"]["runAsUser"] == facts.uid, "%s: the image's user is %d" % (where, facts.uid))
    check(spec["enableServiceLinks"] is False, "%s: the cluster makes TICKPATHD_ variables of services" % where)
    noticed = container["readinessProbe"]["periodSeconds"] * container["readinessProbe"]["failureThreshold"]
    delay = facts.number(settings, "TICKPATHD_DRAIN_DELAY_MS") / 1000
    check(delay > noticed, "%s: takes no connections before the cluster knows" % where)
    notes = deployment["spec"]["template"]["metadata"]["annotations"]
    wanted = {"prometheus.io/scrape": "true", "prometheus.io/port": str(port_of(settings["TICKPATHD_STATS"])), "prometheus.io/path": "/metrics"}
    check(notes == wanted, "%s: Prometheus is told %s" % (where, notes))
    grace = spec["terminationGracePeriodSeconds"]
    check(grace >= facts.end_s(settings), "%s: killed after %d s, before it has drained" % (where, grace))
    limits = container["resources"]["limits"]
    check(quantity(limits["memory"]) >= 1.5 * facts.number(settings, "TICKPATHD_NODE_BYTES_MAX"), "%s: search memory leaves too little of %s" % (where, limits))
    check(facts.number(settings, "TICKPATHD_THREADS") == quantity(limits["cpu"]), "%s: more threads than processors, or fewer" % where)
    check(container["resources"]["requests"] == limits and set(limits) == {"cpu", "memory"}, "%s: others may take its processor or memory" % where)
    check_secrets(objects, container)
    check({spread["topologyKey"] for spread in spec["topologySpreadConstraints"]} >= {"kubernetes.io/hostname"}, "%s: may all be on one node" % where)
    check_served(processes, settings, set(pages.values()), "kubernetes")


def check_secrets(objects, container):
    """What nobody may read in the manifests comes from Secrets; the live view's token may be left out, Redis' password may not."""
    secrets = {v["name"]: v["valueFrom"]["secretKeyRef"] for v in container["env"] if "valueFrom" in v}
    check(secrets == {
        "REDIS_PASSWORD": {"name": "tickpath-redis", "key": "password"},
        "TICKPATHD_STATS_TOKEN": {"name": "tickpath-view", "key": "token", "optional": True},
    }, "kubernetes, tickpathd: secrets %s" % secrets)
    plain = {**objects.of("ConfigMap")["tickpathd"]["data"], **{v["name"]: v["value"] for v in container["env"] if "value" in v}}
    told = [name for name, value in plain.items() if "TOKEN" in name or "PASSWORD" in name or re.search(r"://[^$]*:[^$(][^@]*@", value)]
    check(not told, "kubernetes, tickpathd: %s can be read by anybody" % told)


def check_redis_set(objects):
    redis = objects.of("StatefulSet")["redis"]
    container = only_container(redis)
    check(redis["spec"]["replicas"] == 1, "several Redis that know nothing of one another")
    options = check_redis(container["command"] + container["args"], container["volumeMounts"][0]["mountPath"], "kubernetes")
    check(options.get("--requirepass") == "$(REDIS_PASSWORD)", "kubernetes: Redis' password is %s" % options.get("--requirepass"))
    composed = deployed.compose()["services"]
    image = only_container(objects.of("Deployment")["tickpathd"])["image"]
    check(container["image"] == composed["redis"]["image"], "two Redis: %s, %s" % (container["image"], composed["redis"]["image"]))
    check(image == composed["tickpathd-a"]["image"], "two daemons: %s, %s" % (image, composed["tickpathd-a"]["image"]))
    renamed = [each["name"] + ":" + each["newTag"] for each in deployed.kustomization()["images"]]
    check(renamed == [image], "kustomization.yaml renames %s, not %s" % (renamed, image))


def check_network(objects):
    policies = list(objects.of("NetworkPolicy").values())
    labels = {name: each["spec"]["template"]["metadata"]["labels"] for name, each in objects.workloads().items()}
    redis, daemon = Pod(labels["redis"], HOME), Pod(labels["tickpathd"], HOME)
    client, stranger = Pod({"tickpath-client": "true"}, HOME), Pod({"app": "other"}, HOME)
    prometheus, names = Pod({}, "monitoring"), Pod({}, "kube-system")
    client_elsewhere, daemon_elsewhere = Pod(client.labels, "default"), Pod(daemon.labels, "default")
    for words, source, target, port, may in (
        ("a daemon to Redis", daemon, redis, 6379, True),
        ("a client to a daemon", client, daemon, 7878, True),
        ("Prometheus to a daemon's numbers", prometheus, daemon, 7879, True),
        ("a client to Redis", client, redis, 6379, False),
        ("Prometheus to Redis", prometheus, redis, 6379, False),
        ("anybody to Redis", stranger, redis, 6379, False),
        ("a daemon of another namespace to Redis", daemon_elsewhere, redis, 6379, False),
        ("a daemon to Redis, by another port", daemon, redis, 22, False),
        ("a client to a daemon's numbers", client, daemon, 7879, False),
        ("Prometheus to a daemon, as a client", prometheus, daemon, 7878, False),
        ("anybody to a daemon's numbers", stranger, daemon, 7879, False),
        ("a client of another namespace to a daemon's numbers", client_elsewhere, daemon, 7879, False),
        ("a daemon to another", daemon, daemon, 7878, False),
        ("a daemon to another's numbers", daemon, daemon, 7879, False),
        ("anybody to a daemon", stranger, daemon, 7878, False),
        ("a client of another namespace", client_elsewhere, daemon, 7878, False),
        ("Redis to a daemon", redis, daemon, 7878, False),
        ("Redis to anybody", redis, stranger, 80, False),
        ("a daemon to anybody", daemon, stranger, 80, False),
    ):
        check(may_reach(policies, HOME, source, target, port) == may, "%s: %s" % (words, "may not" if may else "may"))
    check(may_reach(policies, HOME, daemon, names, 53, "UDP"), "a daemon can't look up Redis' name")
    note = "tickpath-client: \"true\""
    check(note in deployed.read("deploy", "kubernetes", "kustomization.yaml"), "nobody is told of the label %s" % note)


def check_manifests(objects, processes, facts):
    check_selectors(objects)
    for name, each in objects.workloads().items():
        check_workload(name, each, objects, facts)
    check_daemons(objects, processes, facts)
    check_redis_set(objects)
    check_network(objects)


# ---- all of them ----


def check_heads():
    """Each file opens with what it is, and the operators' page names it."""
    page = deployed.read("deploy", "OPERATING.md")
    for folder, _, names in os.walk(deployed.DEPLOY):
        for name in names:
            path = os.path.relpath(os.path.join(folder, name), ROOT)
            if name.endswith((".json", ".md")) or path.startswith("deploy/debian/"):  # they have no comments, or forms of their own
                continue
            lines = deployed.read(path).splitlines()
            check(lines[0].startswith("#") and lines[1].startswith(("#", "/*")), "%s does not say what it is" % path)
            if not name.endswith(".sh"):
                named = path if folder == deployed.DEPLOY else os.path.dirname(path) + "/"
                check("`%s`" % named in page, "OPERATING.md does not name %s" % named)


def main():
    facts, objects = Facts(), Objects()
    folder = tempfile.mkdtemp(prefix="tickpath-deploy-")
    try:
        with Processes(folder) as processes:
            check_dockerfile(facts)
            check_compose(processes, facts)
            if check_shapes(objects):
                check_manifests(objects, processes, facts)
    finally:
        shutil.rmtree(folder)
    check_heads()
    return close()


if __name__ == "__main__":
    sys.exit(main())
