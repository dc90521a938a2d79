/** Scalar slabs and segments in the page: turned and recoloured with the server suspended, and held to what the program draws of them. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { decibels } from "./against-program.mjs";
import { difference, firstGroupLate, keep, lit, picture, settled, statistic, until } from "./browser.mjs";
import { serving } from "./serving.mjs";

const EDGE = 48;
const LEAST_DB = 42;
/** Of a picture in which a sample is a dozen pixels wide. */
const LEAST_WIDE_DB = 34;

const wave = (x, y, z) => {
  const r = Math.hypot(x - 20, y - 28, z - 24) / EDGE;
  return Math.sin(16 * r) * Math.exp(-1.5 * r);
};

describe("keyframes of values", () => {
  const here = serving("wave", EDGE, wave);
  const { file, folder } = here;

  for (const [proxy, sentAs, turns] of [
    ["scalar-slabs", "slabs", 9],
    ["segments", "segments", 9],
  ]) {
    test(`${proxy}: an edit of the transfer function is drawn with the server suspended, as the program draws it`, async (t) => {
      const page = await here.open({ query: { stills: "0" }, hash: `proxy=${sentAs}` });
      await until(page, (v, shown) => v.shown.proxy === shown, sentAs);
      await settled(page);
      t.diagnostic(await statistic(page, "Plan").textContent());
      const key = await page.evaluate(() => window.visapult.camera);
      const held = () => decibels(page, { file, folder, proxy, key });
      here.server.suspend();
      t.after(() => here.server.resume());
      await page.locator(".stage").focus();
      for (let i = 0; i < turns; i++) await page.keyboard.press("ArrowRight");
      await settled(page);
      const turned = await picture(page);
      const turnedDb = await held();
      await page.locator("#map").selectOption("inferno");
      const handles = page.locator(".handle");
      await handles.nth(Math.floor((await handles.count()) / 2)).focus();
      for (let i = 0; i < 12; i++) await page.keyboard.press("ArrowUp");
      await settled(page);
      await keep(page, proxy);
      assert.equal(await page.evaluate(() => window.visapult.shown.proxy), sentAs);
      const edited = await picture(page);
      assert.ok(lit(edited) > 0.02, "the picture is black");
      assert.ok(difference(turned, edited) > 1, "the edit changed nothing");
      const editedDb = await held();
      t.diagnostic(`turned ${turnedDb.toFixed(1)} dB, edited ${editedDb.toFixed(1)} dB from the program's picture`);
      assert.ok(Math.min(turnedDb, editedDb) >= LEAST_DB, `${turnedDb} dB turned, ${editedDb} dB edited`);
      here.server.resume();
      await page.locator("#proxy").selectOption("bricks");
      await until(page, (v) => v.shown.proxy === "bricks");
      await statistic(page, "Plan").filter({ hasText: "bricks" }).waitFor();
      await settled(page);
      const bytes = await page.evaluate(() => window.visapult.stats.bytes);
      await page.locator("#proxy").selectOption(sentAs);
      await until(page, (v, shown) => v.shown.proxy === shown, sentAs);
      const again = (await page.evaluate(() => window.visapult.stats.bytes)) - bytes;
      assert.ok(again > 0, "the keyframe was kept while bricks were chosen");
      await page.close();
    });
  }

  test("bricks: they are turned and recoloured with the server suspended, as the program draws them", async (t) => {
    const page = await here.open({ query: { stills: "0" }, hash: "proxy=bricks" });
    await until(page, (v) => v.shown.level === 0);
    await settled(page);
    here.server.suspend();
    t.after(() => here.server.resume());
    await page.locator(".stage").focus();
    for (let i = 0; i < 9; i++) await page.keyboard.press("ArrowRight");
    await settled(page);
    const turnedDb = await decibels(page, { file, folder, proxy: "bricks" });
    await page.locator("#map").selectOption("inferno");
    await settled(page);
    const editedDb = await decibels(page, { file, folder, proxy: "bricks" });
    t.diagnostic(`turned ${turnedDb.toFixed(1)} dB, edited ${editedDb.toFixed(1)} dB from the program's picture`);
    assert.ok(Math.min(turnedDb, editedDb) >= LEAST_DB, `${turnedDb} dB turned, ${editedDb} dB edited`);
    await page.close();
  });

  test("a keyframe that comes after bricks were chosen is not kept", async () => {
    const page = await here.open({ query: { stills: "0" }, hash: "proxy=segments", before: firstGroupLate() });
    const shows = (proxy) => until(page, (v, proxy) => v.shown.proxy === proxy, proxy);
    await shows("segments");
    await settled(page);
    const before = await page.evaluate(() => window.told.filter((told) => told === "came").length);
    await page.locator(".stage").focus();
    for (let i = 0; i < 9; i++) await page.keyboard.press("ArrowRight");
    await until(page, (_, before) => window.told.filter((told) => told === "came").length > before, before);
    await page.locator("#proxy").selectOption("bricks");
    await statistic(page, "Plan").filter({ hasText: "bricks" }).waitFor();
    await until(page, () => {
      const count = (what) => window.told.filter((told) => told === what).length;
      return count("given") === count("came");
    });
    await shows("bricks");
    await settled(page);
    const bytes = await page.evaluate(() => window.visapult.stats.bytes);
    await page.locator("#proxy").selectOption("segments");
    await shows("segments");
    const again = (await page.evaluate(() => window.visapult.stats.bytes)) - bytes;
    assert.ok(again > 0, "the late keyframe was kept while bricks were chosen");
    await page.close();
  });

  for (const sentAs of ["slabs", "segments"]) {
    test(`${sentAs} of a wide picture close to the box fill it`, async (t) => {
      const hash = `view=40,25,1.1,30&panel=0&proxy=${sentAs}`;
      const page = await here.open({ query: { stills: "0" }, hash, width: 1200, height: 420 });
      await until(page, (v, shown) => v.shown.proxy === shown, sentAs);
      await settled(page);
      await keep(page, `wide-${sentAs}`);
      const shownDb = await decibels(page, { file, folder, proxy: "exact" });
      t.diagnostic(`${shownDb.toFixed(1)} dB from the exact picture`);
      assert.ok(shownDb >= LEAST_WIDE_DB, `${shownDb} dB`);
      await page.close();
    });
  }
});
