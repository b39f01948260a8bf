// The page: picks a map, follows its stream, and answers hands and keys. What it shows comes from the daemon alone.

import {applyFrame, bandsOf, fromBase64, readChanges, readTerrain} from "./wire.js";
import {Stage, drawMark, statuses} from "./stage.js";
import {Chart, short, time} from "./charts.js";
import {watchDaemon} from "./daemon.js";

const FPS = 10, PLACES_MAX = 4e6, CELLS_MAX = 4194304, QUEUE_MAX = 1200, TRAIL = 24, TRAIL_AGENTS_MAX = 4000, ASK_MS = 250, AGAIN_MS = 2000, PIECES_MAX = 16;
const element = (id) => document.getElementById(id);
const stage = new Stage(element("stage"));
const isCalm = matchMedia("(prefers-reduced-motion: reduce)");

const state = {
    map: null, // name
    about: null, // {kind, width, height, epoch, version} of the terrain shown
    source: null,
    isPaused: false,
    steps: 0, // frames asked for while paused that have not come yet
    queue: [], // events held back while paused
    hasLost: false, // the queue was full: what is shown is to be begun anew
    frame: null,
    frameAt: 0,
    frameMs: 1000 / FPS,
    bytes: 0,
    frames: 0,
    follows: false,
    isAsking: false,
    askedAt: 0,
    loading: 0, // which loading of terrain is the last
    isLoaded: false, // the terrain is there as of about.version
    late: [], // changes that came before it was
};

// ---- Words ----

function say(words) {
    element("said").textContent = words;
}

function showLink(kind, words) {
    element("link").dataset.state = kind;
    element("link-words").textContent = words;
}

function banner(words, isQuiet) {
    element("banner").hidden = !words;
    element("banner").toggleAttribute("data-quiet", Boolean(isQuiet));
    element("banner").textContent = words ?? "";
}

function showLive() {
    showLink(state.isPaused ? "paused" : "live", state.isPaused ? "paused" : "live");
}

function showFacts() {
    const about = state.about;
    if (!about)
        return;
    const parts = [`${about.width}×${about.height}`, `version ${about.version}`, `${stage.agents.size} agents`];
    if (state.frame?.leftOut)
        parts.push(`${state.frame.leftOut} not shown`);
    if (state.rate)
        parts.push(`${state.rate.frames.toFixed(0)} frames/s`, `${(state.rate.bytes / 1024).toFixed(1)} KiB/s`);
    if (state.isPaused)
        parts.push(`${state.queue.filter((event) => event.type === "frame").length} frames held`);
    element("facts").textContent = parts.join(" · ");
}

function showKey() {
    const counts = statuses.map(() => 0);
    for (const agent of stage.agents.values())
        counts[agent.status] = (counts[agent.status] ?? 0) + 1;
    if (!showKey.figures) {
        showKey.figures = statuses.map((status, i) => {
            const line = document.createElement("li"), next = document.createElement("button"), mark = document.createElement("canvas"), count = document.createElement("b");
            mark.dataset.status = i;
            mark.setAttribute("aria-hidden", "true");
            next.title = `The next agent that is ${status.name}`;
            next.append(mark, status.name, count);
            next.addEventListener("click", () => chooseBeside(1, i));
            line.append(next);
            element("key").append(line);
            return count;
        });
        paintKey();
    }
    showKey.figures.forEach((figure, i) => {
        figure.textContent = counts[i];
        figure.closest("li").classList.toggle("small", counts[i] === 0);
    });
}

function paintKey() {
    for (const mark of element("key").querySelectorAll("canvas")) {
        const scale = window.devicePixelRatio || 1, to = mark.getContext("2d"), status = Number(mark.dataset.status);
        mark.width = mark.height = 18 * scale;
        to.scale(scale, scale);
        drawMark(to, status, 9, 9, 5.5, stage.colour[statuses[status].colour.slice(2)], stage.colour.halo);
    }
}

