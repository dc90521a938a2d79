/** Values that are pointed at in the picture: those of the file, at the places that it shows. */
import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, test } from "node:test";
import { keep, launch, openPage, settled, until } from "./browser.mjs";
import { writeNpy } from "./npy.mjs";
import { startServer } from "./server.mjs";
import { serving } from "./serving.mjs";

const EDGE = 32;
/** Of each sample its place: what is told of a place can be told from it. */
const places = (x, y, z, step) => x + 100 * y + 10000 * z + 1e6 * step;
const SOLID = "range=0,10000000&opacity=0,1;1,1";

/** Of the step that is shown: of another one it is said. */
const TOLD = /^[-\d.e]+( Pa)? at x /;

const told = (page) => page.locator(".picked");

/** Value and coordinates as they are told. */
async function read(page) {
  const words = await told(page).textContent();
  const [, value, x, y, z] = words.match(/^([\d.]+) at x ([\d.]+), y ([\d.]+), z ([\d.]+)$/) ?? [];
  assert.ok(value, `\u201c${words}\u201d tells no value`);
  return { value: Number(value), place: [x, y, z].map(Number) };
}

/** Rounded in words, and mixed from single precision. */
const isNear = (a, b, by) => Math.abs(a - b) <= by;

describe("a value that is pointed at", () => {
  const here = serving("places", EDGE, places, 3);

  test("is told of no place that the file does not have, which a link may name", async () => {
    const page = await here.open({ hash: `view=0,0,3,30&step=0&mark=100,1,1&${SOLID}` });
    await page.getByText("\u201cmark=100,1,1\u201d, which cannot be used here").waitFor();
    await until(page, (v) => v.shown.proxy === "still");
    assert.equal(await told(page).textContent(), "");
    assert.doesNotMatch(await page.evaluate(() => location.hash), /mark=/);
    assert.deepEqual(page.errors, []);
    await page.close();
  });

  test("is that of the file at the place that is seen there, and follows the steps", async () => {
    const page = await here.open({ hash: `view=0,0,3,30&step=0&${SOLID}` });
    await until(page, (v) => v.shown.proxy === "still");
    const stage = page.locator(".stage");
    const { width, height } = await stage.boundingBox();
    await stage.click({ position: { x: width / 2, y: height / 2 } });
    await told(page).filter({ hasText: TOLD }).waitFor();
    const { value, place } = await read(page);
    // The front face, half a step inside.
    assert.ok(isNear(place[0], 15.5, 0.1) && isNear(place[1], 15.5, 0.1) && isNear(place[2], 30.5, 0.1), String(place));
    assert.ok(isNear(value, places(...place, 0), 0.1 + 100 * 0.1 + 10000 * 0.1), `${value} at ${place}`);
    await page.keyboard.press("]");
    await page.waitForFunction(
      (before) => Math.abs(Number.parseFloat(document.querySelector(".picked").textContent) - before - 1e6) < 2,
      value,
    );
    assert.deepEqual((await read(page)).place, place);
    await keep(page, "picked");
    await page.waitForFunction(() => /mark=15.5,15.5,30.5/.test(location.hash));
    await page.reload();
    await told(page).filter({ hasText: TOLD }).waitFor();
    assert.deepEqual((await read(page)).place, place);
    await page.keyboard.press("Escape");
    await page.waitForFunction(() => document.querySelector(".picked").textContent === "");
    assert.deepEqual(page.errors, []);
    await page.close();
  });

  test("is what the part shows that is cut out, in the middle by a key, and nothing beside the box", async () => {
    const page = await here.open({ hash: `view=0,0,3,30&step=0&crop=:,:,:0.5&${SOLID}` });
    await until(page, (v) => v.shown.proxy === "still");
    const stage = page.locator(".stage");
    await stage.focus();
    await page.keyboard.press("v");
    await told(page).filter({ hasText: TOLD }).waitFor();
    assert.ok(isNear((await read(page)).place[2], 15, 0.6));
    await stage.click({ position: { x: 20, y: 200 } });
    await told(page).filter({ hasText: "Nothing shows there." }).waitFor();
    assert.deepEqual(page.errors, []);
    await page.close();
  });

  test("is not asked for by who turns the view, and whom nobody answers is told so", async (t) => {
    const page = await here.open({ hash: `view=0,0,3,30&step=0&${SOLID}` });
    await until(page, (v) => v.shown.proxy === "still");
    const { x, y, width, height } = await page.locator(".stage").boundingBox();
    await page.mouse.move(x + width / 2, y + height / 2);
    await page.mouse.down();
    await page.mouse.move(x + width / 2 + 60, y + height / 2, { steps: 4 });
    await page.mouse.up();
    await settled(page);
    assert.equal(await told(page).textContent(), "");
    here.server.suspend();
    t.after(() => here.server.resume());
    await page.mouse.click(x + width / 2, y + height / 2);
    await told(page).filter({ hasText: "Waiting for the value" }).waitFor();
    here.server.resume();
    await told(page).filter({ hasText: TOLD }).waitFor();
    await page.close();
  });
});

