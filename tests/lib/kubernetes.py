"""The shapes of the Kubernetes objects that deploy/kubernetes/ uses, as far as it uses them, and what selects what.

SHAPES is written by hand from the API's reference (1.25 and newer): a field that is not in it is refused, as a misspelt one
would be dropped by a cluster without a word. A new field wants a line here.
"""

STRING, NUMBER, BOOL, QUANTITY = "a string", "a number", "true or false", "a quantity"
LABELS = {"*": STRING}
META = {"name!": STRING, "labels": LABELS}
SELECTOR = {"matchLabels!": LABELS}
PROBE = {
    "httpGet": {"path!": STRING, "port!": STRING},
    "tcpSocket": {"port!": STRING},
    "periodSeconds": NUMBER,
    "timeoutSeconds": NUMBER,
    "failureThreshold": NUMBER,
}
CONTAINER = {
    "name!": STRING,
    "image!": STRING,
    "command": [STRING],
    "args": [STRING],
    "envFrom": [{"configMapRef!": {"name!": STRING}}],
    "env": [{"name!": STRING, "value": STRING, "valueFrom": {"secretKeyRef!": {"name!": STRING, "key!": STRING, "optional": BOOL}}}],
    "ports": [{"name!": STRING, "containerPort!": NUMBER}],
    "startupProbe!": PROBE,
    "readinessProbe!": PROBE,
    "livenessProbe!": PROBE,
    "resources!": {"requests!": {"*": QUANTITY}, "limits!": {"*": QUANTITY}},
    "securityContext!": {
        "allowPrivilegeEscalation!": BOOL,
        "readOnlyRootFilesystem!": BOOL,
        "capabilities!": {"drop!": [STRING]},
    },
    "volumeMounts": [{"name!": STRING, "mountPath!": STRING}],
}
POD = {
    "metadata!": {"labels!": LABELS, "annotations": LABELS},
    "spec!": {
        "automountServiceAccountToken": BOOL,
        "enableServiceLinks": BOOL,
        "terminationGracePeriodSeconds!": NUMBER,
        "securityContext!": {
            "runAsNonRoot!": BOOL,
            "runAsUser!": NUMBER,
            "runAsGroup!": NUMBER,
            "fsGroup": NUMBER,
            "seccompProfile!": {"type!": STRING},
        },
        "topologySpreadConstraints": [
            {"maxSkew!": NUMBER, "topologyKey!": STRING, "whenUnsatisfiable!": STRING, "labelSelector!": SELECTOR}
        ],
        "containers!": [CONTAINER],
    },
}
PEER = {"podSelector": SELECTOR, "namespaceSelector": SELECTOR}
PORTS = [{"protocol!": STRING, "port!": NUMBER}]
SHAPES = {
    ("v1", "ConfigMap"): {"data!": {"*": STRING}},
    ("v1", "Service"): {
        "spec!": {
            "clusterIP": STRING,
            "selector!": LABELS,
            "ports!": [{"name!": STRING, "port!": NUMBER, "targetPort!": STRING}],
        }
    },
    ("apps/v1", "Deployment"): {
        "spec!": {
            "replicas!": NUMBER,
            "strategy": {"type!": STRING, "rollingUpdate": {"maxSurge!": NUMBER, "maxUnavailable!": NUMBER}},
            "selector!": SELECTOR,
            "template!": POD,
        }
    },
    ("apps/v1", "StatefulSet"): {
        "spec!": {
            "serviceName!": STRING,
            "replicas!": NUMBER,
            "selector!": SELECTOR,
            "template!": POD,
            "volumeClaimTemplates": [
                {
                    "metadata!": META,
                    "spec!": {"accessModes!": [STRING], "resources!": {"requests!": {"storage!": QUANTITY}}},
                }
            ],
        }
    },
    ("policy/v1", "PodDisruptionBudget"): {
        "spec!": {"minAvailable": NUMBER, "maxUnavailable": NUMBER, "selector!": SELECTOR}
    },
    ("networking.k8s.io/v1", "NetworkPolicy"): {
        "spec!": {
            "podSelector!": SELECTOR,
            "policyTypes!": [STRING],
            "ingress": [{"from!": [PEER], "ports!": PORTS}],
            "egress": [{"to!": [PEER], "ports!": PORTS}],
        }
    },
}
UNITS = {"": 1, "m": 1e-3, "k": 1e3, "M": 1e6, "G": 1e9, "Ki": 2**10, "Mi": 2**20, "Gi": 2**30}


