#!/usr/bin/env python3
"""Runs tickpath's tests: Check programs and check_* scripts, a few at a time, and counts what they say.

    tests/run.py [--jobs N] [--timeout SECONDS] [--logs FOLDER] PROGRAM...

One line a program, the output of those that failed, then Check-style totals and `N passed, N failed`.

A program's checks are counted from its "NN%: Checks: N, Failures: N, Errors: N" lines. A crash, a timeout, an exit
status that the counts don't explain, a Check program that ran no test, and a process left running are failures too.
A check_* script that prints no such line is one check; its exit status decides (77: skipped, with the reason printed).
A program gets a temporary folder of its own in TMPDIR, which goes when it ends; a program that ended by itself and
left something there has failed. A line that starts with "skip", "skipped" or "skipping" says that something was skipped; under TICKPATH_NO_SKIP=1
that is a failure.
"""

import argparse
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

TOTALS = re.compile(r"^\d+%: Checks: (\d+), Failures: (\d+), Errors: (\d+)", re.MULTILINE)
SKIPPED = re.compile(r"^\W*skip(ped|ping)?\b.*$", re.MULTILINE | re.IGNORECASE)
OUTPUT_LINES_MAX = 200  # of a failed program, shown from its end
LEFT_OVER_GRACE_S = 1.0  # for what a program started to end after it


def is_script(path):
    return os.path.basename(path).startswith("check_")


def python_with_modules():
    """The python3 that the scripts run under: the first that has what they import, for the PATH may name another one."""
    for python in (os.environ.get("TICKPATH_PYTHON"), "python3", "/usr/bin/python3"):
        if python and subprocess.call([python, "-c", "import google.protobuf, yaml, jsonschema, prometheus_client"], stderr=subprocess.DEVNULL) == 0:
            return python
    return sys.executable


def environment():
    env = dict(os.environ)
    # Check's own limit is 4 seconds a test case, made for plain builds on idle machines.
    env.setdefault("CK_DEFAULT_TIMEOUT", "900" if env.get("TICKPATH_LONG") == "1" else "60")
    env.setdefault("ASAN_OPTIONS", "detect_leaks=1:strict_string_checks=1:detect_stack_use_after_return=1")
    env.setdefault("UBSAN_OPTIONS", "print_stacktrace=1")
    env.setdefault("TICKPATH_PYTHON", python_with_modules())
    return env


def session_members(session):
    """Processes of a session that we made with setsid: all that a program started and did not detach."""
    members = []
    for name in os.listdir("/proc"):
        if not name.isdigit():
            continue
        try:
            with open("/proc/%s/stat" % name, "rb") as stat:
                fields = stat.read().rpartition(b")")[2].split()
        except OSError:
            continue
        if int(fields[3]) == session and fields[0] != b"Z":
            members.append(int(name))
    return members


def kill_session(session):
    for pid in session_members(session):
        try:
            os.kill(pid, signal.SIGKILL)
        except OSError:
            pass


class Result:
    def __init__(self, path):
        self.path = path
        self.passed = self.failed = self.failures = self.errors = 0
        self.skips = []
        self.problems = []
        self.output = ""
        self.seconds = 0.0

    def problem(self, words):
        self.problems.append(words)
        self.errors += 1
        self.failed += 1


RUNNING = set()  # sessions under way
STOPPED = []  # signals that stopped all


def run(path, timeout_s, env, log_path):
    # A short name: paths in it go into addresses and fixed buffers.
    folder = tempfile.mkdtemp(prefix="tickpath-")
    try:
        return run_in(folder, path, timeout_s, dict(env, TMPDIR=folder), log_path)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def run_in(folder, path, timeout_s, env, log_path):
    result = Result(path)
    command = [env["TICKPATH_PYTHON"], path] if path.endswith(".py") else [path]
    started = time.monotonic()
    with open(log_path, "w+b") as log:
        try:
            process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT, env=env, start_new_session=True
            )
        except OSError as error:
            result.problem("could not be started: %s" % error)
            return result
        RUNNING.add(process.pid)
        if STOPPED:  # meanwhile: whoever stopped all did not see it
            kill_session(process.pid)
        timed_out = False
        try:
            status = process.wait(timeout_s)
        except subprocess.TimeoutExpired:
            timed_out = True
            kill_session(process.pid)
            status = process.wait()
        grace_end = time.monotonic() + LEFT_OVER_GRACE_S
        left = session_members(process.pid)
        while left and time.monotonic() < grace_end:
            time.sleep(0.05)
            left = session_members(process.pid)
        kill_session(process.pid)
        RUNNING.discard(process.pid)
        log.seek(0)
        result.output = log.read().decode("utf-8", "replace")
    result.seconds = time.monotonic() - started
    judge(result, status, timed_out, timeout_s, len(left))
    left_files = os.listdir(folder)
    if left_files and not result.failed:
        result.problem("left in its temporary folder: " + " ".join(sorted(left_files)[:5]))
    return result


