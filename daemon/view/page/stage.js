// The map on its canvas: terrain as a picture of one place a dot, and over it, for each drawing, what moves.

const ZOOM_MAX = 48, FLASH_MS = 1600, AGENT_DOTS_MIN = 3.2;

export const statuses = [
    {name: "not ticked yet", colour: "--new"},
    {name: "moving", colour: "--moving"},
    {name: "searching", colour: "--searching"},
    {name: "blocked", colour: "--blocked"},
    {name: "arrived", colour: "--arrived"},
    {name: "unreachable", colour: "--unreachable"},
];

// The mark of a status: a disc moves, a ring searches, a square is blocked, a diamond has arrived, a cross never will.
export function drawMark(to, status, x, y, size, colour, halo) {
    to.fillStyle = to.strokeStyle = colour;
    to.beginPath();
    if (status === 3) {
        to.rect(x - size * 0.85, y - size * 0.85, size * 1.7, size * 1.7);
    } else if (status === 4) {
        to.moveTo(x, y - size * 1.2);
        to.lineTo(x + size * 1.2, y);
        to.lineTo(x, y + size * 1.2);
        to.lineTo(x - size * 1.2, y);
        to.closePath();
    } else if (status === 5) {
        to.lineWidth = Math.max(1.2, size * 0.55);
        to.moveTo(x - size, y - size);
        to.lineTo(x + size, y + size);
        to.moveTo(x + size, y - size);
        to.lineTo(x - size, y + size);
        to.stroke();
        return;
    } else {
        to.arc(x, y, size, 0, 7);
    }
    if (status === 2 || status === 0) {
        to.lineWidth = Math.max(1.2, size * 0.5);
        to.fillStyle = halo;
        to.fill();
        to.stroke();
    } else {
        to.fill();
        if (size > 3) {
            to.lineWidth = 1;
            to.strokeStyle = halo;
            to.stroke();
        }
    }
}

function mix(from, to, share) {
    return from.map((value, i) => Math.round(value + (to[i] - value) * share));
}

export class Stage {
    constructor(canvas) {
        this.canvas = canvas;
        this.to = canvas.getContext("2d");
        this.width = this.height = 0; // of the map
        this.scale = 1;
        this.x = this.y = 0; // the cell in the middle
        this.isFitted = true;
        this.picture = document.createElement("canvas");
        this.shrink = 1;
        this.classes = null;
        this.weights = new Map();
        this.detail = null; // a part at full size, where the whole is shrunk
        this.flashes = [];
        this.agents = new Map();
        this.chosen = null; // id
        this.search = null; // what /view/session said of it
        this.shows = {trails: true, goals: false, search: true};
        this.readColours();
    }

    readColours() {
        const style = getComputedStyle(document.documentElement), probe = document.createElement("canvas").getContext("2d", {willReadFrequently: true});
        this.colour = {};
        for (const name of ["free", "wall", "wall-2", "wall-3", "heavy", "outside", "moving", "searching", "blocked", "arrived", "unreachable", "new", "trail",
            "path", "goal", "open", "closed", "raised", "shut-flash", "open-flash", "grid", "halo", "ink"])
            this.colour[name] = style.getPropertyValue("--" + name).trim();
        this.rgb = (name) => {
            probe.fillStyle = this.colour[name];
            probe.fillRect(0, 0, 1, 1);
            return [...probe.getImageData(0, 0, 1, 1).data].slice(0, 3);
        };
        this.palette = new Map();
    }

    // The colour of a class: closed ones dark in three shades, open ones from bare ground to heavy going.
    classColour(of) {
        let colour = this.palette.get(of);
        if (!colour) {
            const weight = this.weights.get(of) ?? 0;
            colour = weight === 0 ? this.rgb(["wall", "wall-2", "wall-3"][of === 64 || of === 79 ? 0 : of % 3])
                : mix(this.rgb("free"), this.rgb("heavy"), Math.min(1, Math.log2(weight) / 5));
            this.palette.set(of, colour);
        }
        return colour;
    }

