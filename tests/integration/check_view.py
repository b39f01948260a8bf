#!/usr/bin/python3
"""What the live view serves, read from a real daemon by a decoder of its own: terrain, the stream of agents (a key, then deltas that
add up to what the next key says), sessions; the bounds on streams, what is refused, who may look on, and that a stream ends with the
daemon. Prints totals in Check's form."""

import base64
import http.client
import json
import os
import socket
import subprocess
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(ROOT, "tests", "lib"))
from checks import check, close  # noqa: E402
from processes import Processes, free_ports, http as fetch, wait_for  # noqa: E402

BIN = os.path.join(ROOT, os.environ.get("TICKPATH_BIN") or "build")
AGENTS, SIDE, STREAMS_MAX = 300, 128, 16
TOKEN = "a-token.of_32~characters-or-more"


class Bytes:
    def __init__(self, data):
        self.data, self.at = data, 0

    def more(self):
        return self.at < len(self.data)

    def take(self, size):
        self.at += size
        assert self.at <= len(self.data), "cut short"
        return self.data[self.at - size:self.at]

    def byte(self):
        return self.take(1)[0]

    def varint(self):
        value = shift = 0
        while True:
            byte = self.byte()
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value


def apply_frame(agents, data, is_key, width):
    """A frame into {index: [id, cell, goal, status]}; gives (number, agents there)."""
    frame = Bytes(data)
    number, _, count, _ = (frame.varint() for _ in range(4))
    if is_key:
        agents.clear()
    index = -1
    for _ in range(frame.varint()):
        index += frame.varint() + 1
        del agents[index]
    index = -1
    for _ in range(frame.varint()):
        index += frame.varint() + 1
        assert index not in agents, "a new agent has a taken index"
        id_ = int.from_bytes(frame.take(8), "little")
        agents[index] = [id_, frame.varint(), frame.varint(), frame.byte()]
        frame.varint()
    index = -1
    for _ in range(frame.varint()):
        index += frame.varint() + 1
        what = frame.byte()
        agent = agents[index]
        agent[1] = frame.varint() if what & 15 == 9 else agent[1] + ((what & 15) // 3 - 1) * width + (what & 15) % 3 - 1
        if what & 16:
            agent[3] = frame.byte()
            frame.varint()
        if what & 32:
            agent[2] = frame.varint()
    assert not frame.more(), "bytes after the frame"
    return number, count


def read_terrain(data):
    """(head, weights by class, the classes, row by row)"""
    part = Bytes(data)
    assert part.take(4) == b"TPT2"
    names = ("map_width", "map_height", "x", "y", "width", "height", "shrink", "epoch", "version")
    head = {name: part.varint() for name in names}
    cells = bytearray()
    while len(cells) < -(-head["width"] // head["shrink"]) * -(-head["height"] // head["shrink"]):
        length = part.varint()
        cells += bytes([part.byte()]) * length
    weights = {}
    for _ in range(part.varint()):
        of = part.byte()
        weights[of] = part.varint()
    assert not part.more(), "bytes after the classes"
    return head, weights, cells


class Stream:
    """The events of /view/stream, one after the other."""

    def __init__(self, port, path, headers=None):
        self.connection = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
        self.connection.request("GET", path, headers=headers or {})
        self.answer = self.connection.getresponse()
        self.status = self.answer.status

    def event(self):
        """(name, data); None at the end."""
        name = data = None
        while True:
            line = self.answer.readline().decode()
            if line == "":
                return None
            if line.startswith("event: "):
                name = line[7:].strip()
            elif line.startswith("data: "):
                data = line[6:].strip()
            elif line == "\n" and name:
                return name, data

    def close(self):
        self.connection.close()


def get(port, path, headers=None, host="127.0.0.1", method="GET"):
    """(status, headers, body)"""
    connection = http.client.HTTPConnection(host, port, timeout=20)
    connection.request(method, path, headers=headers or {})
    answer = connection.getresponse()
    body = answer.read()
    connection.close()
    return answer.status, dict(answer.getheaders()), body


def check_terrain(port, name):
    status, _, body = get(port, "/view/terrain?map=" + name)
    head, weights, cells = read_terrain(body)
    check(status == 200 and (head["width"], head["height"], head["shrink"]) == (SIDE, SIDE, 1), "terrain: %s %s" % (status, head))
    check(len(cells) == SIDE * SIDE and set(cells) == set(weights) and 0 in weights.values() and 1 in weights.values(), "its cells and classes don't agree: %s" % weights)
    part, _, some = read_terrain(get(port, "/view/terrain?map=%s&x=13&y=70&w=40&h=9" % name)[2])
    rows = b"".join(cells[(70 + y) * SIDE + 13:(70 + y) * SIDE + 53] for y in range(9))
    differ = sum(a != b for a, b in zip(rows, some))
    check(len(some) == 360 and differ <= 2 * (part["version"] - head["version"]), "a part differs in %d cells from the whole" % differ)
    _, _, small = read_terrain(get(port, "/view/terrain?map=%s&shrink=5" % name)[2])
    side = -(-SIDE // 5)
    check(len(small) == side * side, "shrunk by 5 it has %d places" % len(small))
    closed = [sum(weights[cells[y * SIDE + x]] == 0 for y in range(5 * at, min(5 * at + 5, SIDE)) for x in range(5 * at, min(5 * at + 5, SIDE))) for at in range(side)]
    wrong = [at for at in range(side - 1) if (weights[small[at * side + at]] == 0) != (closed[at] * 2 >= 25) and abs(closed[at] - 12.5) > 2]
    check(not wrong, "shrunk places %s are not what most of their cells are" % wrong)
    for query, wanted in (("map=none", 404), ("", 400), ("map=%s&x=%d" % (name, SIDE), 400), ("map=%s&w=%d" % (name, SIDE + 1), 400),
                          ("map=%s&shrink=0" % name, 400), ("map=%s&shrink=65" % name, 400), ("map=%s&x=-1" % name, 400), ("map=%s&h=99999999999999999999" % name, 400)):
        status = get(port, "/view/terrain?" + query)[0]
        check(status == wanted, "terrain?%s: %d, wanted %d" % (query, status, wanted))


def check_stream(port, name):
    stream = Stream(port, "/view/stream?map=%s&fps=20" % name)
    other, later = None, {}
    agents, seen, moved, numbers = {}, [], 0, None
    begun = time.monotonic()
    while len(seen) < 40 and time.monotonic() - begun < 20:
        kind, data = stream.event()
        seen.append(kind)
        if kind in ("key", "frame"):
            before = {index: agent[1] for index, agent in agents.items()}
            number, count = apply_frame(agents, base64.b64decode(data), kind == "key", SIDE)
            moved += sum(before.get(index, agent[1]) != agent[1] for index, agent in agents.items())
            check(count == len(agents) and all(0 <= agent[1] < SIDE * SIDE for agent in agents.values()), "frame %d: %d agents, %d said" % (number, len(agents), count))
        elif kind == "numbers":
            numbers = json.loads(data)
    # a frame that the daemon could not write before the next was due makes that one a key: on a busy machine there may be a few
    check(seen[:2] == ["map", "key"] and seen.count("frame") > 3 * seen.count("key"), "events: %s" % seen)
    check(len(agents) == AGENTS and moved > AGENTS, "%d agents, %d moves in %d events" % (len(agents), moved, len(seen)))
    check("changes" in seen, "no changes are told of: %s" % seen)
    check(numbers and numbers["sessions"] == AGENTS and numbers["ready"], "numbers: %s" % numbers)
    # another one joins: its key is what the deltas have added up to
    other = Stream(port, "/view/stream?map=%s&fps=20" % name)
    check(other.event()[0] == "map", "a stream does not begin with its map")
    kind, data = other.event()
    wanted, _ = apply_frame(later, base64.b64decode(data), kind == "key", SIDE)
    number = 0
    while number < wanted:
        kind, data = stream.event()
        if kind in ("key", "frame"):
            number, _ = apply_frame(agents, base64.b64decode(data), kind == "key", SIDE)
    check(number == wanted and agents == later, "frame %d: the deltas do not add up to the key of frame %d" % (number, wanted))
    stream.close()
    other.close()
    return [agent[0] for agent in agents.values()]


def check_sessions(port, ids):
    for id_ in ids[:3] + ids[-3:]:
        status, _, body = get(port, "/view/session?id=%d" % id_)
        session = json.loads(body)
        check(status == 200 and session["id"] == str(id_) and session["path"][0] == session["cell"], "session %d: %d %.200s" % (id_, status, body))
    for query, wanted in (("id=%d" % (max(ids) + (1 << 30)), 404), ("id=0", 400), ("", 400), ("id=x", 400)):
        status = get(port, "/view/session?" + query)[0]
        check(status == wanted, "session?%s: %d, wanted %d" % (query, status, wanted))


def served(port, path):
    """A stream that is served, once those that were closed are found to be."""
    def one():
        stream = Stream(port, path)
        if stream.status == 200:
            return stream
        stream.close()
        return None
    return wait_for(one, 10)


def check_bounds(port, name):
    streams = [served(port, "/view/stream?map=%s&fps=%d" % (name, 1 + i % 3)) for i in range(STREAMS_MAX)]
    if not check(all(streams), "not all of %d streams are served" % STREAMS_MAX):
        return
    check(Stream(port, "/view/stream?map=" + name).status == 503, "one more stream is served")
    check(all(stream.event()[0] == "map" for stream in streams), "a stream says nothing")
    check(get(port, "/livez")[0] == 200, "no probe is answered beside them")
    for stream in streams:
        stream.close()
    gone = served(port, "/view/stream?map=nowhere&fps=5")
    if not check(gone, "streams that were closed leave no room"):
        return
    check(gone.event()[0] == "gone", "a map that is not there is not said to be gone")
    gone.close()
    for query in ("map=m&fps=0", "map=m&fps=31", "fps=5", "map=" + "m" * 300):
        check(get(port, "/view/stream?" + query)[0] == 400, "stream?%s is served" % query)


def check_slow_reader(port, name):
    """One that takes nothing is dropped, and holds nobody up."""
    def taking_nothing():
        slow = socket.create_connection(("127.0.0.1", port))
        slow.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
        slow.sendall(("GET /view/stream?map=%s&fps=30 HTTP/1.1\r\nHost: localhost\r\n\r\n" % name).encode())
        if slow.recv(12) == b"HTTP/1.1 200":
            return slow
        slow.close()
        return None
    slow = wait_for(taking_nothing, 10)  # streams closed before may still stand
    fast = served(port, "/view/stream?map=%s&fps=30" % name)
    if not check(slow and fast, "streams that were closed leave no room"):
        return
    begun, frames = time.monotonic(), 0
    while time.monotonic() - begun < 2:
        frames += fast.event()[0] == "frame"
    check(frames > 20, "beside a slow reader only %d frames came in 2 s" % frames)
    fast.close()
    slow.close()


def check_coming_and_going(processes, folder, port, stats):
    """A map that is watched before it is there, is dropped, and comes back with another size."""
    stream = Stream(stats, "/view/stream?map=tool%2Fswapped&fps=20")
    path = os.path.join(folder, "swapped.map")
    agents, seen, loads, width, cells = {}, [], [], 1, 0
    begun = time.monotonic()
    while time.monotonic() - begun < 40 and not ("70x50" in seen and seen[-1] == "gone"):
        event = stream.event()
        if event is None:
            break
        kind, data = event
        if kind in ("map", "gone"):
            about = json.loads(data)
            width, cells = about.get("width", 1), about.get("width", 0) * about.get("height", 0)
            what = "%dx%d" % (about["width"], about["height"]) if about else "gone"
            if what != (seen or [""])[-1]:  # a stream that was behind is told again
                seen.append(what)
        elif kind in ("key", "frame"):
            _, count = apply_frame(agents, base64.b64decode(data), kind == "key", width)
            check(count == len(agents) and all(agent[1] < cells for agent in agents.values()), "%s: %d agents, %d said, of %d cells" % (seen, len(agents), count, cells))
        if seen == (["gone"], ["gone", "40x30", "gone"])[min(len(loads), 1)] and len(loads) < 2:
            size = ("40x30", "70x50")[len(loads)]
            subprocess.run([os.path.join(BIN, "tickpath"), "map", "generate", "--kind", "rooms", "--size", size, "--out", path], check=True, timeout=30)
            loads.append(processes.start("swapped-" + size, [os.path.join(BIN, "tickpath"), "load", "--map", path, "--via", "127.0.0.1:%d" % port, "--agents", "20", "--hz", "20", "--seconds", "2", "--warm-frames", "1"]))
    check(seen == ["gone", "40x30", "gone", "70x50", "gone"], "what was told of a map that comes and goes: %s\n%s" % (seen, "".join(load.log() for load in loads)))
    stream.close()


def check_learner(processes, port, stats):
    """What a session has learned is told beside its search."""
    load = processes.start("learner", [os.path.join(BIN, "tickpath"), "load", "--via", "127.0.0.1:%d" % port, "--agents", "5", "--generate", "rooms", "--size", "40x40", "--alg", "lrta", "--k", "4",
                                       "--hz", "20", "--seconds", "60", "--warm-frames", "20"])
    stream = Stream(stats, "/view/stream?map=tool%2Frooms&fps=20")
    agents, begun, about, learned = {}, time.monotonic(), {}, []
    while time.monotonic() - begun < 20 and not learned:
        kind, data = stream.event()
        if kind in ("map", "gone"):
            about = json.loads(data)
        elif kind in ("key", "frame"):
            apply_frame(agents, base64.b64decode(data), kind == "key", about.get("width", 1))
            asked = [get(stats, "/view/session?id=%d" % agent[0]) for agent in agents.values()]
            learned = [session for session in (json.loads(body) for status, _, body in asked if status == 200) if session["raised"]]
    check(learned and all(len(one["raised"]) == len(one["raised_by"]) and min(one["raised_by"]) > 0 and max(one["raised"]) < 1600 for one in learned), "what was learned: %s\n%s" % (learned[:1], load.log()))
    stream.close()
    load.terminate()
    load.wait()


def check_page(port):
    status, headers, body = get(port, "/")
    policy = headers.get("Content-Security-Policy", "")
    check(status == 200 and b"<canvas" in body and "default-src 'none'" in policy and "unsafe" not in policy, "the page: %d, %s" % (status, policy))
    for path in ("page.css", "page.js", "wire.js", "stage.js", "charts.js", "daemon.js", "icon.svg"):
        status, headers, body = get(port, "/view/" + path)
        on_disk = open(os.path.join(ROOT, "daemon", "view", "page", path), "rb").read()
        check(status == 200 and body == on_disk and headers["X-Content-Type-Options"] == "nosniff", "/view/%s is not the file of that name" % path)
    check(get(port, "/view/nothing")[0] == 404 and get(port, "/view/../stats")[0] == 404, "paths that are none are served")
    check(get(port, "/", method="POST")[0] == 405, "a POST is served")
    check(get(port, "/view/maps", method="HEAD")[0] == 200, "no HEAD is served")
    for name, wanted in (("localhost", 200), ("[::1]:80", 200), ("127.9.9.9", 200), ("evil.example", 403), ("127.evil.example", 403), ("localhost.evil.example", 403)):
        for path in ("/", "/stats", "/view/maps"):
            status = get(port, path, {"Host": name})[0]
            check(status == wanted, "%s under the name %s: %d, wanted %d" % (path, name, status, wanted))
    check(get(port, "/metrics", {"Host": "evil.example"})[0] == 200, "metrics ask for a name")


def check_token(processes):
    port, stats, bare_port, bare_stats = free_ports(4)
    daemon = [os.path.join(BIN, "tickpathd"), "--threads", "1"]
    one = processes.start("token", daemon + ["--listen", "127.0.0.1:%d" % port, "--stats", "0.0.0.0:%d" % stats], {"TICKPATHD_STATS_TOKEN": TOKEN})
    two = processes.start("bare", daemon + ["--listen", "127.0.0.1:%d" % bare_port, "--stats", "0.0.0.0:%d" % bare_stats])
    for of, at in ((one, stats), (two, bare_stats)):
        check(wait_for(lambda: fetch(at, "/readyz")[0] == 200), "no daemon serves:\n%s" % of.log())
    for path in ("/livez", "/readyz", "/metrics"):
        check(get(stats, path)[0] == 200 and get(bare_stats, path)[0] == 200, "%s wants a token" % path)
    for path in ("/", "/stats", "/view/maps", "/view/page.js", "/view/stream?map=m", "/view/session?id=1", "/view/terrain?map=m"):
        status, _, body = get(bare_stats, path)
        check(status == 403 and b"TICKPATHD_STATS_TOKEN" in body, "without a token %s: %d" % (path, status))
        status, headers, _ = get(stats, path)
        check(status == 401 and headers["WWW-Authenticate"].startswith("Bearer"), "unasked, %s: %d" % (path, status))
        for wrong in ("Bearer ", "Bearer " + TOKEN[:-1], "Bearer " + TOKEN + "x", "Bearer " + TOKEN.upper(), "Basic " + TOKEN, TOKEN):
            status = get(stats, path, {"Authorization": wrong})[0]
            check(status == 401, "%s with %s: %d" % (path, wrong, status))
        check(get(stats, path + ("&" if "?" in path else "?") + "token=" + TOKEN[:-1])[0] == 401, "%s with a wrong token in it" % path)
    check(get(stats, "/view/page.css")[0] == 200, "the form has no style")
    for given, words in (("", b"read-only token"), ("?token=wrong", b"not its token")):
        status, headers, body = get(stats, "/" + given, {"Accept": "text/html,*/*"})
        check(status == 401 and b"<form" in body and words in body and "unsafe" not in headers["Content-Security-Policy"], "the form: %d %s" % (status, body))
    status, headers, body = get(stats, "/stats")
    check(b"<" not in body and b"Bearer" in body and headers["Content-Type"].startswith("text/plain"), "a program is told %s" % body)
    for path in ("/", "/stats", "/view/maps"):
        check(get(stats, path, {"Authorization": "Bearer " + TOKEN, "Host": "far.example"})[0] == 200, "%s with its token is refused" % path)
    status, headers, _ = get(stats, "/?token=" + TOKEN)
    cookie = headers.get("Set-Cookie", "")
    check(status == 303 and headers["Location"] == "/" and "HttpOnly" in cookie and "SameSite=Strict" in cookie, "a token in the address: %d %s" % (status, headers))
    check(get(stats, "/", {"Cookie": cookie.split(";")[0]})[0] == 200, "the cookie is refused")
    check(get(stats, "/", {"Cookie": cookie.split(";")[0][:-1]})[0] == 401, "a cut cookie is taken")
    check(TOKEN not in one.log() and TOKEN not in get(stats, "/stats", {"Authorization": "Bearer " + TOKEN})[2].decode(), "the token is told")
    for bad in ("short", "x" * 257, "with a blank in it", "semi;colon-in-the-middle"):
        done = subprocess.run(daemon + ["--listen", "127.0.0.1:0", "--stats-token", bad], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=30)
        check(done.returncode not in (0, None) and "--stats-token" in done.stderr and bad not in done.stderr, "the token %r: %d %s" % (bad, done.returncode, done.stderr))
    for of in (one, two):
        of.terminate()
        check(of.wait() == 0, "a daemon ended with %s:\n%s" % (of.wait(), of.log()))


def check_end(daemon, load, port, name):
    """A stream, and a session asked for, as the daemon ends."""
    stream = Stream(port, "/view/stream?map=%s&fps=30" % name)
    check(stream.event()[0] == "map", "no stream before the end")
    load.terminate()
    load.wait()
    daemon.terminate()
    try:
        while stream.event():
            pass
    except (http.client.IncompleteRead, ConnectionError):
        pass
    check(daemon.wait() == 0, "the daemon ended with %s:\n%s" % (daemon.wait(), daemon.log()))


def main():
    with tempfile.TemporaryDirectory() as folder, Processes(folder) as processes:
        port, stats = free_ports(2)
        daemon = processes.start("daemon", [os.path.join(BIN, "tickpathd"), "--threads", "2", "--listen", "127.0.0.1:%d" % port, "--stats", "127.0.0.1:%d" % stats])
        check(wait_for(lambda: fetch(stats, "/readyz")[0] == 200), "no daemon serves:\n%s" % daemon.log())
        check(get(stats, "/view/maps")[2] == b"[]\n", "there are maps before there are")
        load = processes.start("load", [os.path.join(BIN, "tickpath"), "load", "--via", "127.0.0.1:%d" % port, "--agents", str(AGENTS), "--size", "%dx%d" % (SIDE, SIDE),
                                        "--hz", "15", "--seconds", "300", "--warm-frames", "1", "--changes", "2"])
        check(wait_for(lambda: '"sessions":%d' % AGENTS in fetch(stats, "/view/maps")[1]), "the load opens no sessions:\n%s" % load.log())
        maps = json.loads(get(stats, "/view/maps")[2])
        check(len(maps) == 1 and (maps[0]["width"], maps[0]["kind"]) == (SIDE, "grid"), "maps: %s" % maps)
        known = json.loads(get(stats, "/stats")[2])["maps"]
        check([(m["name"], m["epoch"], list(m)) for m in maps] == [(m["name"], m["epoch"], list(m)) for m in known], "%s, and in /stats %s" % (maps, known))
        name = maps[0]["name"].replace("/", "%2F")
        check_page(stats)
        check_terrain(stats, name)
        check_sessions(stats, check_stream(stats, name))
        check_bounds(stats, name)
        check_slow_reader(stats, name)
        check_coming_and_going(processes, folder, port, stats)
        check_learner(processes, port, stats)
        check_end(daemon, load, stats, name)
        check_token(processes)


main()
sys.exit(close())
