// Small charts of the last two minutes. Lines are told apart by their dashes as well as by their colours, and each has its present
// figure in words beside it.

const KEPT = 120;

export function short(value) {
    if (value === null || value === undefined || Number.isNaN(value))
        return "–";
    for (const [least, letter] of [[1e9, "G"], [1e6, "M"], [1e3, "k"]])
        if (value >= least)
            return (value / least).toFixed(value >= least * 100 ? 0 : 1) + letter;
    return value >= 100 || Number.isInteger(value) ? value.toFixed(0) : value.toFixed(1);
}

export function time(us) {
    if (us === null || us === undefined)
        return "–";
    return us >= 1e6 ? (us / 1e6).toFixed(2) + " s" : us >= 1e3 ? (us / 1e3).toFixed(us >= 1e5 ? 0 : 1) + " ms" : us.toFixed(0) + " µs";
}

export class Chart {
    // lines: [{name, field, colour: a variable of the style sheet, dash: [..]}]
    constructor(parent, name, lines, words) {
        this.lines = lines;
        this.words = words;
        this.values = lines.map(() => []);
        this.root = document.createElement("div");
        this.root.className = "chart";
        const line = document.createElement("p"), title = document.createElement("span");
        title.className = "name";
        title.textContent = name;
        line.append(title);
        this.figures = lines.map((of) => {
            const entry = document.createElement("span"), mark = document.createElement("i"), figure = document.createElement("span");
            entry.className = "line";
            mark.style.borderTopStyle = of.dash.length === 0 ? "solid" : of.dash[0] > 3 ? "dashed" : "dotted";
            mark.style.borderTopColor = `var(${of.colour})`;
            entry.append(mark, of.name + " ", figure);
            line.append(entry);
            return figure;
        });
        this.canvas = document.createElement("canvas");
        this.canvas.setAttribute("role", "img");
        this.root.append(line, this.canvas);
        parent.append(this.root);
        this.name = name;
    }

    add(numbers) {
        this.lines.forEach((line, i) => {
            const value = numbers[line.field];
            this.values[i].push(value);
            if (this.values[i].length > KEPT)
                this.values[i].shift();
            this.figures[i].textContent = this.words(value);
        });
        this.canvas.setAttribute("aria-label", this.name + ": " + this.lines.map((line, i) => line.name + " " + this.figures[i].textContent).join(", "));
        this.draw();
    }

    draw() {
        const scale = window.devicePixelRatio || 1, width = this.canvas.clientWidth, height = this.canvas.clientHeight;
        if (width === 0)
            return;
        this.canvas.width = Math.round(width * scale);
        this.canvas.height = Math.round(height * scale);
        const to = this.canvas.getContext("2d"), style = getComputedStyle(document.documentElement);
        to.scale(scale, scale);
        const most = Math.max(1e-9, ...this.values.flat().filter((value) => value !== null)) * 1.1;
        to.strokeStyle = style.getPropertyValue("--line");
        to.lineWidth = 1;
        for (const part of [0.25, 0.5, 0.75]) {
            to.beginPath();
            to.moveTo(0, Math.round(height * part) + 0.5);
            to.lineTo(width, Math.round(height * part) + 0.5);
            to.stroke();
        }
        this.lines.forEach((line, i) => {
            const values = this.values[i];
            to.strokeStyle = style.getPropertyValue(line.colour);
            to.lineWidth = 1.8;
            to.setLineDash(line.dash);
            to.beginPath();
            let isDown = false;
            values.forEach((value, at) => {
                if (value === null) {
                    isDown = false;
                    return;
                }
                const x = width - 3 - (values.length - 1 - at) * (width - 6) / (KEPT - 1), y = height - 3 - value / most * (height - 8);
                if (isDown)
                    to.lineTo(x, y);
                else
                    to.moveTo(x, y);
                isDown = true;
            });
            to.stroke();
            to.setLineDash([]);
        });
        to.fillStyle = style.getPropertyValue("--soft");
        to.font = "10px system-ui, sans-serif";
        to.fillText(this.words(most / 1.1), 4, 11);
    }
}
