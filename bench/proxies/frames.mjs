/**
 * Turns a page at 1024 x 768 and counts: node frames.mjs URL PROXY, which may be `auto`. Once the proxy is on the screen and nothing is left to draw, says how long
 * the first picture took and how long all of it, and what was sent. Then, for each line of its input, says what some turns took: milliseconds a frame
 * in a row, milliseconds from single key presses to finished pictures, and processor seconds of the browser a turn.
 */
import { readdirSync, readFileSync } from "node:fs";
import { createInterface } from "node:readline";
import { hasPicture, launch, openPage, settled, until } from "../../tests/e2e/browser.mjs";

const [address, proxy] = process.argv.slice(2);
/** Of five degrees: there and back, so that a keyframe serves all of them. */
const KEYS = ["ArrowRight", "ArrowRight", "ArrowLeft", "ArrowLeft", "ArrowLeft", "ArrowRight"];
const TICKS_PER_S = 100;
const PATIENCE_MS = 120_000;

const browser = await launch();
try {
  const query = { stills: "0", resolution: "full", drafts: "0" };
  const opened = performance.now();
  const page = await openPage(browser, new URL(address), { query, hash: `panel=0&proxy=${proxy}`, height: 768 });
  await hasPicture(page);
  const first_ms = performance.now() - opened;
  if (proxy !== "auto") await until(page, (v, shown) => v.shown.proxy === shown, proxy, PATIENCE_MS);
  await settled(page);
  const whole_ms = performance.now() - opened;
  // Statistics end with the plan.
  const plan = await page.evaluate(() => document.querySelector("dl.statistics").lastElementChild.textContent);
  console.log(JSON.stringify({ first_ms, whole_ms, plan }));
  for await (const _ of createInterface({ input: process.stdin })) {
    const before = browserSeconds();
    const row = await page.evaluate(turn, KEYS);
    const cpu_s = (browserSeconds() - before) / (2 * KEYS.length);
    const shown = await page.evaluate(() => window.visapult.shown.proxy);
    console.log(JSON.stringify({ ...row, cpu_s, shown }));
    await settled(page);
  }
} finally {
  await browser.close();
}

/** In the page: every key once, one after another as fast as frames come; then each by itself, its picture waited for. */
async function turn(keys) {
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
  for (const key of keys) await press(key);
  finish();
  const frame_ms = (performance.now() - begin) / keys.length;
  const photon_ms = [];
  for (const key of keys) {
    await new Promise((resolve) => setTimeout(resolve, 300));
    const pressed = performance.now();
    await press(key);
    finish();
    photon_ms.push(performance.now() - pressed);
  }
  return { frame_ms, photon_ms };
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
