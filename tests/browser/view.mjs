// What a person does with the live view, done in Chromium. Run by check_view_page.py, which hears one JSON line for each thing looked
// at, {"holds": true, "words": "..."}, and answers lines {"ask": "..."} on standard input.
//
//   node view.mjs URL FOLDER-OF-NODE-MODULES [FOLDER-FOR-PICTURES]

import {createRequire} from "node:module";
import {createInterface} from "node:readline";
import {join} from "node:path";

const [url, modules, pictures] = process.argv.slice(2);
const {chromium} = createRequire(join(modules, "anything.js"))("playwright-core");
const AGENTS = Number(process.env.TICKPATH_AGENTS ?? 200), WAIT_MS = 15000;

const answers = createInterface({input: process.stdin})[Symbol.asyncIterator]();

function check(holds, words) {
    console.log(JSON.stringify({holds: Boolean(holds), words}));
    return holds;
}

async function ask(what) {
    console.log(JSON.stringify({ask: what}));
    await answers.next();
}

// Waits for a condition in the page; gives whether it came to hold.
async function becomes(page, condition, argument) {
    return page.waitForFunction(condition, argument, {timeout: WAIT_MS, polling: 50}).then(() => true, () => false);
}

const look = (page) => page.evaluate(() => {
    const {stage, state} = window.tickpathView;
    return {
        agents: [...stage.agents.values()].map(({id, cell, status}) => ({id, cell, status})), chosen: stage.chosen, x: stage.x, y: stage.y, scale: stage.scale,
        frame: state.frame?.number ?? 0, held: state.queue.length, width: stage.width, version: state.about?.version ?? 0,
        search: stage.search && {path: stage.search.path, open: stage.search.open.length, closed: stage.search.closed.length, cell: stage.search.cell},
    };
});

async function open(browser, options, path = "") {
    const context = await browser.newContext(options), page = await context.newPage();
    page.troubles = [];
    page.hosts = new Set();
    page.on("console", (message) => message.type() === "error" && page.troubles.push(message.text()));
    page.on("pageerror", (error) => page.troubles.push(error.message));
    page.on("request", (request) => page.hosts.add(new URL(request.url()).host));
    await page.goto(url + path, {waitUntil: "load"});
    return page;
}

async function picture(page, name) {
    if (pictures)
        await page.screenshot({path: join(pictures, name)});
}

// ---- Agents move ----

async function sees(page) {
    check(await becomes(page, (count) => window.tickpathView?.stage.agents.size === count, AGENTS), `${AGENTS} agents are seen`);
    const first = await look(page);
    check(await becomes(page, (frame) => window.tickpathView.state.frame.number >= frame + 12, first.frame), "frames come");
    const now = await look(page), cells = new Map(first.agents.map((agent) => [agent.id, agent.cell]));
    const moved = now.agents.filter((agent) => cells.has(agent.id) && cells.get(agent.id) !== agent.cell).length;
    check(moved > AGENTS / 4, `${moved} of ${AGENTS} agents moved in a dozen frames`);
    check(await becomes(page, () => window.tickpathView.stage.classes?.some((of) => of !== window.tickpathView.stage.classes[0])), "the terrain is there");
    const colours = await page.evaluate(() => {
        const canvas = document.querySelector("#stage"), data = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data, seen = new Set();
        for (let i = 0; i < data.length; i += 4 * 97)
            seen.add(data[i] << 16 | data[i + 1] << 8 | data[i + 2]);
        return seen.size;
    });
    check(colours > 8, `the canvas shows ${colours} colours`);
    check(await becomes(page, () => document.querySelectorAll("#changes li:not(.quiet)").length > 0), "changes of the map are listed");
    check(await becomes(page, () => /[0-9]/.test(document.querySelector("#charts .chart .line").textContent)), "the charts have figures");
}

// ---- One is clicked ----

