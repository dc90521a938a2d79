/** What the panel says of a range of values and takes for one, and its colours. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { hasPicture, keep, until } from "./browser.mjs";
import { serving } from "./serving.mjs";

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

  test("where outliers take most of the range, the others' range is offered", async () => {
    const page = await here.open({ query: { stills: "0" } });
    await hasPicture(page);
    const show = page.getByRole("button", { name: "Show these" });
    await page.getByText(/^98 % of values lie between \S+ and \S+$/).waitFor();
    await keep(page, "outlier");
    await show.focus();
    await page.keyboard.press("Enter");
    const [from, to] = await rangeOf(page);
    assert.ok(from <= -0.9 && to >= 0.9 && to - from < 20, `${from} to ${to}`);
    await show.waitFor({ state: "hidden" });
    assert.equal(await page.evaluate(() => document.activeElement.getAttribute("aria-label")), "Range");
    await until(page, () => location.hash.includes("range="));
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
