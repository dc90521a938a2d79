/** A part of the box alone, in the page: through every proxy, with the server suspended, held to what the program draws of it. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { decibels } from "./against-program.mjs";
import { keep, lit, picture, settled, statistic, until } from "./browser.mjs";
import { serving } from "./serving.mjs";

const EDGE = 64;
const LEAST_DB = 40;
/** Of layers that were made of more than is shown: they end at their middles. */
const LEAST_CUT_DB = 30;

/** Shells around a point. */
const shells = (x, y, z) => Math.sin(Math.hypot(x - 30, y - 34, z - 28) / 2.5);

const cameraOf = (page) => page.evaluate(() => window.visapult.camera);
const end = (page, name) => page.getByRole("slider", { name, exact: true });

describe("a part of the box", () => {
  const here = serving("shells", EDGE, shells);
  const { file, folder } = here;

  for (const [proxy, sentAs] of [
    ["bricks", "bricks"],
    ["scalar-slabs", "slabs"],
    ["segments", "segments"],
  ]) {
    test(`${proxy}: they are cropped and turned with the server suspended, as the program draws them`, async (t) => {
      const page = await here.open({ query: { stills: "0" }, hash: `proxy=${sentAs}` });
      await until(page, (v, shown) => v.shown.proxy === shown, sentAs);
      await settled(page);
      const whole = lit(await picture(page));
      const key = await cameraOf(page);
      const plan = await statistic(page, "Plan").textContent();
      t.diagnostic(plan);
      const slabs = proxy === "scalar-slabs" ? plan.match(/(\d+) scalar slabs/)[1] : undefined;
      here.server.suspend();
      t.after(() => here.server.resume());
      await end(page, "x, shown from").fill("21");
      await end(page, "z, shown to").fill("40");
      await settled(page);
      assert.ok(lit(await picture(page)) < 0.8 * whole, "as much is seen as before");
      const held = () => decibels(page, { file, folder, proxy, slabs, key });
      const croppedDb = await held();
      await page.locator(".stage").focus();
      for (let i = 0; i < 5; i++) await page.keyboard.press("ArrowRight");
      await settled(page);
      await keep(page, `cropped-${proxy}`);
      assert.equal(await page.evaluate(() => window.visapult.shown.proxy), sentAs);
      const turnedDb = await held();
      t.diagnostic(`cropped ${croppedDb.toFixed(1)} dB, turned ${turnedDb.toFixed(1)} dB from the program's picture`);
      assert.ok(Math.min(croppedDb, turnedDb) >= LEAST_DB, `${croppedDb} dB cropped, ${turnedDb} dB turned`);
      await page.close();
    });
  }

  test("solid, it is cut as by planes, with the server suspended", async (t) => {
    const page = await here.open({ query: { stills: "0" }, hash: "proxy=bricks" });
    await until(page, (v) => v.shown.proxy === "bricks" && v.shown.level === 0);
    await settled(page);
    here.server.suspend();
    t.after(() => here.server.resume());
    await page.locator("#opacity").selectOption("solid");
    await end(page, "z, shown to").fill("28");
    await settled(page);
    await keep(page, "cropped-solid");
    const db = await decibels(page, { file, folder, proxy: "exact" });
    t.diagnostic(`${db.toFixed(1)} dB from the program's picture`);
    assert.ok(db >= LEAST_DB, `${db} dB`);
    await page.getByRole("button", { name: /^Undo/ }).click();
    assert.equal(await page.locator("#opacity").inputValue(), "drawn");
    await page.close();
  });

  test("either end is dragged at its middle, also where they are near each other", async () => {
    const page = await here.open();
    await until(page, (v) => v.shown.proxy === "still");
    const line = await end(page, "x, shown from").boundingBox();
    const at = (step) => line.x + 8 + ((line.width - 16) * step) / (EDGE - 1);
    const drag = async (from, to) => {
      await page.mouse.move(at(from), line.y + line.height / 2);
      await page.mouse.down();
      await page.mouse.move(at(to), line.y + line.height / 2, { steps: 5 });
      await page.mouse.up();
    };
    const ends = () => Promise.all(["from", "to"].map((name) => end(page, `x, shown ${name}`).inputValue()));
    await drag(0, 30);
    await drag(EDGE - 1, 34);
    const [from, to] = (await ends()).map(Number);
    assert.ok(Math.abs(from - 30) <= 1 && Math.abs(to - 34) <= 1, `${from} to ${to}`);
    await drag(from, 10);
    assert.ok(Math.abs(Number((await ends())[0]) - 10) <= 1 && Number((await ends())[1]) === to, String(await ends()));
    await page.close();
  });

  test("a part is moved with both its ends, is in the address, and gives way to the whole", async () => {
    const page = await here.open();
    await until(page, (v) => v.shown.proxy === "still");
    await end(page, "y, shown from").fill("20");
    await end(page, "y, shown to").fill("30");
    await until(page, (v) => v.shown.proxy === "still");
    const db = await decibels(page, { file, folder, proxy: "exact" });
    assert.ok(db >= LEAST_DB, `the still is ${db} dB from the exact picture`);
    await end(page, "y, shown from").press("Shift+ArrowRight");
    const part = (await cameraOf(page)).crop[1].map((share) => Math.round(share * (EDGE - 1)));
    assert.deepEqual(part, [21, 31]);
    assert.equal(await end(page, "y, shown to").getAttribute("aria-valuetext"), "31");
    await page.waitForFunction(() => location.hash.includes("crop=0:1,0.3333333:0.4920635,0:1"));
    await page.reload();
    await until(page, (v) => v.shown.proxy === "still");
    assert.equal(await end(page, "y, shown from").inputValue(), "21");
    await page.getByRole("button", { name: "Whole" }).click();
    await page.waitForFunction(() => !location.hash.includes("crop"));
    assert.deepEqual((await cameraOf(page)).crop, [
      [0, 1],
      [0, 1],
      [0, 1],
    ]);
    assert.deepEqual(page.errors, []);
    await page.close();
  });
});

