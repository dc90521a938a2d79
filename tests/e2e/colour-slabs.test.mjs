/** Slabs of colour in the page, of a field that they show best: turned with the server suspended, and held to what the program draws of them. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { decibels } from "./against-program.mjs";
import { inWorkers, keep, lit, picture, settled, statistic, until } from "./browser.mjs";
import { serving } from "./serving.mjs";

const EDGE = 48;
const LEAST_DB = 42;
/** Of a picture of which bricks show a third, of whichever level the link was found to carry: this field changes from sample to sample. */
const LEAST_BESIDE_DB = 14;
/** Of a field that changes within a slab: what lies between the faces of a scalar slab is not what they say. */
const COLOURS = "range=-3,3&map=viridis&opacity=0,0;0.6,0;0.8,0.9;1,0";

const ripples = (x, y, z) =>
  Math.sin(1.6 * x + 0.7 * y) + Math.sin(1.4 * y - 0.9 * z + 1) + Math.sin(1.2 * z + 1.1 * x + 2);

/** In the page's workers: what they have for the page is kept back in lots, told of by its kind, until each lot is given. */
function keepBack() {
  const give = self.postMessage.bind(self);
  const lots = [];
  const told = new BroadcastChannel("told");
  self.postMessage = (message, ...rest) => {
    if (lots.length === 0) return give(message, ...rest);
    lots.at(-1).push([message, ...rest]);
    told.postMessage(message.part?.type ?? message.type);
  };
  new BroadcastChannel("lots").onmessage = ({ data }) => {
    if (data === "begin") lots.push([]);
    else for (const kept of lots.shift() ?? []) give(...kept);
  };
}

describe("slabs of colour", () => {
  const here = serving("ripples", EDGE, ripples);
  const { file, folder } = here;

  test("they are drawn with the server suspended, as the program draws them", async (t) => {
    const page = await here.open({ query: { stills: "0" }, hash: `proxy=slabs&${COLOURS}` });
    const plan = statistic(page, "Plan");
    await plan.filter({ hasText: /slabs of colour, as chosen, \d/ }).waitFor();
    await until(page, (v) => v.shown.proxy === "slabs");
    await settled(page);
    const told = await plan.textContent();
    t.diagnostic(told);
    const slabs = Number(/(\d+) slabs of colour/.exec(told)[1]);
    const key = await page.evaluate(() => window.visapult.camera);
    here.server.suspend();
    t.after(() => here.server.resume());
    await page.locator(".stage").focus();
    for (const turns of [0, 3]) {
      for (let press = 0; press < turns; press++) await page.keyboard.press("ArrowRight");
      await settled(page);
      assert.equal(await page.evaluate(() => window.visapult.shown.proxy), "slabs");
      assert.ok(lit(await picture(page)) > 0.02, "the picture is black");
      const db = await decibels(page, { file, folder, proxy: "slabs", slabs, key });
      t.diagnostic(`${5 * turns} degrees: ${db.toFixed(1)} dB from the program's picture`);
      assert.ok(db >= LEAST_DB, `${db} dB, ${5 * turns} degrees from the key view`);
    }
    await keep(page, "colour-slabs");
    await page.close();
  });

  test("zoomed out of, they are still shown, and bricks beside them", async (t) => {
    const page = await here.open({ query: { stills: "0" }, hash: `view=30,20,1.4,30&proxy=slabs&${COLOURS}` });
    await statistic(page, "Plan")
      .filter({ hasText: /slabs of colour, as chosen, \d/ })
      .waitFor();
    await until(page, (v) => v.shown.proxy === "slabs");
    await until(page, ({ stats: { bytes } }) => {
      const now = performance.now();
      if (window.came?.bytes !== bytes) window.came = { bytes, since: now };
      return bytes > 5e6 && now - window.came.since > 2000;
    });
    await settled(page);
    here.server.suspend();
    t.after(() => here.server.resume());
    await page.locator(".stage").focus();
    for (let press = 0; press < 2; press++) await page.keyboard.press("-");
    await settled(page);
    await keep(page, "beside-colour-slabs");
    assert.equal(await page.evaluate(() => window.visapult.shown.proxy), "slabs");
    const db = await decibels(page, { file, folder, proxy: "exact" });
    t.diagnostic(`${db.toFixed(1)} dB from the exact picture`);
    assert.ok(db >= LEAST_BESIDE_DB, `${db} dB`);
    await page.close();
  });

  test("an edit that changes nothing leaves them where they are", async (t) => {
    const page = await here.open({ query: { stills: "0" }, hash: `proxy=slabs&${COLOURS}` });
    t.after(() => page.close());
    await until(page, (v) => v.shown.proxy === "slabs");
    await settled(page);
    await page.locator(".handle").first().focus();
    await page.keyboard.press("ArrowDown");
    for (let look = 0; look < 10; look++) {
      assert.equal(await page.evaluate(() => window.visapult.shown.proxy), "slabs");
      await page.waitForTimeout(100);
    }
  });

  test("on their way when the transfer function is edited, they are not shown in the colours of before", async (t) => {
    const before = inWorkers(`(${keepBack})()`);
    const page = await here.open({ query: { stills: "0" }, hash: `proxy=slabs&${COLOURS}`, before });
    t.after(() => page.close());
    await until(page, (v) => v.shown.proxy === "slabs");
    await settled(page);
    const lots = (what) => page.evaluate((what) => new BroadcastChannel("lots").postMessage(what), what);
    const proxy = () => page.evaluate(() => window.visapult.shown.proxy);
    await lots("begin");
    await page.locator(".stage").focus();
    for (let press = 0; press < 3; press++) await page.keyboard.press("ArrowRight");
    await until(page, () => {
      const now = performance.now();
      const { length } = window.told;
      if (window.kept?.length !== length) window.kept = { length, since: now };
      return window.told.includes("slabs") && now - window.kept.since > 1500;
    });
    await lots("begin");
    await page.locator("#map").selectOption("inferno");
    await until(page, (v) => v.shown.proxy === "bricks");
    await lots("give");
    for (let look = 0; look < 15; look++) {
      assert.notEqual(await proxy(), "slabs", "slabs through another transfer function are shown");
      await page.waitForTimeout(100);
    }
    await lots("give");
    await until(page, (v) => v.shown.proxy === "slabs");
    assert.deepEqual(page.errors, []);
  });
});
