"""As much of PromQL as the queries of deploy/ need to be held against a daemon's numbers.

    numbers = promql.exposition(text)            {family: Family} of a page of /metrics
    promql.faults(query, numbers)                what in a query does not fit them, in words

A metric must be there, by its whole name; what is read over a time must be a counter's (or a histogram's parts), and a counter is
read in no other way; quantiles are of buckets, by le; a label that is matched, grouped by or written must be one of the metrics', and a
value that is matched one of the label's.
"""

import re

SCRAPED = {"job", "instance"}  # what Prometheus puts to each
RATES = {"rate", "increase", "irate"}
OVER_TIME = RATES | {"resets", "changes"}
SELECTOR = re.compile(r"\b(?P<name>(?:tickpath[a-z_:0-9]*|up|ALERTS))(?P<labels>\{[^}]*\})?(?P<range>\[[^\]]+\])?")
MATCHER = re.compile(r'(\w+)\s*(=~|!~|!=|=)\s*"([^"]*)"')


class Family:
    def __init__(self, kind):
        self.kind, self.labels = kind, {}  # label: the values it has


def exposition(text):
    families = {}
    for line in text.splitlines():
        if line.startswith("# TYPE "):
            _, _, name, kind = line.split()
            families[name] = Family(kind)
        elif line and not line.startswith("#"):
            name, labels = re.match(r"([a-z_:0-9]+)(?:\{(.*)\})? ", line).groups()
            family = families.get(name) or families[re.sub(r"_(bucket|sum|count)$", "", name)]
            for label, value in re.findall(r'(\w+)="([^"]*)"', labels or ""):
                family.labels.setdefault(label, set()).add(value)
    return families


def kind_of(name, numbers):
    """(kind, labels) of a series' name; None when there is none."""
    if name in numbers and numbers[name].kind != "histogram":
        return numbers[name].kind, numbers[name].labels
    base, _, part = name.rpartition("_")
    if part in ("bucket", "sum", "count") and base in numbers and numbers[base].kind == "histogram":
        return part if part == "bucket" else "counter", {**numbers[base].labels} if part == "bucket" else {}
    return None


def faults(query, numbers, recorded=()):
    """`recorded`: names that the rules make."""
    found, known, kinds = [], set(SCRAPED), []
    for match in SELECTOR.finditer(query):
        name, function = match["name"], re.search(r"(\w+)\s*\(\s*$", query[: match.start()])
        function = function.group(1) if function else None
        if name in ("up", "ALERTS") or name in recorded:
            continue
        told = kind_of(name, numbers)
        if told is None:
            found.append("there is no %s" % name)
            continue
        kind, labels = told
        kinds.append(kind)
        known |= set(labels)
        is_counted = kind in ("counter", "bucket")
        if (function in OVER_TIME) != bool(match["range"]):
            found.append("%s: a range where there should be none, or none where there should" % name)
        if function in RATES and not is_counted:
            found.append("%s is a %s: it has no rate" % (name, kind))
        if is_counted and function not in OVER_TIME:
            found.append("%s is a %s: what it is since its start says nothing" % (name, kind))
        for label, how, value in MATCHER.findall(match["labels"] or ""):
            if label not in labels and label not in SCRAPED:
                found.append("%s has no label %s" % (name, label))
            elif label in labels:
                wanted = value.split("|") if "~" in how else [value]
                found += ["%s: %s is never %s" % (name, label, each) for each in wanted if each not in labels[label]]
    for group in re.findall(r"\b(?:by|without|on)\s*\(([^)]*)\)", query):
        names = {label.strip() for label in group.split(",")}
        found += ["nothing has the label %s" % label for label in sorted(names - known)]
        if "bucket" in kinds and "le" not in names:
            found.append("quantiles without le")
    if ("histogram_quantile" in query) != ("bucket" in kinds):
        found.append("quantiles of what are no buckets, or buckets without quantiles")
    if not SELECTOR.search(query):
        found.append("it asks for nothing")
    return found


def labels_of(query):
    """The labels that its answer has, where the query says so by grouping; else None."""
    groups = re.findall(r"\bby\s*\(([^)]*)\)", query)
    return {label.strip() for label in groups[0].split(",")} if groups else None
