/** What the panel says of a range of values and takes for one, and its colours. */
import assert from "node:assert/strict";
import { join } from "node:path";
import { describe, test } from "node:test";
import { decibels } from "./against-program.mjs";
import { hasPicture, keep, keepWords, lit, openPage, picture, settled, until } from "./browser.mjs";
import { writeNpy } from "./npy.mjs";
import { startServer } from "./server.mjs";
import { blob, serving } from "./serving.mjs";
import { writeZarr } from "./zarr.mjs";

/** Of bricks with 8 bits and more, beside the exact picture. */
const LEAST_DB = 40;

/** Waves around 0, and two values far from all others. */
const waves = (x, y, z) => [1000, -1000][x + y + z] ?? Math.sin(x / 3) * Math.cos(y / 4);

describe("the transfer function's panel", () => {
  const here = serving("waves", 24, waves);
  const rangeOf = (page) => page.evaluate(() => window.visapult.transferFunction.range);

  test("a range is taken bound by bound, and what is none is said to be so and forgotten", async () => {
    const page = await here.open({ query: { stills: "0" } });
    await hasPicture(page);
    const [lo, hi] = ["#range-lo", "#range-hi"].map((id) => page.locator(id));
    const problem = page.getByRole("alert").filter({ visible: true });
    const [, highest] = await rangeOf(page);
    await lo.fill("-0,25");
    await page.keyboard.press("Enter");
    assert.deepEqual(await rangeOf(page), [-0.25, highest]);
    const shown = await lo.inputValue();
    await lo.fill("abc");
    await page.keyboard.press("Enter");
    await problem.filter({ hasText: "\u201cabc\u201d is not a number." }).waitFor();
    assert.equal(await lo.getAttribute("aria-invalid"), "true");
    await keep(page, "range-problem");
    await page.keyboard.press("Escape");
    assert.equal(await lo.inputValue(), shown);
    await problem.waitFor({ state: "detached" });
    // Both may be meant: what is typed stays while the other is typed.
    await lo.fill("2000");
    await page.keyboard.press("Tab");
    await problem.filter({ hasText: "is not below the highest" }).waitFor();
    await hi.fill("3000");
    await page.keyboard.press("Tab");
    assert.deepEqual(await rangeOf(page), [2000, 3000]);
    await hi.fill("1");
    await page.locator("#map").focus();
    assert.equal(await hi.inputValue(), "3000");
    assert.equal(await hi.getAttribute("aria-invalid"), "false");
    assert.match(await problem.textContent(), /not below the highest, 1\.$/);
    assert.deepEqual(await rangeOf(page), [2000, 3000]);
    assert.deepEqual(page.errors, []);
    await page.close();
  });

  test("outliers are left out of the range; where they are not, the others' range is offered", async () => {
    const page = await here.open({ query: { stills: "0" } });
    await hasPicture(page);
    const [lowest, highest] = await rangeOf(page);
    assert.ok(lowest >= -1 && highest <= 1 && highest - lowest > 1.8, `${lowest} to ${highest}`);
    await page.getByText("0.029 % of values lie outside; this step's go from \u22121000 to 1000").waitFor();
    await keep(page, "outlier");
    await page.getByRole("button", { name: "Show all" }).click();
    await page.getByText(/^98 % of values lie between \S+ and \S+$/).waitFor();
    assert.deepEqual(await rangeOf(page), [-1000, 1000]);
    const show = page.getByRole("button", { name: "Show these" });
    await show.focus();
    await page.keyboard.press("Enter");
    const [from, to] = await rangeOf(page);
    assert.ok(from <= -0.9 && to >= 0.9 && to - from < 20, `${from} to ${to}`);
    await until(page, () => location.hash.includes("range="));
    await page.close();
  });

  for (const [name, far] of [
    ["above", 1e30],
    ["below", -1e6],
  ])
    test(`bricks show what is looked at exactly where a value lies far ${name}, and what is looked at next`, async (t) => {
      const { folder } = here;
      const field = (x, y, z) =>
        x + y + z === 0 ? far : 0.5 + 0.5 * Math.sin(x / 5) * Math.cos(y / 4) * Math.sin(z / 6);
      const file = writeNpy(join(folder, `${name}.npy`), 48, field);
      const server = await startServer(file);
      t.after(() => server.kill());
      const page = await openPage(here.browser, server.url, { query: { stills: "0" }, hash: "proxy=bricks" });
      await until(page, (v) => v.shown.level === 0);
      const reached = async () => {
        const giveUp = performance.now() + 15_000;
        for (;;) {
          await settled(page);
          const db = await decibels(page, { file, folder, proxy: "exact" });
          if (db >= LEAST_DB || performance.now() > giveUp) return db;
        }
      };
      const first = await reached();
      await keep(page, `far-${name}`);
      const narrow = await reachedIn([0.2, 0.3]);
      const wide = await reachedIn([0, 1]);
      t.diagnostic(`${first.toFixed(1)}, ${narrow.toFixed(1)} and ${wide.toFixed(1)} dB from the exact picture`);
      assert.ok(Math.min(first, narrow, wide) >= LEAST_DB, `${first}, ${narrow} and ${wide} dB`);
      assert.deepEqual(page.errors, []);
      await page.close();

      async function reachedIn(range) {
        for (const [i, id] of ["#range-lo", "#range-hi"].entries()) {
          await page.locator(id).fill(String(range[i]));
          await page.keyboard.press("Enter");
        }
        assert.deepEqual(await rangeOf(page), range);
        return reached();
      }
    });

  test("a region of one value that colours begin at is drawn as such, once all bits have come", async (t) => {
    const { folder } = here;
    const valueAt = (r) =>
      [
        [12, 1],
        [24, 0.7],
        [28, 0.3],
      ].find(([to]) => r < to)?.[1] ?? 0;
    const field = (x, y, z) => valueAt(Math.hypot(x - 31.5, y - 31.5, z - 31.5));
    const file = writeNpy(join(folder, "regions.npy"), 64, field);
    const server = await startServer(file);
    t.after(() => server.kill());
    // Half floats would not tell 0.7 from its neighbours, which are more or less opaque.
    const opacity = "0,0;0.6999,0;0.7001,0.9;1,0.9";
    const hash = `proxy=bricks&range=0,1&map=viridis&opacity=${opacity}`;
    const page = await openPage(here.browser, server.url, { query: { stills: "0" }, hash });
    await until(page, (v) => v.shown.level === 0 && v.shown.bits === 16);
    await settled(page);
    await keep(page, "regions");
    const db = await decibels(page, { file, folder, proxy: "exact" });
    t.diagnostic(`${db.toFixed(1)} dB from the exact picture`);
    assert.ok(db >= LEAST_DB, `${db} dB`);
    assert.deepEqual(page.errors, []);
    await page.close();
  });

  test("of a field of which nothing has come nothing is told or changed, and then its own function is", async (t) => {
    const fields = {
      rho: { unit: "kg/m3", valueAt: (x) => 100 + x },
      temp: { unit: "K", valueAt: (x, y) => 3000 + 40 * y - x },
    };
    const server = await startServer(writeZarr(join(here.folder, "two.zarr"), 24, fields));
    t.after(() => server.kill());
    const page = await openPage(here.browser, server.url, { query: { stills: "0" }, hash: "field=rho" });
    await hasPicture(page);
    const told = async () => ({
      bounds: [await page.locator("#range-lo").inputValue(), await page.locator("#range-hi").inputValue()],
      unit: await page.locator(".range .unit").textContent(),
      map: await page.locator("#map").inputValue(),
      points: await page.locator(".handle").count(),
      bars: await page.locator(".bars").getAttribute("d"),
      isOff: await page
        .locator(".transfer, #range-hi, #map")
        .evaluateAll((parts) => parts.map((part) => part.closest("[inert]") !== null)),
    });
    const nothing = { bounds: ["", ""], unit: "", map: "", points: 0, bars: "", isOff: [true, true, true] };
    const ofRho = await told();
    assert.equal(ofRho.unit, "kg/m3");
    server.suspend();
    t.after(() => server.resume());
    await page.getByRole("combobox", { name: "Field" }).selectOption({ label: "temp [K]" });
    await page.getByText("Waiting for temp\u2026").waitFor();
    await keep(page, "transfer-waiting");
    assert.deepEqual(await told(), nothing);
    server.resume();
    await page.getByText("Waiting for temp").waitFor({ state: "hidden" });
    const ofTemp = await told();
    assert.deepEqual([ofTemp.unit, ofTemp.isOff], ["K", [false, false, false]]);
    assert.ok(Number(ofTemp.bounds[0]) > 2000 && ofTemp.points > 1 && ofTemp.bars !== "", JSON.stringify(ofTemp));
    await page.locator("#range-hi").fill("3500");
    await page.keyboard.press("Enter");
    assert.equal((await rangeOf(page))[1], 3500);
    await page.getByRole("combobox", { name: "Field" }).selectOption({ label: "rho [kg/m3]" });
    assert.deepEqual(await told(), ofRho);
    assert.deepEqual(page.errors, []);
    await page.close();
  });

  test("the colours that were sent can be chosen again", async () => {
    const page = await here.open({ query: { stills: "0" } });
    await hasPicture(page);
    const map = page.locator("#map");
    const before = await page.evaluate(() => JSON.stringify(window.visapult.transferFunction.points));
    assert.equal(await map.evaluate((list) => list.selectedOptions[0].textContent), "default");
    await map.selectOption("inferno");
    await map.selectOption("default");
    assert.equal(await page.evaluate(() => JSON.stringify(window.visapult.transferFunction.points)), before);
    assert.equal(await map.inputValue(), "sent");
    await page.close();
  });

  test("a function that is reset while a point is dragged is let go of", async () => {
    const page = await here.open({ query: { stills: "0" } });
    await hasPicture(page);
    const sent = await page.evaluate(() => window.visapult.transferFunction);
    const { x, y, width, height } = await page.locator(".transfer").boundingBox();
    for (const share of [0.9, 0.92, 0.94, 0.96]) await page.mouse.click(x + share * width, y + 0.2 * height);
    const handle = await page.locator(".handle").last().boundingBox();
    await page.mouse.move(handle.x + handle.width / 2, handle.y + handle.height / 2);
    await page.mouse.down();
    await page.mouse.move(handle.x, handle.y + 20);
    await page.keyboard.press("r");
    await page.mouse.move(x + 0.5 * width, y + 0.5 * height, { steps: 3 });
    await page.mouse.up();
    assert.deepEqual(await page.evaluate(() => window.visapult.transferFunction), sent);
    assert.deepEqual(page.errors, []);
    await page.close();
  });

  test("edits are undone and redone by key and by button, a drag as one, a reset as well", async () => {
    const page = await here.open({ query: { stills: "0" } });
    await hasPicture(page);
    const read = () => page.evaluate(() => window.visapult.transferFunction);
    const [undo, redo] = ["Undo", "Redo"].map((name) => page.getByRole("button", { name, exact: true }));
    const isOffered = () =>
      Promise.all([undo, redo].map(async (button) => (await button.getAttribute("aria-disabled")) === "false"));
    const states = [await read()];
    assert.deepEqual(await isOffered(), [false, false]);
    const { x, y, width, height } = await page.locator(".transfer").boundingBox();
    await page.mouse.move(x + 0.75 * width, y + 0.2 * height);
    await page.mouse.down();
    await page.mouse.move(x + 0.8 * width, y + 0.5 * height, { steps: 5 });
    await page.mouse.up();
    states.push(await read());
    await page.locator("#range-lo").fill("-0.5");
    await page.keyboard.press("Control+z");
    assert.deepEqual(await read(), states[1], "what is typed is the browser's to undo");
    await page.locator("#range-lo").fill("-0.5");
    await page.keyboard.press("Enter");
    states.push(await read());
    await page.locator(".handle").nth(1).focus();
    await page.keyboard.press("End");
    states.push(await read());
    await page.keyboard.press("r");
    assert.deepEqual(await read(), states[0]);
    for (const state of states.slice(1).reverse()) {
      await page.keyboard.press("Control+z");
      assert.deepEqual(await read(), state);
    }
    await undo.focus();
    await page.keyboard.press("Enter");
    assert.deepEqual(await read(), states[0]);
    assert.deepEqual(await isOffered(), [false, true]);
    assert.ok(await undo.evaluate((button) => button === document.activeElement));
    await page.keyboard.press("Control+Shift+z");
    await redo.click();
    assert.deepEqual(await read(), states[2]);
    await page.locator("#range-lo").focus();
    await page.keyboard.press("Control+z");
    assert.deepEqual(await read(), states[1], "nothing was typed there");
    await keep(page, "undo");
    assert.deepEqual(page.errors, []);
    await page.close();
  });

  test("all points are one stop of Tab, and are gone through by Page Up and Page Down", async () => {
    const page = await here.open({ query: { stills: "0" } });
    await hasPicture(page);
    const focused = () => page.evaluate(() => document.activeElement.getAttribute("aria-label"));
    const count = await page.locator(".handle").count();
    await page.getByRole("button", { name: "Reset the transfer function" }).focus();
    await page.keyboard.press("Tab");
    assert.equal(await focused(), `Opacity point 1 of ${count}`);
    await page.keyboard.press("PageUp");
    for (const point of [2, 3]) {
      await page.keyboard.press("PageDown");
      assert.equal(await focused(), `Opacity point ${point} of ${count}`);
    }
    await page.keyboard.press("Tab");
    assert.equal(await focused(), "Lowest value of the range");
    await page.keyboard.press("Shift+Tab");
    assert.equal(await focused(), `Opacity point 3 of ${count}`);
    await page.keyboard.press("Delete");
    assert.equal(await focused(), `Opacity point 3 of ${count - 1}`);
    await page.locator(".handle").last().focus();
    await page.keyboard.press("Delete");
    assert.equal(await focused(), `Opacity point ${count - 2} of ${count - 2}`);
    assert.deepEqual(page.errors, []);
    await page.close();
  });

  test("a point added after the last does not lie on it", async () => {
    const page = await here.open({ query: { stills: "0" } });
    await hasPicture(page);
    await page.locator(".handle").last().focus();
    await page.keyboard.press("Enter");
    const handles = page.locator(".handle");
    const places = await handles.evaluateAll((all) => all.map((handle) => handle.getAttribute("transform")));
    assert.equal(new Set(places).size, places.length);
    await page.close();
  });
});