    // ---- Terrain ----

    begin(width, height, shrink) {
        const isNew = width !== this.width || height !== this.height;
        this.width = width;
        this.height = height;
        this.shrink = shrink;
        this.picture.width = Math.ceil(width / shrink);
        this.picture.height = Math.ceil(height / shrink);
        this.classes = new Uint8Array(this.picture.width * this.picture.height);
        this.detail = null;
        this.flashes = [];
        if (isNew)
            this.fit();
    }

    putPart(part) {
        for (const [of, weight] of part.weights)
            if (this.weights.get(of) !== weight) {
                this.weights.set(of, weight);
                this.palette.delete(of);
            }
        if (part.shrink === this.shrink) {
            const x = part.x / part.shrink, y = part.y / part.shrink;
            for (let row = 0; row < part.rows; row++)
                this.classes.set(part.classes.subarray(row * part.columns, (row + 1) * part.columns), (y + row) * this.picture.width + x);
            this.picture.getContext("2d").putImageData(this.imageOf(part.classes, part.columns, part.rows), x, y);
        } else {
            const picture = document.createElement("canvas");
            picture.width = part.columns;
            picture.height = part.rows;
            picture.getContext("2d").putImageData(this.imageOf(part.classes, part.columns, part.rows), 0, 0);
            this.detail = {x: part.x, y: part.y, width: part.width, height: part.height, picture};
        }
    }

    imageOf(classes, columns, rows) {
        const image = new ImageData(columns, rows), data = new Uint32Array(image.data.buffer), words = new Uint32Array(256);
        const isKnown = new Uint8Array(256);
        for (let i = 0; i < classes.length; i++) {
            const of = classes[i];
            if (!isKnown[of]) {
                const [r, g, b] = this.classColour(of);
                words[of] = (255 << 24 | b << 16 | g << 8 | r) >>> 0;
                isKnown[of] = 1;
            }
            data[i] = words[of];
        }
        return image;
    }

    repaint() {
        this.readColours();
        if (this.classes && this.classes.length > 0)
            this.picture.getContext("2d").putImageData(this.imageOf(this.classes, this.picture.width, this.picture.height), 0, 0);
        this.detail = null;
    }

    // One cell has another class: [was closed, is closed].
    change(cell, of, now) {
        const x = cell % this.width, y = Math.floor(cell / this.width);
        const place = Math.floor(y / this.shrink) * this.picture.width + Math.floor(x / this.shrink);
        const wasOpen = (this.weights.get(this.classes[place]) ?? 0) > 0, isOpen = (this.weights.get(of) ?? 0) > 0;
        if (this.shrink === 1) {
            this.classes[place] = of;
            const [r, g, b] = this.classColour(of), to = this.picture.getContext("2d");
            to.fillStyle = `rgb(${r},${g},${b})`;
            to.fillRect(x, y, 1, 1);
        }
        if (this.flashes.length < 20000)
            this.flashes.push({x, y, isOpen, at: now});
        return [!wasOpen, !isOpen];
    }

    // ---- Where one looks ----

    size() {
        return [this.canvas.clientWidth, this.canvas.clientHeight];
    }

    scaleFit() {
        const [width, height] = this.size();
        return this.width > 0 && width > 0 ? Math.min(width / this.width, height / this.height) * 0.97 : 1;
    }

    fit() {
        this.scale = this.scaleFit();
        this.x = this.width / 2;
        this.y = this.height / 2;
        this.isFitted = true;
    }

    zoom(by, atX, atY) {
        const [width, height] = this.size(), fit = this.scaleFit();
        const x = atX ?? width / 2, y = atY ?? height / 2, [cellX, cellY] = this.cellAt(x, y);
        this.scale = Math.min(Math.max(this.scale * by, fit * 0.5), Math.max(ZOOM_MAX, fit));
        this.x = cellX - (x - width / 2) / this.scale;
        this.y = cellY - (y - height / 2) / this.scale;
        this.isFitted = false;
        this.keepInside();
    }