function rows(list, pairs) {
    const now = pairs.flatMap(([name, value]) => [name, value]);
    if (list.dataset.shown === now.join("\n"))
        return;
    list.dataset.shown = now.join("\n");
    list.replaceChildren(...pairs.flatMap(([name, value]) => {
        const dt = document.createElement("dt"), dd = document.createElement("dd");
        dt.textContent = name;
        dd.textContent = value;
        return [dt, dd];
    }));
}

const flagNames = [[1, "back-move"], [2, "path complete"], [32, "partial"], [64, "looping"], [128, "out of node memory"], [256, "start blocked"], [512, "dead end"]];

function showAgent() {
    const agent = stage.chosenAgent(), list = element("agent"), search = stage.search;
    if (!agent) {
        rows(list, [[stage.chosen === null ? "none chosen" : "not on this map now", ""]]);
        return;
    }
    const at = (cell) => `${cell % stage.width}, ${Math.floor(cell / stage.width)}`;
    const pairs = [["status", statuses[agent.status]?.name ?? "?"], ["at", at(agent.cell)], ["goal", at(agent.goal)]];
    const flags = flagNames.filter(([bit]) => agent.flags & bit).map(([, name]) => name);
    if (flags.length > 0)
        pairs.push(["flags", flags.join(", ")]);
    if (search) {
        pairs.push(["algorithm", search.algorithm], ["path", `${search.path.length} cells${search.path_complete ? ", complete" : ""}`]);
        pairs.push(["open, closed", `${short(search.open.length)}, ${short(search.closed.length)}`], ["h raised", `${short(search.raised.length)} states`]);
        pairs.push(["ticks", short(search.ticks)], ["expansions", short(search.expansions)], ["restarts", short(search.restarts)]);
        if (search.why_words && agent.status !== 1)
            pairs.push(["last tick", search.why_words]);
    }
    rows(list, pairs);
}

function noteChange(changes, closed, opened) {
    const list = element("changes"), line = document.createElement("li"), what = document.createElement("span"), when = document.createElement("span");
    list.querySelector(".quiet")?.remove();
    what.textContent = changes.isCut ? `version ${changes.version}: more than can be listed`
        : `version ${changes.version}: ` + ([closed ? `${closed} closed` : "", opened ? `${opened} opened` : ""].filter(Boolean).join(", ") || `${changes.cells.length / 2} cells`);
    when.className = "when";
    when.textContent = new Date().toTimeString().slice(0, 8);
    line.append(what, when);
    list.prepend(line);
    while (list.children.length > 40)
        list.lastElementChild.remove();
}

// ---- Terrain ----

async function loadTerrain() {
    const mine = ++state.loading, about = state.about;
    state.isLoaded = false;
    state.late = [];
    if (!about || about.kind !== "grid") {
        banner(about ? "This map is a graph: its agents are counted here, not drawn." : null, true);
        return;
    }
    const {shrink, bands} = bandsOf(about.width, about.height, PLACES_MAX, CELLS_MAX);
    try {
        let least = Infinity; // bands may be of different versions: what came since the oldest is done again
        for (const band of bands) {
            const answer = await fetch(`/view/terrain?map=${encodeURIComponent(state.map)}&y=${band.y}&h=${band.rows}&shrink=${shrink}`);
            if (!answer.ok)
                throw new Error(await answer.text());
            const part = readTerrain(new Uint8Array(await answer.arrayBuffer()));
            if (mine !== state.loading)
                return;
            if (least === Infinity)
                stage.begin(part.mapWidth, part.mapHeight, shrink);
            stage.putPart(part);
            least = Math.min(least, part.version);
        }
        about.version = least;
        state.isLoaded = true;
        for (const changes of state.late.splice(0))
            handleChanges(changes);
        draw();
    } catch (error) {
        if (mine === state.loading)
            setTimeout(() => mine === state.loading && loadTerrain(), AGAIN_MS);
    }
}

let detailTimer = 0;
function loadDetail() {
    clearTimeout(detailTimer);
    detailTimer = setTimeout(async () => {
        const part = stage.partWanted();
        if (!part)
            return;
        try {
            const answer = await fetch(`/view/terrain?map=${encodeURIComponent(state.map)}&x=${part.x}&y=${part.y}&w=${part.width}&h=${part.height}`);
            if (answer.ok)
                stage.putPart(readTerrain(new Uint8Array(await answer.arrayBuffer())));
            draw();
        } catch {
            // the stream says that the daemon is gone, and loads all again when it is back
        }
    }, 250);
}