def judge(result, status, timed_out, timeout_s, left):
    totals = TOTALS.findall(result.output)
    checks = sum(int(t[0]) for t in totals)
    result.failures = sum(int(t[1]) for t in totals)
    result.errors = sum(int(t[2]) for t in totals)
    result.failed = result.failures + result.errors
    result.passed = checks - result.failed
    result.skips = [m.group(0).strip() for m in SKIPPED.finditer(result.output)]
    if is_script(result.path) and not totals:
        if status == 77:
            result.skips = result.skips or ["skipped without a reason"]
        elif status == 0 and not timed_out:
            result.passed = 1
    if timed_out:
        result.problem("still running after %g s, killed" % timeout_s)
    elif status < 0:
        result.problem("killed by signal %d" % -status)
    elif status != 0 and result.failed == 0 and not (status == 77 and is_script(result.path)):
        result.problem("exit status %d" % status)
    elif status == 0 and checks == 0 and not is_script(result.path):
        result.problem("ran no test")
    if left and not timed_out:
        result.problem("left %d process%s running" % (left, "es" if left > 1 else ""))
    if result.skips and os.environ.get("TICKPATH_NO_SKIP") == "1":
        result.problem("skipped something, and TICKPATH_NO_SKIP=1 says that nothing may be")


def name_of(path):
    parts = os.path.normpath(path).split(os.sep)
    return "/".join(parts[parts.index("tests") + 1 :] if "tests" in parts else parts[-1:])


def report(result):
    word = "FAIL" if result.failed else "skip" if result.skips and not result.passed else "ok"
    print(
        "%-4s  %-40s %5d passed %3d failed %7.1f s%s"
        % (
            word,
            name_of(result.path),
            result.passed,
            result.failed,
            result.seconds,
            "".join("  " + p for p in result.problems),
        )
    )
    if result.failed:
        lines = result.output.splitlines()
        if len(lines) > OUTPUT_LINES_MAX:
            print("      | (%d lines left out)" % (len(lines) - OUTPUT_LINES_MAX))
        for line in lines[-OUTPUT_LINES_MAX:]:
            # A failed program's own totals must not be taken for ours by whoever reads our output.
            print("      | " + line)
    else:
        for skip in result.skips:
            print("      - " + skip)
    sys.stdout.flush()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--timeout", type=float, default=120.0, help="seconds for one program")
    parser.add_argument("--logs", default="build/test-logs", help="folder for each program's output")
    parser.add_argument("programs", nargs="*")
    options = parser.parse_args()

    os.makedirs(options.logs, exist_ok=True)
    env = environment()
    waiting = list(options.programs)
    results = []
    lock = threading.Lock()

    def worker():
        while True:
            with lock:
                if not waiting:
                    return
                path = waiting.pop(0)
            log_path = os.path.join(options.logs, name_of(path).replace("/", "-") + ".log")
            result = run(path, options.timeout, env, log_path)
            with lock:
                results.append(result)
                report(result)

    def stop(number, _frame):
        STOPPED.append(number)
        waiting.clear()
        for session in list(RUNNING):
            kill_session(session)

    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, stop)

    started = time.monotonic()
    workers = [threading.Thread(target=worker) for _ in range(max(1, options.jobs))]
    for thread in workers:
        thread.start()
    for thread in workers:
        thread.join()

    passed = sum(r.passed for r in results)
    failed = sum(r.failed for r in results)
    skipped = sum(len(r.skips) for r in results)
    if STOPPED:
        print("stopped by signal %d, with %d of %d programs run" % (STOPPED[0], len(results), len(options.programs)))
        failed += 1
    if passed + failed == 0:
        print("no test was run")
        failed += 1
    bad = [name_of(r.path) for r in results if r.failed]
    if bad:
        print("failed: " + " ".join(bad))
    if skipped:
        print("%d skipped (see the lines above)" % skipped)
    print("%d programs in %.0f s" % (len(results), time.monotonic() - started))
    print(
        "%d%%: Checks: %d, Failures: %d, Errors: %d"
        % (
            100 * passed // (passed + failed),
            passed + failed,
            failed - sum(r.errors for r in results),
            sum(r.errors for r in results),
        )
    )
    print("%d passed, %d failed" % (passed, failed))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