    pan(dx, dy) {
        this.x -= dx / this.scale;
        this.y -= dy / this.scale;
        this.isFitted = false;
        this.keepInside();
    }

    lookAt(cell) {
        this.x = cell % this.width + 0.5;
        this.y = Math.floor(cell / this.width) + 0.5;
        this.isFitted = false;
    }

    keepInside() {
        this.x = Math.min(Math.max(this.x, 0), this.width);
        this.y = Math.min(Math.max(this.y, 0), this.height);
    }

    // In cells, with fractions.
    cellAt(x, y) {
        const [width, height] = this.size();
        return [this.x + (x - width / 2) / this.scale, this.y + (y - height / 2) / this.scale];
    }

    // The agent nearest to a place of the canvas, within a finger's breadth; null: none is.
    agentAt(x, y) {
        const [cellX, cellY] = this.cellAt(x, y);
        let best = null, least = Math.max(18 / this.scale, 1) ** 2;
        for (const agent of this.agents.values()) {
            const dx = agent.cell % this.width + 0.5 - cellX, dy = Math.floor(agent.cell / this.width) + 0.5 - cellY;
            if (dx * dx + dy * dy < least) {
                least = dx * dx + dy * dy;
                best = agent;
            }
        }
        return best;
    }

    // The part of the map in sight, in cells, when it wants more than the shrunk picture shows; null: it does not.
    partWanted() {
        if (this.shrink === 1 || this.scale * this.shrink < 1.5)
            return null;
        const [width, height] = this.size(), [left, top] = this.cellAt(0, 0), [right, bottom] = this.cellAt(width, height);
        const x = Math.max(0, Math.floor(left)), y = Math.max(0, Math.floor(top));
        const part = {x, y, width: Math.min(this.width, Math.ceil(right)) - x, height: Math.min(this.height, Math.ceil(bottom)) - y};
        if (part.width < 1 || part.height < 1 || part.width * part.height > 4e6)
            return null;
        const has = this.detail;
        return has && has.x <= part.x && has.y <= part.y && has.x + has.width >= part.x + part.width && has.y + has.height >= part.y + part.height ? null : part;
    }

    // ---- Drawing ----

    // `share`: how far the agents are from where they were to where they are, 0 to 1. Gives whether something still moves.
    draw(now, share) {
        const scale = window.devicePixelRatio || 1, [width, height] = this.size(), to = this.to;
        if (this.canvas.width !== Math.round(width * scale) || this.canvas.height !== Math.round(height * scale)) {
            this.canvas.width = Math.round(width * scale);
            this.canvas.height = Math.round(height * scale);
            if (this.isFitted)
                this.fit();
        }
        to.setTransform(scale, 0, 0, scale, 0, 0);
        to.fillStyle = this.colour.outside;
        to.fillRect(0, 0, width, height);
        if (this.width === 0)
            return false;
        this.left = width / 2 - this.x * this.scale;
        this.top = height / 2 - this.y * this.scale;
        to.imageSmoothingEnabled = this.scale * this.shrink < 1;
        to.drawImage(this.picture, this.left, this.top, this.picture.width * this.shrink * this.scale, this.picture.height * this.shrink * this.scale);
        if (this.detail)
            to.drawImage(this.detail.picture, this.left + this.detail.x * this.scale, this.top + this.detail.y * this.scale,
                this.detail.width * this.scale, this.detail.height * this.scale);
        this.drawGrid(width, height);
        if (this.search && this.shows.search)
            this.drawSearch();
        const moves = this.drawFlashes(now);
        if (this.shows.trails)
            this.drawTrails();
        if (this.search)
            this.drawPath();
        this.drawAgents(share, width, height);
        return moves;
    }

