#!/usr/bin/python3
"""The stats port among those who mean no good: half requests, nonsense, crowds that send and read a byte now and then, many who ask for a
large map at once, streams that nobody reads, clients that take all descriptors. A probe must be answered all the while, memory stay bounded, and the daemon end well. Prints
totals in Check's form."""

import http.client
import json
import os
import resource
import select
import socket
import sys
import tempfile
import threading
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(ROOT, "tests", "lib"))
from checks import check, close  # noqa: E402
from processes import Processes, free_ports, http as fetch, wait_for  # noqa: E402

BIN = os.path.join(ROOT, os.environ.get("TICKPATH_BIN") or "build")
SIDE = 2048        # of the large map
CROWD = 200        # more than the port takes at a time
PROBE_S = 4        # an answer on a machine that is busy with other tests; a crowd that is not held off costs tens of seconds
CUT_S = 25         # in which streams that nobody reads are cut off; 5 s, on a machine that is not busy
GROWTH_MIB = 300   # under ASan, which keeps what was freed
END = b"\r\nHost: localhost\r\nConnection: close\r\n\r\n"

# (what is sent, the status that is answered; None: nothing, and the connection is closed)
REQUESTS = (
    (b"GET /livez HTTP/1.1" + END, 200),
    (b"GET /%6civez HTTP/1.1" + END, 200),
    (b"GET /livez HTTP/1.0\r\n\r\n", 200),
    (b"GET /./livez HTTP/1.1" + END, 404),
    (b"GET //livez HTTP/1.1" + END, 404),
    (b"GET /view/../../etc/passwd HTTP/1.1" + END, 404),
    (b"GET http://elsewhere/livez HTTP/1.1" + END, 404),
    (b"OPTIONS * HTTP/1.1" + END, 405),
    (b"DELETE /stats HTTP/1.1" + END, 405),
    (b"CONNECT a:1 HTTP/1.1" + END, 405),
    (b"POST /livez HTTP/1.1\r\nContent-Length: 100000000" + END + b"x" * 100, 405),
    (b"POST /livez HTTP/1.1\r\nTransfer-Encoding: chunked" + END + b"ffffffffffffffff\r\nx", 405),
    (b"GET /livez HTTP/1.1\r\nContent-Length: -1" + END, 400),
    (b"GET /livez HTTP/1.1\r\nContent-Length: 5" + END + b"12345", None),
    (b"GET /livez HTTP/1.1\r\nX: " + b"x" * 40000 + END, 431),
    (b"GET /livez HTTP/1.1\r\n" + b"X: y\r\n" * 3000 + b"\r\n", 431),
    (b"GET /" + b"a" * 20000 + b" HTTP/1.1" + END, 414),
    (b"GET /metrics HTTP/1.1\r\nAccept: " + b"\",;=q" * 1000 + END, 200),
    (b"GET /metrics HTTP/1.1\r\nAccept: application/openmetrics-text;q=\xff;version=\"1.0.0" + END, 200),
    (b"HEAD /view/stream?map=m HTTP/1.1" + END, 200),
    (b"GET /view/terrain?map=%00%ff HTTP/1.1" + END, 404),
    (b"GET /view/terrain?map=%3Cscript%3E HTTP/1.1" + END, 404),
    (b"GET /view/stream?map HTTP/1.1" + END, 400),
    (b"GET /view/session?id=18446744073709551615&x=4294967295&w=4294967295&cursor=18446744073709551615 HTTP/1.1" + END, 404),
    (b"GET /stats HTTP/1.1\r\nHost: elsewhere.example" + END, 403),
    (b"GET /stats HTTP/1.1\r\nHost: " + b"[" * 300 + END, 403),
)


def ask(port, request):
    """The status that is answered; None: nothing is, and the connection is closed."""
    with socket.create_connection(("127.0.0.1", port), timeout=20) as peer:
        try:
            peer.sendall(request)
        except ConnectionError:
            pass  # it was refused before all of it was there
        answer = b""
        try:
            while b"\r\n" not in answer:
                more = peer.recv(4096)
                if not more:
                    return None
                answer += more
        except ConnectionError:
            return None
        return int(answer.split()[1])