// ---- The stream ----

function handle(type, text) {
    if (type === "frame" || type === "key") {
        const trail = stage.agents.size <= TRAIL_AGENTS_MAX ? TRAIL : 0;
        state.frame = applyFrame(stage.agents, fromBase64(text), state.about?.width ?? 1, type === "key", trail);
        const now = performance.now();
        if (state.frameAt)
            state.frameMs = Math.min(1000, state.frameMs * 0.8 + (now - state.frameAt) * 0.2);
        state.frameAt = now;
        state.frames++;
        if (state.follows && stage.chosenAgent())
            stage.lookAt(stage.chosenAgent().cell);
        ask();
        showAgent();
    } else if (type === "map") {
        const about = JSON.parse(text), before = state.about;
        banner(null);
        if (!before || Number(before.epoch) !== Number(about.epoch) || before.width !== about.width || before.version !== about.version) {
            if (!before || before.width !== about.width)
                stage.agents.clear();
            state.about = about;
            loadTerrain();
        }
    } else if (type === "changes") {
        handleChanges(readChanges(fromBase64(text)));
    } else if (type === "gone") {
        state.about = null;
        stage.agents.clear();
        banner(`There is no map ${state.map} now. It is shown as soon as it is there.`, true);
    }
    draw();
}

function handleChanges(changes) {
    const about = state.about;
    if (about && !state.isLoaded)
        state.late.push(changes);
    if (!about || !state.isLoaded || Number(about.epoch) !== changes.epoch || changes.version <= about.version)
        return;
    if (changes.isCut || changes.before > about.version) {
        noteChange(changes, 0, 0);
        about.version = changes.version;
        loadTerrain();
        return;
    }
    let closed = 0, opened = 0;
    const now = performance.now();
    for (let i = 0; i < changes.cells.length; i += 2) {
        const [wasClosed, isClosed] = stage.change(changes.cells[i], changes.cells[i + 1], now);
        closed += !wasClosed && isClosed;
        opened += wasClosed && !isClosed;
    }
    about.version = changes.version;
    noteChange(changes, closed, opened);
}

// What comes is shown, or held back while paused; numbers go on.
function take(event) {
    state.bytes += event.data.length + event.type.length + 16;
    if (event.type === "numbers") {
        showNumbers(JSON.parse(event.data));
        return;
    }
    if (!state.isPaused) {
        handle(event.type, event.data);
        return;
    }
    if (state.queue.length >= QUEUE_MAX)
        state.hasLost = true;
    else
        state.queue.push({type: event.type, text: event.data});
    if (state.steps > 0)
        stepOn();
    showFacts();
}

function guarded(event) {
    try {
        take(event);
    } catch (error) {
        console.error(error);
        connect(); // out of step with the stream: begun anew
    }
}

let againTimer = 0;
function connect() {
    clearTimeout(againTimer);
    state.source?.close();
    state.queue = [];
    state.hasLost = false;
    state.frameAt = 0;
    if (state.map === null)
        return;
    const source = new EventSource(`/view/stream?map=${encodeURIComponent(state.map)}&fps=${FPS}`);
    state.source = source;
    source.onopen = () => {
        banner(null);
        showLive();
        say("connected");
    };
    source.onerror = () => {
        showLink("gone", "daemon gone");
        banner("The daemon does not answer. This page goes on by itself when it is back.");
        if (source.readyState === EventSource.CLOSED) {
            clearTimeout(againTimer);
            againTimer = setTimeout(begin, AGAIN_MS);
        }
    };
    for (const type of ["map", "gone", "changes", "key", "frame", "numbers"])
        source.addEventListener(type, guarded);
}

// ---- Numbers ----

