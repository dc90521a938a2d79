/**
 * Turns a page and counts: node frames.mjs URL PROXY [WIDTHxHEIGHT]; the proxy may be `auto`. Once it is on the screen and nothing is left to draw, says how long
 * the first picture took and how long all of it, what was sent, and what draws. Then, for each line of its input, says what some turns took: milliseconds a frame
 * in a row, milliseconds from single key presses to finished pictures, and processor seconds of the browser a turn.
 */
import { readdirSync, readFileSync } from "node:fs";
import { createInterface } from "node:readline";
import { hasPicture, launch, openPage, settled, until } from "../../tests/e2e/browser.mjs";

const [address, proxy, size = "1024x768"] = process.argv.slice(2);
const [width, height] = size.split("x").map(Number);
/** Of five degrees: there and back, so that a keyframe serves all of them. */
const KEYS = ["ArrowRight", "ArrowRight", "ArrowLeft", "ArrowLeft", "ArrowLeft", "ArrowRight"];
/** In a row, at least: graphics processors slow down while they have nothing to do, and take a while to be fast again. */
const LEAST_MS = 1000;
const TICKS_PER_S = 100;
const PATIENCE_MS = 120_000;

const browser = await launch();
try {
  const query = { stills: "0", resolution: "full", drafts: "0" };
  const opened = performance.now();
  const page = await openPage(browser, new URL(address), { query, hash: `panel=0&proxy=${proxy}`, width, height });
  await hasPicture(page);
  const first_ms = performance.now() - opened;
  if (proxy !== "auto") await until(page, (v, shown) => v.shown.proxy === shown, proxy, PATIENCE_MS);
  await settled(page);
  const whole_ms = performance.now() - opened;
  // Statistics end with the plan.
  const plan = await page.evaluate(() => document.querySelector("dl.statistics").lastElementChild.textContent);
  const renderer = await page.evaluate(nameRenderer);
  console.log(JSON.stringify({ first_ms, whole_ms, plan, renderer }));
  for await (const _ of createInterface({ input: process.stdin })) {
    const before = browserSeconds();
    const { turns, ...row } = await page.evaluate(turn, [KEYS, LEAST_MS]);
    const cpu_s = (browserSeconds() - before) / turns;
    const shown = await page.evaluate(() => window.visapult.shown.proxy);
    console.log(JSON.stringify({ ...row, cpu_s, shown }));
    await settled(page);
  }
} finally {
  await browser.close();
}

/** In the page: what draws it. */
function nameRenderer() {
  const gl = document.querySelector("canvas.picture").getContext("webgl2");
  return gl.getParameter(gl.getExtension("WEBGL_debug_renderer_info")?.UNMASKED_RENDERER_WEBGL ?? gl.RENDERER);
}

/** In the page: the keys again and again for so long, one after another as fast as frames come; then each by itself, its picture waited for. */
async function turn([keys, leastMs]) {
  const v = window.visapult;
  const stage = document.querySelector(".stage");
  const gl = document.querySelector("canvas.picture").getContext("webgl2");
  const finish = () => gl.readPixels(0, 0, 1, 1, gl.RGBA, gl.UNSIGNED_BYTE, new Uint8Array(4));
  const press = async (key) => {
    const before = v.frameCount;
    stage.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true }));
    while (v.frameCount === before) await new Promise((resolve) => requestAnimationFrame(resolve));
  };
  const begin = performance.now();
  let turns = 0;
  while (performance.now() - begin < leastMs) {
    for (const key of keys) await press(key);
    turns += keys.length;
  }
  finish();
  const frame_ms = (performance.now() - begin) / turns;
  const photon_ms = [];
  for (const key of keys) {
    await new Promise((resolve) => setTimeout(resolve, 300));
    const pressed = performance.now();
    await press(key);
    finish();
    photon_ms.push(performance.now() - pressed);
    turns += 1;
  }
  return { frame_ms, photon_ms, turns };
}

/** Processor seconds that all processes started by this one have taken so far; fields 4, 14 and 15 of `proc_pid_stat(5)`. */
function browserSeconds() {
  const processes = new Map();
  for (const pid of readdirSync("/proc").filter((name) => /^\d+$/.test(name))) {
    try {
      const fields = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ").pop().split(" ");
      processes.set(Number(pid), {
        parent: Number(fields[1]),
        seconds: (Number(fields[11]) + Number(fields[12])) / TICKS_PER_S,
      });
    } catch {
      // It has ended.
    }
  }
  const isOurs = (pid) => pid === process.pid || (processes.has(pid) && isOurs(processes.get(pid).parent));
  return [...processes]
    .filter(([pid]) => pid !== process.pid && isOurs(pid))
    .reduce((sum, [, { seconds }]) => sum + seconds, 0);
}
