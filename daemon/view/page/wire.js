// What the daemon sends, read: the forms are told in daemon/view/view_agents.h and daemon/view/view_terrain.h.

class Reader {
    constructor(bytes) {
        this.bytes = bytes;
        this.at = 0;
    }

    more() {
        return this.at < this.bytes.length;
    }

    byte() {
        if (this.at >= this.bytes.length)
            throw new Error("cut short");
        return this.bytes[this.at++];
    }

    // Seven bits a byte; exact up to 2^53, all that is shown of one.
    varint() {
        let value = 0, scale = 1, byte;
        do {
            byte = this.byte();
            value += (byte & 127) * scale;
            scale *= 128;
        } while (byte & 128);
        return value;
    }

    id() {
        let value = 0n;
        for (let i = 0n; i < 8n; i++)
            value |= BigInt(this.byte()) << (8n * i);
        return value.toString();
    }
}

export function fromBase64(text) {
    const letters = atob(text), bytes = new Uint8Array(letters.length);
    for (let i = 0; i < letters.length; i++)
        bytes[i] = letters.charCodeAt(i);
    return bytes;
}

// A frame into what is there: `agents` is a Map by index of {id, cell, before, goal, status, flags, trail}.
export function applyFrame(agents, bytes, width, isKey, trailMax) {
    const in_ = new Reader(bytes);
    const frame = {number: in_.varint(), at: in_.varint(), count: in_.varint(), leftOut: in_.varint()};
    if (isKey)
        agents.clear();
    for (const agent of agents.values())
        agent.before = agent.cell;
    let index = -1;
    for (let left = in_.varint(); left > 0; left--) {
        index += in_.varint() + 1;
        agents.delete(index);
    }
    index = -1;
    for (let left = in_.varint(); left > 0; left--) {
        index += in_.varint() + 1;
        const agent = {id: in_.id(), cell: in_.varint(), goal: in_.varint(), status: in_.byte(), flags: in_.varint(), trail: []};
        agent.before = agent.cell;
        agents.set(index, agent);
    }
    index = -1;
    for (let left = in_.varint(); left > 0; left--) {
        index += in_.varint() + 1;
        const what = in_.byte(), step = what & 15, agent = agents.get(index);
        if (!agent)
            throw new Error("a frame is missing");
        if (step === 9)
            agent.cell = in_.varint();
        else
            agent.cell += (Math.floor(step / 3) - 1) * width + step % 3 - 1;
        if (what & 16) {
            agent.status = in_.byte();
            agent.flags = in_.varint();
        }
        if (what & 32)
            agent.goal = in_.varint();
        if (agent.cell !== agent.before && trailMax > 0) {
            agent.trail.push(agent.before);
            if (agent.trail.length > trailMax)
                agent.trail.shift();
        }
    }
    return frame;
}

// Changes of the terrain: {epoch, before, version, isCut, cells: [cell, class, ...]}.
export function readChanges(bytes) {
    const in_ = new Reader(bytes);
    const changes = {epoch: in_.varint(), before: in_.varint(), version: in_.varint(), isCut: in_.byte() !== 0, cells: []};
    let cell = 0;
    while (in_.more()) {
        const gap = in_.varint();
        cell += gap % 2 ? -(gap + 1) / 2 : gap / 2;
        changes.cells.push(cell, in_.byte());
    }
    return changes;
}

// A part of the terrain; `classes` has a byte for each place of it.
export function readTerrain(bytes) {
    const in_ = new Reader(bytes);
    if (String.fromCharCode(in_.byte(), in_.byte(), in_.byte(), in_.byte()) !== "TPT2")
        throw new Error("no terrain");
    const part = {};
    for (const name of ["mapWidth", "mapHeight", "x", "y", "width", "height", "shrink", "epoch", "version"])
        part[name] = in_.varint();
    part.columns = Math.ceil(part.width / part.shrink);
    part.rows = Math.ceil(part.height / part.shrink);
    part.classes = new Uint8Array(part.columns * part.rows);
    let at = 0;
    while (at < part.classes.length) {
        const length = in_.varint();
        part.classes.fill(in_.byte(), at, at + length);
        at += length;
    }
    part.weights = new Map();
    for (let left = in_.varint(); left > 0; left--) {
        const of = in_.byte();
        part.weights.set(of, in_.varint());
    }
    if (at !== part.classes.length || in_.more())
        throw new Error("not what the part should hold");
    return part;
}

// How a map of that size is asked for: the least shrink that keeps the picture within `placesMax`, in bands of rows.
export function bandsOf(width, height, placesMax, cellsMax) {
    let shrink = 1;
    while (Math.ceil(width / shrink) * Math.ceil(height / shrink) > placesMax)
        shrink++;
    const rows = Math.max(shrink, Math.floor(cellsMax / width / shrink) * shrink);
    const bands = [];
    for (let y = 0; y < height; y += rows)
        bands.push({y, rows: Math.min(rows, height - y)});
    return {shrink, bands};
}