const charts = [
    new Chart(element("charts"), "Tick time", [
        {name: "p50", field: "tick_p50_us", colour: "--good", dash: []},
        {name: "p99", field: "tick_p99_us", colour: "--moving", dash: [5, 3]},
        {name: "most", field: "tick_p100_us", colour: "--blocked", dash: [2, 3]}], time),
    new Chart(element("charts"), "Expansions a second", [{name: "", field: "expansions", colour: "--moving", dash: []}], short),
    new Chart(element("charts"), "Agent ticks a second", [{name: "", field: "agent_ticks", colour: "--good", dash: []}], short),
    new Chart(element("charts"), "Sessions open", [{name: "", field: "sessions", colour: "--searching", dash: []}], short),
];

let numbersAt = 0;
function showNumbers(numbers) {
    const now = performance.now(), seconds = (now - numbersAt) / 1000;
    if (numbersAt && seconds > 0)
        state.rate = {frames: state.frames / seconds, bytes: state.bytes / seconds};
    numbersAt = now;
    state.frames = state.bytes = 0;
    if (numbers.seconds > 0.1) // the first come at once, and are of no time
        for (const chart of charts)
            chart.add(numbers);
    if (!numbers.ready)
        showLink("wait", numbers.why || "not ready");
    else
        showLive();
    showFacts();
    showKey();
}

// ---- The chosen agent ----

// All that the session holds, piece by piece; null: there is no such session.
async function fetchSession(id) {
    let whole = null, cursor = 0;
    for (let piece = 0; piece < PIECES_MAX && cursor !== null; piece++) {
        const answer = await fetch(`/view/session?id=${id}&cursor=${cursor}`);
        if (answer.status === 404)
            return null;
        if (!answer.ok)
            throw new Error(await answer.text());
        const part = await answer.json();
        if (whole)
            for (const list of ["open", "closed", "raised", "raised_by"])
                whole[list].push(...part[list]);
        whole ??= part;
        cursor = part.next;
    }
    return whole;
}

async function ask(isForced) {
    const id = stage.chosen, now = performance.now();
    if (id === null || state.isAsking || (!isForced && (state.isPaused || now - state.askedAt < ASK_MS)))
        return;
    state.isAsking = true;
    state.askedAt = now;
    try {
        const session = await fetchSession(id);
        if (stage.chosen === id) {
            stage.search = session;
            showAgent();
            draw();
        }
    } catch {
        // its loop is busy, or the daemon gone, which the stream says
    }
    state.isAsking = false;
    if (stage.chosen !== id)
        ask(true);
}

function choose(id) {
    if (stage.chosen !== id) {
        stage.chosen = id;
        stage.search = null;
    }
    element("agent-id").value = id ?? "";
    const agent = stage.chosenAgent();
    say(agent ? `agent ${id}, ${statuses[agent.status]?.name}` : id === null ? "no agent chosen" : `agent ${id} is not on this map`);
    if (agent && state.follows)
        stage.lookAt(agent.cell);
    showAgent();
    ask(true);
    draw();
}

// The next one, or the one before; of all, or of those of one status.
function chooseBeside(by, status) {
    const ids = [...stage.agents].sort(([a], [b]) => a - b).filter(([, agent]) => status === undefined || agent.status === status).map(([, agent]) => agent.id);
    if (ids.length === 0)
        return;
    const at = ids.indexOf(stage.chosen);
    choose(ids[at < 0 ? (by > 0 ? 0 : ids.length - 1) : (at + by + ids.length) % ids.length]);
}

// ---- Pause and step ----

function setPaused(isPaused) {
    state.isPaused = isPaused;
    state.steps = 0;
    element("pause").setAttribute("aria-pressed", isPaused);
    element("pause").querySelector(".words").textContent = isPaused ? "Go on" : "Pause";
    element("step").disabled = !isPaused;
    if (!isPaused && state.hasLost) {
        connect();
    } else if (!isPaused) {
        const queue = state.queue;
        state.queue = [];
        for (const {type, text} of queue)
            handle(type, text);
    }
    if (state.source?.readyState === EventSource.OPEN)
        showLive();
    say(isPaused ? "paused" : "live");
    showFacts();
    ask(true);
    draw();
}