    drawGrid(width, height) {
        if (this.scale < 9)
            return;
        const to = this.to, x0 = Math.max(0, Math.floor(-this.left / this.scale)), y0 = Math.max(0, Math.floor(-this.top / this.scale));
        const x1 = Math.min(this.width, Math.ceil((width - this.left) / this.scale)), y1 = Math.min(this.height, Math.ceil((height - this.top) / this.scale));
        to.strokeStyle = this.colour.grid;
        to.lineWidth = 1;
        to.beginPath();
        for (let x = x0; x <= x1; x++) {
            to.moveTo(this.left + x * this.scale, this.top + y0 * this.scale);
            to.lineTo(this.left + x * this.scale, this.top + y1 * this.scale);
        }
        for (let y = y0; y <= y1; y++) {
            to.moveTo(this.left + x0 * this.scale, this.top + y * this.scale);
            to.lineTo(this.left + x1 * this.scale, this.top + y * this.scale);
        }
        to.stroke();
    }

    fillCells(cells, colour, opacity, inset) {
        const to = this.to, side = Math.max(this.scale - 2 * inset, 1);
        to.globalAlpha = opacity;
        to.fillStyle = colour;
        for (const cell of cells)
            to.fillRect(this.left + cell % this.width * this.scale + inset, this.top + Math.floor(cell / this.width) * this.scale + inset, side, side);
        to.globalAlpha = 1;
    }

    // Closed states are filled, open ones outlined where there is room, raised h is a dot that grows with it.
    drawSearch() {
        const to = this.to, search = this.search;
        this.fillCells(search.closed ?? [], this.colour.closed, 0.38, 0);
        this.fillCells(search.open ?? [], this.colour.open, this.scale < 6 ? 0.75 : 0.3, 0);
        if (this.scale >= 6) {
            to.strokeStyle = this.colour.open;
            to.lineWidth = 1.5;
            for (const cell of search.open ?? [])
                to.strokeRect(this.left + cell % this.width * this.scale + 1.5, this.top + Math.floor(cell / this.width) * this.scale + 1.5, this.scale - 3, this.scale - 3);
        }
        const raised = search.raised ?? [];
        let most = 1;
        for (const by of search.raised_by ?? [])
            most = Math.max(most, by);
        to.fillStyle = this.colour.raised;
        for (let i = 0; i < raised.length; i++) {
            const cell = raised[i], by = search.raised_by[i];
            to.beginPath();
            to.arc(this.left + (cell % this.width + 0.5) * this.scale, this.top + (Math.floor(cell / this.width) + 0.5) * this.scale,
                Math.max(1, this.scale * (0.12 + 0.3 * by / most)), 0, 7);
            to.fill();
        }
    }

    drawFlashes(now) {
        this.flashes = this.flashes.filter((flash) => now - flash.at < FLASH_MS);
        const to = this.to, side = Math.max(this.scale, 3);
        for (const flash of this.flashes) {
            const age = (now - flash.at) / FLASH_MS, spread = side * (0.5 + 1.1 * (1 - age));
            const x = this.left + (flash.x + 0.5) * this.scale, y = this.top + (flash.y + 0.5) * this.scale;
            to.globalAlpha = 1 - age;
            to.strokeStyle = this.colour[flash.isOpen ? "open-flash" : "shut-flash"];
            to.lineWidth = flash.isOpen ? 1.5 : 2.5;
            to.strokeRect(x - spread, y - spread, spread * 2, spread * 2);
            if (!flash.isOpen) { // what closes is crossed out
                to.beginPath();
                to.moveTo(x - spread, y - spread);
                to.lineTo(x + spread, y + spread);
                to.stroke();
            }
        }
        to.globalAlpha = 1;
        return this.flashes.length > 0;
    }

    line(cells, endX, endY) {
        const to = this.to;
        to.beginPath();
        let before = -1;
        for (const cell of cells) {
            const x = cell % this.width, y = Math.floor(cell / this.width);
            const px = this.left + (x + 0.5) * this.scale, py = this.top + (y + 0.5) * this.scale;
            if (before < 0)
                to.moveTo(px, py);
            else
                to.lineTo(px, py);
            before = cell;
        }
        if (endX !== undefined && before >= 0)
            to.lineTo(endX, endY);
        to.stroke();
    }