describe("a value over time", () => {
  const [STEPS, X, Y, Z] = [40, 11, 12, 13];
  const wave = (x, y, z, step) => x + 100 * y + 10000 * z + 5000 * Math.sin(step / 5);
  const here = serving("wave", EDGE, wave, STEPS);
  const words = (page) => page.locator(".plot-words");
  const link = `view=0,0,3,30&step=7&mark=${X},${Y},${Z}&plot=1&${SOLID}`;

  test("is that of the file at every step, and is saved as numbers", async () => {
    const page = await here.open({ hash: link });
    await words(page)
      .filter({ hasText: `${STEPS} steps: from ` })
      .waitFor();
    const all = Array.from({ length: STEPS }, (_, step) => Math.fround(wave(X, Y, Z, step)));
    const [, least, most] = (await words(page).textContent()).match(/from ([\d.]+) at step \d+ to ([\d.]+) at/);
    assert.ok(isNear(Number(least), Math.min(...all), 0.1) && isNear(Number(most), Math.max(...all), 0.1));
    const saved = page.waitForEvent("download");
    await page.getByRole("button", { name: "Save CSV" }).click();
    const download = await saved;
    assert.match(download.suggestedFilename(), /-over-time\.csv$/);
    const [head, ...rows] = readFileSync(await download.path(), "utf8")
      .trim()
      .split("\n");
    assert.match(head, /^step,.* at sample 11 12 13$/);
    assert.deepEqual(
      rows.map((row) => row.split(",").map(Number).map(Math.fround)),
      all.map((value, step) => [step, value]),
    );
    await keep(page, "over-time");
    assert.deepEqual(page.errors, []);
    await page.close();
  });

  test("leads to the step that is clicked at, is closed by a key, and is in the link", async () => {
    const page = await here.open({ hash: link });
    await words(page)
      .filter({ hasText: `${STEPS} steps: from ` })
      .waitFor();
    const curve = page.locator(".plot .u-over");
    const { width, height } = await curve.boundingBox();
    await curve.click({ position: { x: width - 1, y: height / 2 } });
    await until(page, (v) => v.shown.step === 39);
    assert.match(await page.locator(".plot-at").textContent(), /^step 39: /);
    await page.waitForFunction(() => /plot=1/.test(location.hash));
    const stage = page.locator(".stage");
    await stage.focus();
    await page.keyboard.press("g");
    await page.locator(".plot").waitFor({ state: "hidden" });
    await page.waitForFunction(() => !/plot=/.test(location.hash));
    // Without a place it says what to do; that of another place is another one.
    await page.keyboard.press("Escape");
    await page.getByRole("button", { name: "Value over time" }).click();
    await words(page).filter({ hasText: "Click in the picture" }).waitFor();
    await stage.focus();
    await page.keyboard.press("v");
    await words(page)
      .filter({ hasText: `${STEPS} steps: from ` })
      .waitFor();
    assert.deepEqual(page.errors, []);
    await page.close();
  });
});

test("a page that finds its server again is told the values over time that it was not told", async (t) => {
  const folder = mkdtempSync(join(tmpdir(), "visapult-e2e-"));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const file = writeNpy(join(folder, "places.npy"), EDGE, places, 6);
  let server = await startServer(file);
  t.after(() => server.kill());
  const browser = await launch();
  t.after(() => browser.close());
  const page = await openPage(browser, server.url, { hash: `view=0,0,3,30&step=0&mark=3,4,5&${SOLID}` });
  await told(page).filter({ hasText: TOLD }).waitFor();
  await server.kill();
  await page.getByText("Connection lost").waitFor();
  await page.locator(".stage").focus();
  await page.keyboard.press("g");
  await page.locator(".plot-words").filter({ hasText: "not there to be asked" }).waitFor();
  server = await startServer(file, Number(server.url.port));
  await page
    .locator(".plot-words")
    .filter({ hasText: /^6 steps: from / })
    .waitFor();
  assert.deepEqual(page.errors, []);
});

test("of a simulation the values over time are those of the steps that were seen", async (t) => {
  const server = await startServer("demo:wave?n=32");
  t.after(() => server.kill());
  const browser = await launch();
  t.after(() => browser.close());
  const page = await openPage(browser, server.url, { hash: `view=0,0,3,30&plot=1&mark=3,4,5&${SOLID}` });
  await page
    .locator(".plot-words")
    .filter({ hasText: /^Steps as they are seen. ([3-9]|\d\d+) steps: / })
    .waitFor();
  assert.deepEqual(page.errors, []);
});

test("of a simulation that is paused a value is of the step that is shown", async (t) => {
  const server = await startServer("demo:wave?n=48");
  t.after(() => server.kill());
  const browser = await launch();
  t.after(() => browser.close());
  const page = await openPage(browser, server.url, { hash: `view=0,0,3,30&${SOLID}` });
  await until(page, (v) => v.shown.step !== null);
  const stage = page.locator(".stage");
  for (let look = 0; look < 3; look++) {
    await stage.focus();
    await page.keyboard.press("v");
    await told(page)
      .filter({ hasText: / at x / })
      .waitFor();
    await page.keyboard.press("Space");
    await settled(page);
    // Of another step it says so.
    await told(page).filter({ hasText: TOLD }).waitFor();
    await page.keyboard.press("Space");
    await page.waitForTimeout(300);
  }
  assert.deepEqual(page.errors, []);
});