// Shows what is held back up to the next frame; when there is none, the next that comes.
function stepOn() {
    while (state.queue.length > 0) {
        const {type, text} = state.queue.shift();
        handle(type, text);
        if (type === "frame" || type === "key") {
            state.steps = Math.max(0, state.steps - 1);
            state.frameAt = 0;
            ask(true);
            showKey();
            showFacts();
            return;
        }
    }
}

function step() {
    if (!state.isPaused)
        return;
    state.steps = Math.min(state.steps + 1, 3);
    stepOn();
}

// ---- Drawing ----

let isDue = false;
function draw() {
    if (isDue)
        return;
    isDue = true;
    requestAnimationFrame((now) => {
        isDue = false;
        const share = state.isPaused || isCalm.matches || !state.frameAt ? 1 : Math.min(1, (now - state.frameAt) / state.frameMs);
        const moves = stage.draw(performance.now(), Math.max(0, share));
        if (moves || share < 1)
            draw();
    });
}

// ---- Hands and keys ----

function toggle(name, isOn) {
    stage.shows[name] = isOn ?? !stage.shows[name];
    element(name).setAttribute("aria-pressed", stage.shows[name]);
    draw();
}

function setFollow(isOn) {
    state.follows = isOn;
    element("follow").setAttribute("aria-pressed", isOn);
    const agent = stage.chosenAgent();
    if (isOn && agent) {
        stage.lookAt(agent.cell);
        if (stage.scale < 4)
            stage.zoom(4 / stage.scale);
        stage.lookAt(agent.cell);
    }
    looked();
}

function looked() {
    loadDetail();
    draw();
}

function zoom(by, x, y) {
    stage.zoom(by, x, y);
    looked();
}

function pan(dx, dy) {
    if (state.follows)
        setFollow(false);
    stage.pan(dx, dy);
    looked();
}

const canvas = element("stage"), pointers = new Map();
let hasMoved = false;

canvas.addEventListener("pointerdown", (event) => {
    canvas.setPointerCapture(event.pointerId);
    pointers.set(event.pointerId, {x: event.offsetX, y: event.offsetY});
    hasMoved = pointers.size > 1;
});

canvas.addEventListener("pointermove", (event) => {
    const cell = stage.cellAt(event.offsetX, event.offsetY).map(Math.floor);
    element("place").textContent = cell[0] >= 0 && cell[1] >= 0 && cell[0] < stage.width && cell[1] < stage.height ? cell.join(", ") : "";
    const before = pointers.get(event.pointerId);
    if (!before)
        return;
    const now = {x: event.offsetX, y: event.offsetY};
    if (pointers.size === 1) {
        if (!hasMoved && Math.hypot(now.x - before.x, now.y - before.y) < 4)
            return;
        hasMoved = true;
        canvas.classList.add("dragging");
        pan(now.x - before.x, now.y - before.y);
    } else if (pointers.size === 2) { // two fingers: as far apart, and where, as they are
        const [other] = [...pointers].filter(([id]) => id !== event.pointerId).map(([, point]) => point);
        const apart = Math.hypot(before.x - other.x, before.y - other.y), apartNow = Math.hypot(now.x - other.x, now.y - other.y);
        pan((now.x - before.x) / 2, (now.y - before.y) / 2);
        if (apart > 0)
            zoom(apartNow / apart, (now.x + other.x) / 2, (now.y + other.y) / 2);
    }
    pointers.set(event.pointerId, now);
});

for (const type of ["pointerup", "pointercancel"])
    canvas.addEventListener(type, (event) => {
        if (pointers.delete(event.pointerId) && !hasMoved && type === "pointerup")
            choose(stage.agentAt(event.offsetX, event.offsetY)?.id ?? null);
        if (pointers.size === 0)
            canvas.classList.remove("dragging");
    });

canvas.addEventListener("pointerleave", () => element("place").textContent = "");
canvas.addEventListener("wheel", (event) => {
    event.preventDefault();
    zoom(Math.exp(-Math.max(-60, Math.min(60, event.deltaY)) * 0.006), event.offsetX, event.offsetY);
}, {passive: false});

