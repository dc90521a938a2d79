/** A real browser with software WebGL2, or what `CHROMIUM_SWITCHES` say instead; and what tests ask of the page. */
import { mkdirSync } from "node:fs";
import { createRequire } from "node:module";
import { fileURLToPath } from "node:url";

const require = createRequire(new URL("../../web/package.json", import.meta.url));
const { chromium } = require("playwright-core");

export const screenshots = fileURLToPath(new URL("../../out/e2e/", import.meta.url));
mkdirSync(screenshots, { recursive: true });

const SOFTWARE = "--use-gl=angle --use-angle=gl-egl --ignore-gpu-blocklist";

export const launch = () =>
  chromium.launch({
    executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
    args: ["--no-sandbox", ...(process.env.CHROMIUM_SWITCHES ?? SOFTWARE).split(" ")],
  });

/** Opens the page of a server; `query` and `hash` are added to its URL. Fails the test on any script error. */
export async function openPage(browser, url, { query = {}, hash = "", width = 1024, height = 720, before } = {}) {
  const page = await browser.newPage({ viewport: { width, height } });
  page.errors = [];
  page.on("pageerror", (error) => page.errors.push(error.message));
  if (before) await page.addInitScript(before);
  const address = new URL(url);
  for (const [name, value] of Object.entries({ test: "1", ...query })) address.searchParams.set(name, value);
  address.hash = hash;
  await page.goto(address.href);
  return page;
}

/** To be run in a page before it begins: its workers run `code` as well; what that posts to the channel `told` is in `window.told`. */
export const inWorkers = (code) => ({ content: `(${extendWorkers})(${JSON.stringify(code)})` });

function extendWorkers(code) {
  const Real = Worker;
  window.Worker = class extends Real {
    constructor(url, options) {
      const both = `import ${JSON.stringify(new URL(url, location).href)}; ${code}`;
      super(URL.createObjectURL(new Blob([both], { type: "text/javascript" })), { ...options, type: "module" });
    }
  };
  window.told = [];
  new BroadcastChannel("told").onmessage = ({ data }) => window.told.push(data);
}

/** To be run in a page before it begins: the first of its data connections brings everything a second later. Tells of each message that it `came`, and was `given` on. */
export const firstGroupLate = () => inWorkers(`(${delayFirstGroup})()`);

function delayFirstGroup() {
  const DELAY_MS = 1000;
  const Real = WebSocket;
  const channel = new BroadcastChannel("told");
  self.WebSocket = class extends Real {
    set onmessage(listener) {
      const isFirst = new URL(this.url).searchParams.get("group") === "0";
      const give = (event) => {
        listener(event);
        channel.postMessage("given");
      };
      const delay = (event) => {
        channel.postMessage("came");
        setTimeout(give, DELAY_MS, event);
      };
      super.onmessage = isFirst ? delay : listener;
    }
  };
}

/** To be run in a page before it begins: all its data connections bring everything so much later. */
export const dataLate = (milliseconds) => inWorkers(`(${delayData})(${milliseconds})`);

function delayData(milliseconds) {
  const Real = WebSocket;
  self.WebSocket = class extends Real {
    set onmessage(listener) {
      super.onmessage = (event) => setTimeout(listener, milliseconds, event);
    }
  };
}

/** In the page, before it begins: keeps the words that are on the labels' canvas in `window.written`. */
export function keepWords() {
  window.written = [];
  const { clearRect, fillText } = CanvasRenderingContext2D.prototype;
  const isLabels = (context) => context.canvas.classList?.contains("labels");
  CanvasRenderingContext2D.prototype.clearRect = function (...box) {
    if (isLabels(this)) window.written = [];
    return clearRect.apply(this, box);
  };
  CanvasRenderingContext2D.prototype.fillText = function (words, ...at) {
    if (isLabels(this)) window.written.push(words);
    return fillText.call(this, words, ...at);
  };
}

/** Waits until `condition(window.visapult, argument)` holds in the page; says what the page showed if it never does. */
export async function until(page, condition, argument = null, timeout = 30_000) {
  const probe = `window.visapult ? (${condition})(window.visapult, ${JSON.stringify(argument)}) : false`;
  const giveUp = performance.now() + timeout;
  while (!(await page.evaluate(probe))) {
    if (performance.now() > giveUp)
      throw new Error(`waited ${timeout} ms in vain for ${condition}: ${await describeState(page)}`);
    await new Promise((resolve) => setTimeout(resolve, 40));
  }
}

const describeState = (page) =>
  page.evaluate(() => {
    const { shown, steps, wantedStep, stats, frameCount } = window.visapult ?? {};
    return JSON.stringify({
      shown,
      steps,
      wantedStep,
      stats,
      frameCount,
      status: document.querySelector(".status")?.textContent,
    });
  });

export const hasPicture = (page) => until(page, (v) => v.shown.step !== null);

/** Waits until the page has nothing left to draw: full resolution and precision, and no frame for a while. */
export function settled(page) {
  return until(
    page,
    ({ frameCount, isAtRest, shown }) => {
      const now = performance.now();
      if (window.settling?.frameCount !== frameCount) window.settling = { frameCount, since: now };
      const isWhole = shown.resolution === 1 && shown.precision === "exact";
      return isAtRest && isWhole && now - window.settling.since > 700;
    },
    null,
    60_000,
  );
}

/** The picture without labels, reduced to 96 x 64 RGB. */
export function picture(page) {
  return page.evaluate(() => {
    const small = document.createElement("canvas");
    [small.width, small.height] = [96, 64];
    const context = small.getContext("2d", { willReadFrequently: true });
    context.drawImage(document.querySelector("canvas.picture"), 0, 0, small.width, small.height);
    const { data } = context.getImageData(0, 0, small.width, small.height);
    return Array.from(data).filter((_, i) => i % 4 !== 3);
  });
}

/** Mean absolute difference of two pictures, of 255. */
export function difference(a, b) {
  return a.reduce((sum, value, i) => sum + Math.abs(value - b[i]), 0) / a.length;
}

/** Share of pixels that are not nearly black. */
export function lit(pixels) {
  const count = pixels.length / 3;
  let bright = 0;
  for (let i = 0; i < pixels.length; i += 3) if (pixels[i] + pixels[i + 1] + pixels[i + 2] > 45) bright += 1;
  return bright / count;
}

/** The words beside a name in the page's statistics. */
export const statistic = (page, name) =>
  page.locator("dt:not(dialog dt)", { hasText: name }).locator("xpath=following-sibling::dd[1]");

/** Real touches: fingers that go down at `from`, one after the other, and are lifted at `to`. */
export async function touching(page) {
  const browser = await page.context().newCDPSession(page);
  const points = (places) => places.map(([x, y], id) => ({ x, y, id }));
  const dispatch = (type, touchPoints) => browser.send("Input.dispatchTouchEvent", { type, touchPoints });
  return async (from, to) => {
    for (let fingers = 1; fingers < from.length; fingers++)
      await dispatch("touchStart", points(from.slice(0, fingers)));
    await dispatch("touchStart", points(from));
    for (const share of [0.25, 0.5, 0.75, 1]) {
      const between = from.map((place, i) => place.map((n, axis) => n + share * (to[i][axis] - n)));
      await dispatch("touchMove", points(between));
    }
    await dispatch("touchEnd", []);
  };
}

export const keep = (page, name) => page.screenshot({ path: `${screenshots}${name}.png` });
