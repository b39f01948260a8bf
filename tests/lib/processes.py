"""Real programs that a check_*.py script runs, as processes of its own, on loopback.

    with Processes(folder) as processes:
        daemon = processes.start("a", ["build/tickpathd"], {"TICKPATHD_LISTEN": "127.0.0.1:%d" % port})
        wait_for(lambda: http(stats_port, "/readyz")[0] == 200)
        ...
        daemon.kill()

What is started is ended by its pid, on every way out; its output is in folder/NAME.log, all starts' one after the other. Nothing
waits without a bound.
"""

import os
import socket
import subprocess
import time
import urllib.error
import urllib.request

WAIT_S = 30  # longest wait for anything; a machine that is busy with other tests is slow
POLL_S = 0.02
# Asks the machine itself, whatever proxy the environment names.
_opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))


def free_ports(count):
    """Ports of loopback that were free a moment ago, each another one."""
    holders = [socket.socket() for _ in range(count)]
    for holder in holders:
        holder.bind(("127.0.0.1", 0))
    ports = [holder.getsockname()[1] for holder in holders]
    for holder in holders:
        holder.close()
    return ports


def wait_for(condition, seconds=WAIT_S):
    """Asks until the answer is true, and gives that; gives the last answer when the time is over."""
    end = time.monotonic() + seconds
    while True:
        answer = condition()
        if answer or time.monotonic() >= end:
            return answer
        time.sleep(POLL_S)


def http(port, page, seconds=5):
    """(status, text) of a page of loopback; (0, why) when nobody answers."""
    try:
        with _opener.open("http://127.0.0.1:%d%s" % (port, page), timeout=seconds) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()
    except OSError as error:
        return 0, str(error)


class Process:
    def __init__(self, log_path, command, environment, executable, enter):
        self.log_path = log_path
        with open(log_path, "ab") as log:
            self.popen = subprocess.Popen(
                command,
                executable=executable,
                cwd=os.path.dirname(log_path),
                env=environment if enter else {**os.environ, **environment},
                preexec_fn=enter,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
            )
        self.pid = self.popen.pid

    def log(self):
        with open(self.log_path, encoding="utf-8", errors="replace") as log:
            return log.read()

    def is_running(self):
        return self.popen.poll() is None

    def wait(self, seconds=WAIT_S):
        """The exit status (of a signal, its number below 0); None when it still runs."""
        try:
            return self.popen.wait(seconds)
        except subprocess.TimeoutExpired:
            return None

    def terminate(self):
        self.popen.terminate()

    def kill(self):
        self.popen.kill()
        self.popen.wait()


class Processes:
    def __init__(self, folder):
        self.folder = folder
        self.started = []

    def start(self, name, command, environment=None, executable=None, enter=None):
        """`executable`: the program, where it is to see another name in command[0]. `enter`: a function that the new process calls before it
        runs the command; the environment is then all that it has."""
        process = Process(os.path.join(self.folder, name + ".log"), command, environment or {}, executable, enter)
        self.started.append(process)
        return process

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for process in self.started:
            if process.is_running():
                process.kill()