const placeOf = (page, id) => page.evaluate((wanted) => {
    const {stage} = window.tickpathView, box = document.querySelector("#stage").getBoundingClientRect();
    const agent = [...stage.agents.values()].find((one) => one.id === wanted), [x, y] = stage.place(agent, 1);
    return [box.x + x, box.y + y];
}, id);

async function clicks(page) {
    // in the middle of the map, so that what is near is under the mouse too
    const {agents, width} = await look(page);
    const from = agents.map((agent) => ({...agent, far: Math.hypot(agent.cell % width - width / 2, Math.floor(agent.cell / width) - width / 2)}));
    const near = from.sort((a, b) => a.far - b.far)[0];
    await page.mouse.click(...await placeOf(page, near.id));
    check(await becomes(page, () => window.tickpathView.stage.chosen !== null), "a click on an agent chooses one");
    check(await becomes(page, () => window.tickpathView.stage.search?.path?.length > 1), "its path comes");
    const {search, chosen} = await look(page);
    const steps = (search?.path ?? []).slice(1).map((cell, i) => [Math.abs(cell % width - search.path[i] % width), Math.abs(Math.floor(cell / width) - Math.floor(search.path[i] / width))]);
    check(steps.length > 0 && steps.every(([dx, dy]) => dx <= 1 && dy <= 1 && dx + dy > 0), "the path goes from cell to cell");
    check(await becomes(page, () => window.tickpathView.stage.search?.closed.length > 0), "the closed states of a search come");
    const words = await page.locator("#agent").innerText();
    check(/status/.test(words) && /path/.test(words) && /goal/.test(words), `the panel tells of agent ${chosen}: ${words.replaceAll("\n", " ")}`);
}

// The next agent of a status, by a click on that; and what the panel of the daemon says.
async function asks(page) {
    const [first, second] = await page.evaluate(() => [0, 1].map(() => {
        document.querySelectorAll("#key button")[1].click();
        return {...window.tickpathView.stage.chosenAgent()};
    }));
    check(first.status === 1 && second.status === 1 && first.id !== second.id, "clicks on a status choose one agent of it after the other");
    check(await becomes(page, () => /slowest tick/.test(document.querySelector("#daemon").innerText)), "the daemon's panel is filled"); // asked for every 5 s
    const words = await page.locator("#daemon").innerText();
    check(/version\n[0-9]+\.[0-9]/.test(words) && /store\nmemory, lost/.test(words), `the panel of the daemon: ${words.replaceAll("\n", " ")}`);
    for (const name of await page.locator(".links a").allInnerTexts())
        check((await page.request.get(`${url}${name}`)).status() === 200, `its link leads to ${name}`);
}

// ---- Pause and step ----

async function pauses(page) {
    await page.locator("#pause").click();
    const still = await look(page);
    check(await becomes(page, () => window.tickpathView.state.queue.length > 5), "frames are held while paused");
    const held = await look(page);
    check(held.frame === still.frame && JSON.stringify(held.agents) === JSON.stringify(still.agents), "nothing moves while paused");
    await page.locator("#step").click();
    const one = await look(page);
    check(one.frame === still.frame + 1, `a step goes from frame ${still.frame} to ${one.frame}`);
    check(JSON.stringify(one.agents) !== JSON.stringify(still.agents), "a step moves agents");
    await page.locator("#stage").focus();
    await page.keyboard.press(".");
    check((await look(page)).frame === still.frame + 2, "the key . steps too");
    await page.keyboard.press(" ");
    check(await becomes(page, (frame) => window.tickpathView.state.frame.number > frame + 8, still.frame), "space goes on, and catches up");
}

// ---- Keys ----