    drawTrails() {
        this.to.strokeStyle = this.colour.trail;
        this.to.globalAlpha = 0.35;
        this.to.lineWidth = Math.max(1, Math.min(this.scale * 0.3, 4));
        this.to.lineJoin = this.to.lineCap = "round";
        for (const agent of this.agents.values())
            if (agent.trail.length > 0)
                this.line([...agent.trail, agent.before]);
        this.to.globalAlpha = 1;
    }

    drawPath() {
        const to = this.to, path = this.search.path ?? [];
        const agent = this.chosenAgent();
        if (!agent || path.length === 0)
            return;
        const from = path.indexOf(agent.cell);
        for (const [colour, width] of [[this.colour.halo, 5], [this.colour.path, 2.5]]) {
            to.strokeStyle = colour;
            to.lineWidth = width;
            to.lineJoin = to.lineCap = "round";
            this.line(from > 0 ? path.slice(from) : path);
        }
    }

    chosenAgent() {
        if (this.chosen === null)
            return null;
        for (const agent of this.agents.values())
            if (agent.id === this.chosen)
                return agent;
        return null;
    }

    place(agent, share) {
        const x = agent.cell % this.width, y = Math.floor(agent.cell / this.width);
        const bx = agent.before % this.width, by = Math.floor(agent.before / this.width);
        const part = Math.abs(x - bx) > 8 || Math.abs(y - by) > 8 ? 1 : share;
        return [this.left + (bx + (x - bx) * part + 0.5) * this.scale, this.top + (by + (y - by) * part + 0.5) * this.scale];
    }

    drawGoal(agent, x, y) {
        const to = this.to, gx = this.left + (agent.goal % this.width + 0.5) * this.scale, gy = this.top + (Math.floor(agent.goal / this.width) + 0.5) * this.scale;
        to.beginPath();
        to.moveTo(x, y);
        to.lineTo(gx, gy);
        to.stroke();
    }

    drawAgents(share, width, height) {
        const to = this.to, size = Math.min(Math.max(this.scale * 0.42, AGENT_DOTS_MIN), 14);
        const colours = statuses.map((status) => this.colour[status.colour.slice(2)]);
        if (this.shows.goals) {
            to.strokeStyle = this.colour.goal;
            to.globalAlpha = 0.25;
            to.lineWidth = 1;
            for (const agent of this.agents.values())
                this.drawGoal(agent, ...this.place(agent, share));
            to.globalAlpha = 1;
        }
        for (const agent of this.agents.values()) {
            const [x, y] = this.place(agent, share);
            if (x > -20 && y > -20 && x < width + 20 && y < height + 20)
                drawMark(to, agent.status, x, y, size, colours[agent.status] ?? colours[0], this.colour.halo);
        }
        const chosen = this.chosenAgent();
        if (!chosen)
            return;
        const [x, y] = this.place(chosen, share);
        to.strokeStyle = this.colour.goal;
        to.lineWidth = 2;
        const gx = this.left + (chosen.goal % this.width + 0.5) * this.scale, gy = this.top + (Math.floor(chosen.goal / this.width) + 0.5) * this.scale;
        const reach = Math.max(size * 1.5, 7);
        to.beginPath(); // the goal: a ring and a cross
        to.arc(gx, gy, reach, 0, 7);
        to.moveTo(gx - reach * 1.5, gy);
        to.lineTo(gx + reach * 1.5, gy);
        to.moveTo(gx, gy - reach * 1.5);
        to.lineTo(gx, gy + reach * 1.5);
        to.stroke();
        for (const [colour, width_] of [[this.colour.halo, 5], [this.colour.ink, 2]]) {
            to.strokeStyle = colour;
            to.lineWidth = width_;
            to.beginPath();
            to.arc(x, y, Math.max(size * 2, 9), 0, 7);
            to.stroke();
        }
    }
}