function showHelp() {
    element("help").showModal();
    element("help").scrollTop = 0; // the focus is on the button at its end
}

const keys = {
    " ": () => setPaused(!state.isPaused),
    ".": step,
    "+": () => zoom(1.4),
    "=": () => zoom(1.4),
    "-": () => zoom(1 / 1.4),
    "0": () => {
        stage.fit();
        looked();
    },
    n: () => chooseBeside(1),
    p: () => chooseBeside(-1),
    f: () => setFollow(!state.follows),
    t: () => toggle("trails"),
    g: () => toggle("goals"),
    s: () => toggle("search"),
    "?": showHelp,
    Escape: () => choose(null),
};
const arrows = {ArrowLeft: [1, 0], ArrowRight: [-1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1]};

document.addEventListener("keydown", (event) => {
    const tag = event.target.tagName;
    if (event.ctrlKey || event.metaKey || event.altKey || tag === "INPUT" || tag === "SELECT" || element("help").open)
        return;
    if (event.key === " " && tag === "BUTTON")
        return; // that presses the button
    const arrow = arrows[event.key];
    if (arrow && (event.target === canvas || tag === "BODY")) {
        const far = event.shiftKey ? 240 : 60;
        pan(arrow[0] * far, arrow[1] * far);
    } else if (keys[event.key]) {
        keys[event.key]();
    } else {
        return;
    }
    event.preventDefault();
});

for (const [id, act] of [["pause", keys[" "]], ["step", step], ["zoom-in", keys["+"]], ["zoom-out", keys["-"]], ["fit", keys["0"]], ["trails", keys.t],
    ["goals", keys.g], ["search", keys.s], ["follow", keys.f], ["help-open", showHelp], ["agent-next", keys.n], ["agent-before", keys.p]])
    element(id).addEventListener("click", () => act());
element("agent-id").addEventListener("change", (event) => choose(/^[0-9]+$/.test(event.target.value.trim()) ? event.target.value.trim() : null));

new ResizeObserver(draw).observe(canvas);
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
    stage.repaint();
    paintKey();
    for (const chart of charts)
        chart.draw();
    looked();
});

// ---- Maps ----

function pick(name) {
    state.map = name;
    state.about = null;
    stage.agents.clear();
    stage.chosen = stage.search = null;
    element("agent-id").value = "";
    history.replaceState(null, "", "#" + encodeURIComponent(name));
    connect();
}

async function listMaps() {
    const answer = await fetch("/view/maps");
    if (answer.status === 401) {
        location.reload(); // asks for the token
        return [];
    }
    if (!answer.ok)
        throw new Error(answer.statusText);
    const maps = await answer.json(), list = element("maps");
    maps.sort((a, b) => b.sessions - a.sessions || (a.name < b.name ? -1 : 1));
    const shown = maps.map((map) => map.name).sort().join("\n");
    if (list.dataset.shown !== shown) {
        list.dataset.shown = shown;
        list.replaceChildren(...maps.map((map) => new Option(`${map.name} (${map.width}×${map.height})`, map.name)));
        list.disabled = maps.length === 0;
    }
    if (state.map !== null)
        list.value = state.map;
    return maps;
}

async function begin() {
    try {
        const maps = await listMaps(), wanted = decodeURIComponent(location.hash.slice(1));
        if (state.map !== null) {
            connect();
        } else if (maps.length > 0) {
            element("maps").value = maps.some((map) => map.name === wanted) ? wanted : maps[0].name;
            pick(element("maps").value);
        } else {
            showLink("wait", "no map yet");
            banner("There is no map yet. It is shown as soon as a client puts one.", true);
            setTimeout(begin, AGAIN_MS);
        }
    } catch {
        showLink("gone", "daemon gone");
        setTimeout(begin, AGAIN_MS);
    }
}

element("maps").addEventListener("change", (event) => pick(event.target.value));
window.tickpathView = {stage, state}; // for who looks closely, and the tests
watchDaemon((pairs) => rows(element("daemon"), pairs));
setInterval(() => listMaps().catch(() => {}), 5000);
showKey();
showFacts();
begin();