describe("layers of colour", () => {
  const ripples = (x, y, z) =>
    Math.sin(1.6 * x + 0.7 * y) + Math.sin(1.4 * y - 0.9 * z + 1) + Math.sin(1.2 * z + 1.1 * x + 2);
  const here = serving("ripples", 48, ripples);
  const { file, folder } = here;
  const colours = "range=-3,3&map=viridis&opacity=0,0;0.6,0;0.8,0.9;1,0";

  test("are made of what is shown, cut meanwhile, and no longer shown where there is more", async (t) => {
    const page = await here.open({ query: { stills: "0" }, hash: `proxy=slabs&crop=:,0.25:,:&${colours}` });
    t.after(() => page.close());
    const plan = statistic(page, "Plan");
    await plan.filter({ hasText: /slabs of colour, as chosen, \d/ }).waitFor();
    await until(page, (v) => v.shown.proxy === "slabs");
    await settled(page);
    const slabs = Number(/(\d+) slabs of colour/.exec(await plan.textContent())[1]);
    const key = await cameraOf(page);
    const db = await decibels(page, { file, folder, proxy: "slabs", slabs, key });
    here.server.suspend();
    t.after(() => here.server.resume());
    await end(page, "x, shown to").fill("30");
    await settled(page);
    assert.equal(await page.evaluate(() => window.visapult.shown.proxy), "slabs");
    const cutDb = await decibels(page, { file, folder, proxy: "slabs", slabs, key });
    await keep(page, "cropped-colours");
    t.diagnostic(`${db.toFixed(1)} dB from the program's picture, cut further ${cutDb.toFixed(1)} dB`);
    assert.ok(db >= LEAST_DB && cutDb >= LEAST_CUT_DB, `${db} dB, cut further ${cutDb} dB`);
    await end(page, "y, shown from").fill("0");
    await settled(page);
    assert.equal(await page.evaluate(() => window.visapult.shown.proxy), "bricks");
    here.server.resume();
    await until(page, (v) => v.shown.proxy === "slabs");
    assert.deepEqual(page.errors, []);
  });
});