def resident_mib(process):
    with open("/proc/%d/statm" % process.pid, encoding="ascii") as pages:
        return int(pages.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") >> 20


def probe_s(port):
    """How long a probe takes; None: it is not answered."""
    begun = time.monotonic()
    return time.monotonic() - begun if fetch(port, "/livez", PROBE_S)[0] == 200 else None


def check_probes(port, what, times=5):
    took = [probe_s(port) for _ in range(times)]
    check(all(s is not None and s < PROBE_S for s in took), "beside %s the probes took %s s" % (what, took))


class Crowd:
    """Connections that each have sent `request`, and then send another byte or read one now and then."""

    def __init__(self, port, count, request, reads=False):
        self.peers = []
        for _ in range(count):
            peer = socket.socket()
            peer.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
            peer.setblocking(False)
            try:
                peer.connect(("127.0.0.1", port))
            except BlockingIOError:
                pass
            self.peers.append(peer)
        self.request, self.reads, self.is_over = request, reads, threading.Event()
        self.sent = [False] * count
        self.thread = threading.Thread(target=self.drip)
        self.thread.start()

    def drip(self):
        while not self.is_over.wait(0.2):
            for i, peer in enumerate(self.peers):
                try:
                    if not self.sent[i]:
                        peer.send(self.request)
                        self.sent[i] = True
                    elif self.reads:
                        peer.recv(1)
                    else:
                        peer.send(b"x")
                except OSError:
                    pass  # not connected yet, or shut: as it should be for most

    def leave(self):
        self.is_over.set()
        self.thread.join()
        for peer in self.peers:
            peer.close()


def check_nonsense(port):
    for request, wanted in REQUESTS:
        status = ask(port, request)
        check(status == wanted, "%.60r...: answered with %s, not %s" % (request, status, wanted))


def check_crowds(port):
    for what, request, reads in (
        ("a crowd that says nothing", b"", True),
        ("a crowd that sends its header a byte at a time", b"GET /livez HTTP/1.1\r\nX: ", False),
        ("a crowd that reads nothing", b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n" * 60, True),
    ):
        crowd = Crowd(port, CROWD, request, reads)
        time.sleep(0.5)
        check_probes(port, what)
        crowd.leave()
        check_probes(port, "nobody, after " + what, 1)


def check_large_map(port, name):
    """Many who ask for all of it at once; what one of them gets is whole."""
    request = ("GET /view/terrain?map=%s HTTP/1.1\r\nHost: localhost\r\n\r\n" % name).encode()
    crowd = Crowd(port, 40, request, True)
    time.sleep(0.5)
    check_probes(port, "40 who ask for a large map")
    crowd.leave()
    crowd = Crowd(port, CROWD, request, True)
    time.sleep(0.5)
    check_probes(port, "%d who ask for a large map" % CROWD)
    crowd.leave()
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    connection.request("GET", "/view/terrain?map=%s&shrink=2" % name)
    size = len(connection.getresponse().read())
    connection.close()
    check(size > SIDE * SIDE // 40, "a large map comes to %d bytes" % size)


def is_cut(peer):
    """Whether the other side has ended the connection, whatever is still to be read."""
    poll = select.poll()
    poll.register(peer, select.POLLRDHUP)
    return bool(poll.poll(0))


def check_streams(port, name):
    """Streams that nobody reads are cut off though the system could hold much for them; one that is read goes on, and there is room again."""
    slow = Crowd(port, 12, ("GET /view/stream?map=%s&fps=30 HTTP/1.1\r\nHost: localhost\r\n\r\n" % name).encode(), False)
    fast = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
    fast.request("GET", "/view/stream?map=%s&fps=30" % name)
    answer = fast.getresponse()
    check(answer.status == 200, "a stream beside others: %d" % answer.status)
    frames, begun = 0, time.monotonic()
    while time.monotonic() - begun < CUT_S and not all(is_cut(peer) for peer in slow.peers):
        frames += answer.readline().startswith(b"event: frame")
    check(all(is_cut(peer) for peer in slow.peers), "of 12 streams that nobody reads %d are cut off" % sum(is_cut(peer) for peer in slow.peers))
    check(frames > 10, "a stream that is read has %d frames beside them" % frames)
    slow.leave()
    fast.close()


def check_descriptors(processes):
    """Clients that use up what descriptors there are leave enough for a probe, and are told that they are too many."""
    port, stats = free_ports(2)
    limit = 200
    daemon = processes.start("few", [os.path.join(BIN, "tickpathd"), "--threads", "1", "--listen", "127.0.0.1:%d" % port, "--stats", "127.0.0.1:%d" % stats], dict(os.environ),
                             enter=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (limit, limit)))
    check(wait_for(lambda: fetch(stats, "/readyz")[0] == 200), "no daemon serves:\n%s" % daemon.log())
    check("fewer descriptors" in daemon.log(), "no word of too few descriptors:\n%s" % daemon.log())
    peers = [socket.create_connection(("127.0.0.1", port)) for _ in range(limit)]
    check(wait_for(lambda: is_cut(peers[-1])), "one more than there are descriptors for is kept waiting")
    check_probes(stats, "%d connections where there are %d descriptors" % (limit, limit))
    kept = sum(not is_cut(peer) for peer in peers)
    check(limit // 3 <= kept <= limit // 2, "%d of %d connections are kept" % (kept, limit))
    for peer in peers:
        peer.close()
    daemon.terminate()
    check(daemon.wait() == 0 and "cannot accept" not in daemon.log(), "the daemon ended with %s:\n%s" % (daemon.wait(), daemon.log()))


def main():
    with tempfile.TemporaryDirectory() as folder, Processes(folder) as processes:
        port, stats = free_ports(2)
        daemon = processes.start("daemon", [os.path.join(BIN, "tickpathd"), "--threads", "1", "--listen", "127.0.0.1:%d" % port, "--stats", "127.0.0.1:%d" % stats])
        if not check(wait_for(lambda: fetch(stats, "/readyz")[0] == 200), "no daemon serves:\n%s" % daemon.log()):
            return
        check_descriptors(processes)
        check_nonsense(stats)
        before = resident_mib(daemon)
        check_crowds(stats)
        load = processes.start("load", [os.path.join(BIN, "tickpath"), "load", "--via", "127.0.0.1:%d" % port, "--agents", "500", "--generate", "random", "--size", "%dx%d" % (SIDE, SIDE),
                                        "--hz", "5", "--seconds", "300", "--warm-frames", "1"])
        check(wait_for(lambda: '"sessions":500' in fetch(stats, "/view/maps")[1], 60), "the load opens no sessions:\n%s" % load.log())
        name = json.loads(fetch(stats, "/view/maps")[1])[0]["name"].replace("/", "%2F")
        check_large_map(stats, name)
        check_streams(stats, name)
        grown = resident_mib(daemon) - before
        check(grown < GROWTH_MIB, "it grew by %d MiB" % grown)
        load.terminate()
        load.wait()
        daemon.terminate()
        check(daemon.wait() == 0, "the daemon ended with %s:\n%s" % (daemon.wait(), daemon.log()))


main()
sys.exit(close())