def quantity(text):
    """A quantity's number: of bytes, or of processors. None when it is none."""
    text = str(text)
    number = text.rstrip("".join(set("".join(UNITS))))
    try:
        return float(number) * UNITS[text[len(number) :]]
    except (ValueError, KeyError):
        return None


def misfits(value, shape, path):
    """What in a value is not as its shape says, in words."""
    if isinstance(shape, list):
        if not isinstance(value, list):
            return ["%s is no list" % path]
        return [words for i, each in enumerate(value) for words in misfits(each, shape[0], "%s[%d]" % (path, i))]
    if isinstance(shape, dict):
        if not isinstance(value, dict):
            return ["%s has no fields" % path]
        if "*" in shape:
            return [words for name, each in value.items() for words in misfits(each, shape["*"], "%s.%s" % (path, name))]
        found = ["%s lacks %s" % (path, name[:-1]) for name in shape if name[-1] == "!" and name[:-1] not in value]
        for name, each in value.items():
            known = shape.get(name, shape.get(name + "!"))
            found += misfits(each, known, "%s.%s" % (path, name)) if known else ["%s.%s is not known" % (path, name)]
        return found
    fits = {
        STRING: isinstance(value, str),
        NUMBER: isinstance(value, int) and not isinstance(value, bool),
        BOOL: isinstance(value, bool),
        QUANTITY: isinstance(value, (str, int)) and quantity(value) is not None,
    }
    return [] if fits[shape] else ["%s is not %s: %r" % (path, shape, value)]


def misfits_of(each):
    """The same of a whole object, by its kind."""
    shape = SHAPES.get((each.get("apiVersion"), each.get("kind")))
    if shape is None:
        return ["%s %s is not known" % (each.get("apiVersion"), each.get("kind"))]
    shape = {"apiVersion!": STRING, "kind!": STRING, "metadata!": META, **shape}
    return misfits(each, shape, "%s %s" % (each["kind"], each.get("metadata", {}).get("name")))


def selects(selector, labels):
    """Whether a set of labels, of a selector, is among others."""
    return all(labels.get(name) == value for name, value in selector.items())


class Pod:
    """A pod of some namespace, as NetworkPolicies see it."""

    def __init__(self, labels, namespace):
        self.labels, self.namespace = labels, namespace

    def is_peer(self, peer, home):
        if "namespaceSelector" in peer:
            names = {"kubernetes.io/metadata.name": self.namespace}
            if not selects(peer["namespaceSelector"]["matchLabels"], names):
                return False
        elif self.namespace != home:
            return False
        return "podSelector" not in peer or selects(peer["podSelector"]["matchLabels"], self.labels)


def may_reach(policies, home, source, target, port, protocol="TCP"):
    """Whether the policies of the namespace `home` let one pod connect to another's port."""

    def lets(pod, other, kind, rules, peers):
        own = [p["spec"] for p in policies if pod.namespace == home and selects(p["spec"]["podSelector"]["matchLabels"], pod.labels)]
        own = [spec for spec in own if kind in spec["policyTypes"]]
        return not own or any(
            (protocol, port) in [(each["protocol"], each["port"]) for each in rule["ports"]]
            and any(other.is_peer(peer, home) for peer in rule[peers])
            for spec in own
            for rule in spec.get(rules, [])
        )

    return lets(source, target, "Egress", "egress", "to") and lets(target, source, "Ingress", "ingress", "from")
