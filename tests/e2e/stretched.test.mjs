/** A box that is wide and thin, stretched and upright in the page: through every proxy, held to what the program draws so. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { decibels } from "./against-program.mjs";
import { keep, lit, picture, settled, statistic, until } from "./browser.mjs";
import { serving } from "./serving.mjs";

const LEAST_DB = 40;

/** A ring that leans, strongest at the ground. */
const ring = (x, y, z) => {
  const r = Math.hypot(x - 40 - 3 * z, y - 36);
  return Math.exp(-(((r - 16) / 6) ** 2) - z / 4);
};

const cameraOf = (page) => page.evaluate(() => window.visapult.camera);

describe("a thin box", () => {
  const here = serving("layer", [96, 80, 8], ring);
  const { file, folder } = here;

  for (const [proxy, sentAs] of [
    ["bricks", "bricks"],
    ["scalar-slabs", "slabs"],
    ["segments", "segments"],
  ]) {
    test(`${proxy}: it is made thicker by one click, and then turned with the server suspended, as the program draws it`, async (t) => {
      const page = await here.open({ query: { stills: "0" }, hash: `proxy=${sentAs}&up=z` });
      await until(page, (v, shown) => v.shown.proxy === shown, sentAs);
      await settled(page);
      const flat = lit(await picture(page));
      await page.getByRole("button", { name: "Fit", exact: true }).click();
      await settled(page);
      await until(page, (v, shown) => v.shown.proxy === shown, sentAs);
      await settled(page);
      const key = await cameraOf(page);
      assert.deepEqual([key.stretch, key.up], [[1, 1, 5], "z"]);
      assert.ok(lit(await picture(page)) > flat, "no more is seen of it");
      const plan = await statistic(page, "Plan").textContent();
      t.diagnostic(plan);
      // As many as were chosen.
      const slabs = proxy === "scalar-slabs" ? plan.match(/(\d+) scalar slabs/)[1] : undefined;
      const held = () => decibels(page, { file, folder, proxy, slabs, key });
      const stretchedDb = await held();
      here.server.suspend();
      t.after(() => here.server.resume());
      await page.locator(".stage").focus();
      for (let i = 0; i < 9; i++) await page.keyboard.press("ArrowRight");
      await settled(page);
      await keep(page, `stretched-${proxy}`);
      assert.equal(await page.evaluate(() => window.visapult.shown.proxy), sentAs);
      const turnedDb = await held();
      t.diagnostic(
        `stretched ${stretchedDb.toFixed(1)} dB, turned ${turnedDb.toFixed(1)} dB from the program's picture`,
      );
      assert.ok(Math.min(stretchedDb, turnedDb) >= LEAST_DB, `${stretchedDb} dB stretched, ${turnedDb} dB turned`);
      await page.close();
    });
  }

  test("how many times as long each axis is shown is typed, told where it cannot be, in the address, and taken back", async () => {
    const page = await here.open();
    await until(page, (v) => v.shown.proxy === "still");
    const box = page.getByLabel("z", { exact: true });
    await box.fill("thick");
    await box.press("Enter");
    await page.getByRole("alert").filter({ hasText: "\u201cthick\u201d is not a number" }).waitFor();
    await box.fill("0");
    await box.press("Enter");
    await page.getByRole("alert").filter({ hasText: "write a number from 0.000001 to 1000000" }).waitFor();
    await box.fill("3,5");
    await box.press("Enter");
    await page.waitForFunction(() => location.hash.includes("stretch=1,1,3.5"));
    await page.reload();
    await until(page, (v) => v.shown.proxy === "still");
    assert.deepEqual((await cameraOf(page)).stretch, [1, 1, 3.5]);
    await page.locator("#up").selectOption("z");
    await page.waitForFunction(() => location.hash.includes("up=z"));
    await page.getByRole("button", { name: "1 : 1" }).click();
    await page.waitForFunction(() => !location.hash.includes("stretch"));
    assert.deepEqual((await cameraOf(page)).stretch, [1, 1, 1]);
    assert.deepEqual(page.errors, []);
    await page.close();
  });
});
