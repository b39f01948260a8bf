"""What the files of deploy/ and the Dockerfile say, read by their own formats' parsers, for the checks of them."""

import json
import os
import re
import shlex

import yaml

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
DEPLOY = os.path.join(ROOT, "deploy")
MANIFESTS = os.path.join(DEPLOY, "kubernetes")


def read(*path):
    with open(os.path.join(ROOT, *path), encoding="utf-8") as file:
        return file.read()


DOCKER_WORDS = ("FROM", "WORKDIR", "COPY", "RUN", "USER", "VOLUME", "ENV", "EXPOSE", "HEALTHCHECK", "ENTRYPOINT")


def docker_lines():
    """The Dockerfile's instructions: [(word, rest)], lines that go on joined. One that is not known here is a ValueError."""
    text = re.sub(r"^#.*\n", "", read("Dockerfile"), flags=re.MULTILINE)
    lines = [line.partition(" ") for line in re.sub(r"\\\n", " ", text).splitlines() if line.strip()]
    unknown = [word for word, _, _ in lines if word not in DOCKER_WORDS]
    if unknown or lines[0][0] != "FROM":
        raise ValueError("the Dockerfile has instructions that nothing here carries out: %s" % unknown)
    return [(word, " ".join(rest.split()) if word != "RUN" else rest.strip()) for word, _, rest in lines]


def docker_copy(rest):
    """(options, sources, target) of a COPY."""
    words = rest.split()
    options = dict(word[2:].split("=", 1) for word in words if word.startswith("--"))
    names = [word for word in words if not word.startswith("--")]
    return options, names[:-1], names[-1]


def dockerfile():
    """{"stages": their names, "base": the image of the last one; and of that: "env": what it sets, "expose": its ports, "user", "workdir",
    "volumes", "entrypoint", "health": the command of its HEALTHCHECK}"""
    said = {"stages": []}
    for word, rest in docker_lines():
        if word == "FROM":
            base, _, name = rest.partition(" AS ")
            said = {"stages": [*said["stages"], name], "base": base, "env": {}, "expose": [], "volumes": []}
            said.update(dict.fromkeys(("user", "workdir", "entrypoint", "health")))
        elif word == "ENV":
            said["env"].update(part.split("=", 1) for part in shlex.split(rest))
        elif word == "EXPOSE":
            said["expose"] += [int(port) for port in rest.split()]
        elif word == "VOLUME":
            said["volumes"] += rest.split()
        elif word in ("USER", "WORKDIR"):
            said[word.lower()] = rest
        elif word == "ENTRYPOINT":
            said["entrypoint"] = json.loads(rest)
        elif word == "HEALTHCHECK":
            said["health"] = json.loads(rest.partition(" CMD ")[2])
    return said


def compose():
    """As it is where none of the variables is set that it asks for."""
    return yaml.safe_load(re.sub(r"\$\{\w+:-([^}]*)\}", r"\1", read("deploy", "compose.yaml")))


def compose_daemons(services):
    """The names of the services that run the project's own image, in the file's order."""
    return [name for name, service in services.items() if service["image"].split(":")[0] == "tickpath"]


def kustomization():
    return yaml.safe_load(read("deploy", "kubernetes", "kustomization.yaml"))


def manifests():
    """Every object of the kustomization's resources, in their order."""
    return [each for path in kustomization()["resources"] for each in yaml.safe_load_all(read("deploy", "kubernetes", path))]


def haproxy():
    """(its lines as lists of words, without comments; {variable: default})"""
    text = read("deploy", "haproxy.cfg")
    lines = [shlex.split(line, comments=True) for line in text.splitlines()]
    variables = re.findall(r"\$\{?([A-Za-z_]+)(?:-([^}]*)\})?", re.sub(r"^\s*#.*$", "", text, flags=re.MULTILINE))
    return [line for line in lines if line], dict(variables)