async function keys(page) {
    await page.keyboard.press("Escape");
    check((await look(page)).chosen === null, "escape chooses none");
    await page.keyboard.press("n");
    const first = (await look(page)).chosen;
    await page.keyboard.press("n");
    const second = (await look(page)).chosen;
    await page.keyboard.press("p");
    check(first !== null && second !== first && (await look(page)).chosen === first, "n and p go from agent to agent");
    const before = await look(page);
    await page.keyboard.press("+");
    await page.keyboard.press("+");
    const near = await look(page);
    check(near.scale > before.scale * 1.5, "+ zooms in");
    await page.keyboard.press("ArrowRight");
    await page.keyboard.press("ArrowDown");
    const beside = await look(page);
    check(beside.x > near.x && beside.y > near.y, "arrows pan");
    await page.keyboard.press("0");
    check((await look(page)).scale < near.scale, "0 shows the whole map");
    await page.mouse.move(300, 300);
    await page.mouse.wheel(0, -240);
    check(await becomes(page, (scale) => window.tickpathView.stage.scale > scale * 1.2, before.scale), "the wheel zooms");
    await page.keyboard.press("0");
    await page.keyboard.press("?");
    check(await page.locator("#help").isVisible() && await page.locator("#help .marks li").count() === 8, "? shows the marks and the keys");
    await page.keyboard.press("Escape");
    check(!await page.locator("#help").isVisible(), "escape closes them");

    // every control is reached by Tab and shows that it has the focus
    await page.evaluate(() => document.activeElement?.blur());
    const reached = new Set();
    let bare = "";
    for (let i = 0; i < 30; i++) {
        await page.keyboard.press("Tab");
        const [id, outline, name] = await page.evaluate(() => {
            const at = document.activeElement, style = getComputedStyle(at);
            return [at.id || at.className || at.tagName, style.outlineStyle !== "none" && parseFloat(style.outlineWidth) >= 2,
                at.getAttribute("aria-label") || at.labels?.[0]?.innerText || at.innerText || at.title];
        });
        if (id === "BODY")
            continue; // round the page once more
        reached.add(id);
        if (!outline || !name)
            bare += ` ${id}`;
    }
    check(["maps", "stage", "pause", "zoom-in", "fit", "trails", "follow", "help-open", "agent-id", "agent-next"].every((id) => reached.has(id)), `Tab reaches ${[...reached].join(" ")}`);
    check(bare === "", `every one shows its focus and has a name${bare && ", but" + bare}`);
}

// ---- How it looks ----