describe("the colours of the steps of a file", () => {
  const here = serving("growing", 24, (x, y, z, t) => 10 ** t * blob(x, y, z), 3);
  const rangeOf = (page) => page.evaluate(() => window.visapult.transferFunction.range);
  const shows = (page, step) => until(page, (v, n) => v.shown.step === n, step);

  test("are those of the step that the page opened on, wherever it goes, and for whoever opens its link", async () => {
    const page = await here.open({ query: { stills: "0" } });
    await hasPicture(page);
    const [lo, hi] = await rangeOf(page);
    assert.ok(hi > 0.9 && hi <= 1, `${lo} to ${hi}`);
    await page.keyboard.press(".");
    await shows(page, 1);
    await page.getByText(/lie outside; this step's go from \S+ to \S+$/).waitFor();
    await keep(page, "step-outside");
    assert.deepEqual(await rangeOf(page), [lo, hi]);
    await until(page, () => location.hash.includes("step=1&") && location.hash.includes("range="));
    const hash = await page.evaluate(() => location.hash);
    const other = await here.open({ query: { stills: "0" }, hash });
    await shows(other, 1);
    const [from, to] = await rangeOf(other);
    assert.ok(Math.abs(from - lo) < 1e-6 && Math.abs(to - hi) < 1e-6, `${from} to ${to}`);
    await other.getByRole("button", { name: "Show all" }).click();
    assert.ok((await rangeOf(other))[1] > 9);
    await other.getByRole("button", { name: "Show all" }).waitFor({ state: "hidden" });
    assert.equal(await other.evaluate(() => document.activeElement.getAttribute("aria-label")), "Range");
    for (const one of [page, other]) await one.close();
  });
});

describe("a field over eight decades", () => {
  const EDGE = 32;
  /** 1 in the middle, 1e-8 from the faces' centres on. */
  const decades = (x, y, z) => {
    const radius = Math.hypot(...[x, y, z].map((n) => n - EDGE / 2)) / (EDGE / 2);
    return 10 ** (-8 * Math.min(1, radius));
  };
  const here = serving("decades", EDGE, decades);
  const transferOf = (page) => page.evaluate(() => window.visapult.transferFunction);
  const isLogarithmic = (page) => until(page, (v) => v.transferFunction?.range[1] < 0.01 && v.shown.level === 0);
  const scale = (page) => page.getByRole("combobox", { name: "Scale" });
  const LOGARITHMIC = { query: { stills: "0" }, hash: "axes=0&field=log10(decades)", before: keepWords };

  test("is a spot, and all of it is seen on the logarithmic scale, with its values in legend and boxes", async (t) => {
    const page = await here.open({ query: { stills: "0" }, hash: "axes=0", before: keepWords });
    await until(page, (v) => v.shown.level === 0);
    await settled(page);
    const spot = lit(await picture(page));
    await keep(page, "decades-linear");
    await scale(page).focus();
    await page.keyboard.press("ArrowDown");
    await isLogarithmic(page);
    await settled(page);
    const all = lit(await picture(page));
    await keep(page, "decades-logarithmic");
    t.diagnostic(`lit: ${spot.toFixed(4)} linear, ${all.toFixed(4)} logarithmic`);
    assert.ok(all > 4 * spot && all > 0.02, `${all} of the picture against ${spot}`);
    assert.equal(await scale(page).evaluate((list) => document.activeElement === list), true);
    const written = await page.evaluate(() => window.written);
    for (const words of ["decades", "1e\u22128", "1e\u22127", "0.001", "0.1", "1"])
      assert.ok(written.includes(words), `${words} is not in ${written.join(", ")}`);
    assert.deepEqual(
      [await page.locator("#range-lo").inputValue(), await page.locator("#range-hi").inputValue()],
      ["1e-8", "1"],
    );
    assert.deepEqual(await page.locator("#field option").allTextContents(), ["decades"]);
    const ends = page.locator(".handle");
    assert.match(await ends.first().getAttribute("aria-valuetext"), /^value 1e\u22128, /);
    assert.match(await ends.last().getAttribute("aria-valuetext"), /^value 1, /);
    await scale(page).selectOption("Linear");
    await until(page, (v) => v.shown.field === 0 && v.shown.level === 0);
    await settled(page);
    assert.equal(lit(await picture(page)), spot);
    assert.deepEqual(page.errors, []);
    await page.close();
  });

  test("has bounds that are typed as its own values, none of them 0", async () => {
    const page = await here.open(LOGARITHMIC);
    await isLogarithmic(page);
    const lo = page.locator("#range-lo");
    await lo.fill("0");
    await page.keyboard.press("Enter");
    const problem = page.getByRole("alert").filter({ hasText: "is not above 0, where a logarithmic scale begins." });
    await problem.waitFor();
    await lo.fill("1e-6");
    await page.keyboard.press("Enter");
    await problem.waitFor({ state: "detached" });
    assert.equal((await transferOf(page)).range[0], -6);
    await page.getByText(/% of values above 0 lie outside; this step's go from 1e\u22128 to 1$/).waitFor();
    await until(page, () => window.written.includes("1e\u22126") && !window.written.includes("1e\u22128"));
    await page.close();
  });

  test("is on that scale for whoever opens its link", async () => {
    const page = await here.open(LOGARITHMIC);
    await isLogarithmic(page);
    await page.locator("#range-lo").fill("1e-5");
    await page.keyboard.press("Enter");
    await page.locator("#map").selectOption("inferno");
    await settled(page);
    await until(page, () => location.hash.includes("inferno"));
    const copy = await here.open({ ...LOGARITHMIC, hash: await page.evaluate(() => location.hash) });
    await isLogarithmic(copy);
    await settled(copy);
    assert.deepEqual((await transferOf(copy)).range, (await transferOf(page)).range);
    assert.equal(await scale(copy).inputValue(), "logarithmic");
    assert.equal(await copy.title(), await page.title());
    await until(copy, () => window.written.includes("1e\u22125"));
    for (const one of [page, copy]) await one.close();
  });

  test("with no value above 0 has the linear scale alone", async (t) => {
    const file = await startServer(writeNpy(join(here.folder, "below.npy"), 16, (x) => -x));
    t.after(() => file.kill());
    const page = await openPage(here.browser, file.url);
    await until(page, (v) => v.transferFunction?.range[0] < -1);
    assert.ok(await scale(page).isHidden());
    await page.close();
    const asked = await openPage(here.browser, file.url, { hash: "field=log10(below)" });
    await asked.getByText("No value of this field is above 0: there is nothing to draw.").first().waitFor();
    await scale(asked).selectOption("Linear");
    await until(asked, (v) => v.transferFunction?.range[0] < -1 && v.shown.level === 0);
    await asked.close();
  });
});
