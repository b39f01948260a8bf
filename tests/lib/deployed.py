"""What the files of deploy/ and the Dockerfile say, read by their own formats' parsers, for the checks of them."""

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


def dockerfile():
    """{"stages": their names, "env": what ENV sets in the last one, "expose": its ports, "user": its user}"""
    said = {"stages": [], "env": {}, "expose": [], "user": None}
    for line in re.sub(r"\\\n", " ", read("Dockerfile")).splitlines():
        word, _, rest = line.partition(" ")
        if word == "FROM":
            said["env"], said["expose"], said["user"] = {}, [], None
            said["stages"] += re.findall(r" AS (\S+)", rest)
        elif word == "ENV":
            said["env"].update(part.split("=", 1) for part in shlex.split(rest))
        elif word == "EXPOSE":
            said["expose"] += [int(port) for port in rest.split()]
        elif word == "USER":
            said["user"] = rest.strip()
    return said


def compose():
    return yaml.safe_load(read("deploy", "compose.yaml"))


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
