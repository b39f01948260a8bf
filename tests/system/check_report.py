#!/usr/bin/env python3
"""`tickpath report --quick`: the page it writes, that it goes on where it was, and that it fails when a claim does.

Run by tests/run.py; TICKPATH_BIN is the folder of the programs.
"""

import glob
import os
import re
import shutil
import subprocess
import sys
import tempfile

BIN = os.environ.get("TICKPATH_BIN", "build")
TABLES = "client/papers"
failures = []


def report(folder, tables=TABLES):
    command = [os.path.join(BIN, "tickpath"), "report", "--quick", "--results", folder, "--tables", tables]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, universal_newlines=True)
    return done.returncode, done.stdout, done.stderr


def expect(condition, words, output=""):
    if not condition:
        failures.append(words)
        print("FAILED: %s\n%s" % (words, output))


def to_run(stderr):
    found = re.search(r"(\d+) cells, (\d+) to run", stderr)
    return int(found.group(2)) if found else None


def names(text):
    return re.findall(r"^\[(.+)\]$", text, re.MULTILINE)


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def write(path, text):
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


def first_run(folder):
    status, out, err = report(folder)
    expect(status == 0, "the quick form holds every claim that it judges", out + err)
    expect("; 0 cells failed" in out, "no cell fails", out + err)


def not_in_quick(text):
    """Experiments that have no rows in the quick form."""
    rows = {}
    for name, block in re.findall(r"^\[(.+?)\]$(.*?)(?=^\[|\Z)", text, re.MULTILINE | re.DOTALL):
        like = re.search(r"^like\s+(\S+)", block, re.MULTILINE)
        own = re.search(r"^rows\s+\d+ quick (\d+)", block, re.MULTILINE)
        rows[name] = own.group(1) if own else rows[like.group(1)]
    return {name for name, count in rows.items() if count == "0"}


def page(folder):
    html = read(os.path.join(folder, "report.html"))
    for name in names(read(TABLES + "/claims.txt")):
        expect('<tr id="%s">' % name in html, "the page has the claim " + name)
    for name in names(read(TABLES + "/figures.txt")):
        expect('<h2 id="%s">' % name in html, "the page has the figure " + name)
    left_out = not_in_quick(read(TABLES + "/experiments.txt"))
    plots = sum("noplot" not in line and line.split()[1] not in left_out
                for line in read(TABLES + "/figures.txt").splitlines() if line.startswith("plot "))
    expect(html.count("<svg") == plots, "the page has %d plots, not %d" % (plots, html.count("<svg")))
    expect("currentColor" in html, "the plots follow the page's colour")
    expect(not re.search(r'(src|href)="(?!#)', html.replace("xlink:", "")), "the page needs nothing outside it")
    expect("nan" not in re.sub(r"<svg.*?</svg>", "", html, flags=re.DOTALL), "no figure is undefined")


def goes_on(folder):
    status, out, err = report(folder)
    expect(status == 0 and to_run(err) == 0, "a second run runs no cell", out + err)
    results = sorted(glob.glob(folder + "/quick/*.tsv"))
    os.remove(results[0])
    write(results[1], read(results[1]).replace("0.", "9.", 1))
    status, out, err = report(folder)
    expect(status == 0 and to_run(err) == 2, "a result that is gone or of another version is made again", out + err)


def judges(folder, tables):
    shutil.copytree(TABLES, tables)
    claims, exceptions = tables + "/claims.txt", tables + "/exceptions.txt"
    texts = read(claims), read(exceptions)
    write(exceptions, texts[1] + "\n[tba-falls-with-R]\nreason  none\n")
    status, out, _ = report(folder, tables)
    expect(status == 1 and "EXCEPTION HOLDS AGAIN  tba-falls-with-R" in out, "an exception that holds again fails", out)
    false_claim = "\n[false]\npaper   none\nsays    none\nholds   subopt[tba tba 10] < subopt[tba tba 1000]\n"
    write(claims, texts[0] + false_claim)
    write(exceptions, texts[1])
    status, out, _ = report(folder, tables)
    expect(status == 1 and "DOES NOT HOLD          false" in out, "a claim that does not hold fails", out)
    write(exceptions, texts[1] + "\n[false]\nreason  it is made to be false\n")
    status, out, _ = report(folder, tables)
    expect(status == 0 and "exception              false" in out, "a reviewed exception does not fail", out)
    write(claims, texts[0] + false_claim.replace("[false]", "[absent]").replace("tba tba 10]", "tba none 10]"))
    write(exceptions, texts[1])
    status, out, _ = report(folder, tables)
    expect(status == 1 and "NOT MEASURED           absent" in out, "a claim that is not measured fails", out)
    write(claims, texts[0] + false_claim.replace("<", "~"))
    status, _, err = report(folder, tables)
    expect(status == 1 and re.search(r"claims\.txt:\d+: \[false\] expected < or >", err), "a wrong line is named", err)


def main():
    with tempfile.TemporaryDirectory() as folder:
        results = os.path.join(folder, "papers")
        first_run(results)
        if not failures:
            page(results)
            goes_on(results)
            judges(results, os.path.join(folder, "tables"))
    print("report: %d failures" % len(failures))
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