const contrastOf = (page, selector) => page.evaluate((of) => {
    const probe = document.createElement("canvas").getContext("2d");
    const light = (colour) => {
        probe.clearRect(0, 0, 1, 1);
        probe.fillStyle = colour;
        probe.fillRect(0, 0, 1, 1);
        const [r, g, b] = [...probe.getImageData(0, 0, 1, 1).data].map((v) => v / 255).map((v) => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
        return 0.2126 * r + 0.7152 * g + 0.0722 * b;
    };
    const at = document.querySelector(of);
    let behind = at;
    while (behind && /rgba\(0, 0, 0, 0\)|transparent/.test(getComputedStyle(behind).backgroundColor))
        behind = behind.parentElement;
    const [a, b] = [light(getComputedStyle(at).color), light(getComputedStyle(behind ?? document.body).backgroundColor)].sort((p, q) => q - p);
    return (a + 0.05) / (b + 0.05);
}, selector);

async function looks(page, scheme) {
    await page.emulateMedia({colorScheme: scheme});
    for (const of of ["h1", ".facts", ".card h2", "#agent dt", "#agent dd", "#trails", "#fit", "#key button", "#daemon dt", ".links a", ".chart .line"]) {
        const contrast = await contrastOf(page, of);
        check(contrast >= 4.5, `${scheme}: ${of} has a contrast of ${contrast.toFixed(1)}`);
    }
}

async function onPhone(browser) {
    const page = await open(browser, {viewport: {width: 390, height: 844}, hasTouch: true, isMobile: true, deviceScaleFactor: 2});
    check(await becomes(page, (count) => window.tickpathView?.stage.agents.size === count && window.tickpathView.stage.width > 0, AGENTS), "a phone sees the agents");
    const fits = await page.evaluate(() => ({wide: document.documentElement.scrollWidth, has: innerWidth, stage: document.querySelector("#stage").getBoundingClientRect(),
        least: Math.min(...[...document.querySelectorAll(".tools button")].map((button) => Math.min(button.offsetWidth, button.offsetHeight)))}));
    check(fits.wide <= fits.has, `nothing is wider than the phone: ${fits.wide} of ${fits.has}`);
    check(fits.stage.height >= 300 && fits.stage.width >= 380, "the map has most of the phone");
    check(fits.least >= 36, `buttons are ${fits.least} dots or more`);
    const before = await look(page), session = await page.context().newCDPSession(page);
    const fingers = (apart) => [{x: 195 - apart, y: 320, id: 0}, {x: 195 + apart, y: 320, id: 1}];
    await session.send("Input.dispatchTouchEvent", {type: "touchStart", touchPoints: fingers(30)});
    for (const apart of [45, 60, 80])
        await session.send("Input.dispatchTouchEvent", {type: "touchMove", touchPoints: fingers(apart)});
    await session.send("Input.dispatchTouchEvent", {type: "touchEnd", touchPoints: []});
    check(await becomes(page, (scale) => window.tickpathView.stage.scale > scale * 1.5, before.scale), "two fingers zoom");
    await page.locator("#fit").tap();
    await page.locator("#agent-next").tap();
    check(await becomes(page, () => window.tickpathView.stage.search?.path), "a finger chooses an agent");
    await page.evaluate(() => scrollTo(0, 0));
    await picture(page, "view-phone.png");
    check(page.troubles.length === 0, `the phone's page has no troubles: ${page.troubles.join("; ")}`);
    await page.context().close();
}

// ---- The daemon goes, and comes back ----

async function comesBack(page) {
    await ask("end the daemon");
    check(await becomes(page, () => document.querySelector("#link").dataset.state === "gone" && !document.querySelector("#banner").hidden), "the page says that the daemon is gone");
    await ask("start the daemon");
    check(await becomes(page, (count) => document.querySelector("#link").dataset.state === "live" && window.tickpathView.stage.agents.size === count, AGENTS), "it comes back by itself, with the agents");
    check(await page.locator("#banner").isHidden(), "and no longer says so");
}

// A still moment in which something is to be seen: the chosen agent searches, and its path is long.
async function forPicture(page) {
    await page.evaluate(() => document.activeElement?.blur());
    for (let tries = 0; tries < 40; tries++) {
        await page.keyboard.press("n");
        if (await page.waitForFunction(() => window.tickpathView.stage.search?.closed.length > 900 && window.tickpathView.stage.search.path.length > 30, null, {timeout: 400}).then(() => true, () => false))
            break;
    }
    await page.waitForTimeout(300);
}

const browser = await chromium.launch({
    executablePath: process.env.TICKPATH_CHROMIUM || "/usr/bin/chromium",
    args: ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"],
});
try {
    const page = await open(browser, {viewport: {width: 1280, height: 800}, colorScheme: "light"});
    await sees(page);
    await clicks(page);
    await asks(page);
    if (pictures) {
        await page.waitForTimeout(20000); // for the charts
        await forPicture(page);
    }
    await picture(page, "view-light.png");
    await pauses(page);
    await keys(page);
    await looks(page, "light");
    await looks(page, "dark");
    if (pictures)
        await forPicture(page);
    await page.keyboard.press("f");
    check(await becomes(page, () => window.tickpathView.state.follows && window.tickpathView.stage.scale >= 4), "f keeps the chosen agent in sight");
    await page.waitForTimeout(pictures ? 1500 : 0);
    await picture(page, "view-dark.png");
    check(page.troubles.length === 0, `the page has no troubles: ${page.troubles.join("; ")}`);
    check([...page.hosts].join() === new URL(url).host, `only the daemon is asked: ${[...page.hosts].join(" ")}`);
    await onPhone(browser);
    await comesBack(page);
} catch (error) {
    check(false, `the script failed: ${error.stack}`);
} finally {
    await browser.close();
}
process.exit(0);
