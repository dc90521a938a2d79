/** The page's part in lifelines: what it stamps is in the server's trace, and it shows those of the last steps itself. */
import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { hasPicture, keep, launch, openPage, until } from "./browser.mjs";
import { startServer } from "./server.mjs";
import { openInSpeedscope } from "./speedscope.mjs";

describe("lifelines of a running simulation", () => {
  const folder = mkdtempSync(join(tmpdir(), "visapult-"));
  const file = join(folder, "trace.json");
  let server;
  let browser;
  let page;

  before(async () => {
    server = await startServer("demo:wave?n=48&rate=10", 0, "--trace", file);
    browser = await launch();
    page = await openPage(browser, server.url, { query: { stills: "0" } });
    await hasPicture(page);
  });

  after(async () => {
    await browser?.close();
    await server?.kill();
    rmSync(folder, { recursive: true });
  });

  const words = (pattern) => page.locator(".lifeline-words", { hasText: pattern });

  test("the panel is opened by keyboard, and tells and draws what the last steps went through", async () => {
    assert.equal(await page.locator(".lifelines").isVisible(), false);
    await page.locator("summary", { hasText: "Lifelines" }).focus();
    await page.keyboard.press("Space");
    await words(/^Step \d+: load .* render .* encode .* send .* viewer receipt .* drawn .* in all\.$/).waitFor();
    const picture = page.getByRole("img", { name: /^Lifelines of the last steps\. Step \d+: load/ });
    await picture.waitFor();
    await picture.scrollIntoViewIfNeeded();
    const lines = page.locator(".lifelines polyline");
    await until(page, (v) => v.steps.last > 20);
    await page.waitForFunction(() => document.querySelectorAll(".lifelines polyline").length === 6);
    const colours = await lines.evaluateAll((all) => new Set(all.map((line) => line.getAttribute("class"))).size);
    assert.equal(colours, 2);
    await keep(page, "lifelines");
  });

  test("closed again, it is hidden, and stays as it was", async () => {
    await page.keyboard.press("Enter");
    const told = page.locator(".lifeline-words");
    assert.equal(await page.locator(".lifelines").isVisible(), false);
    const before = await told.textContent();
    const step = await page.evaluate(() => window.visapult.shown.step);
    await until(page, (v, n) => v.shown.step > n + 8, step);
    assert.equal(await told.textContent(), before);
  });

  test("what the page did is in the trace, in the server's time and after what the server did", async () => {
    const step = await page.evaluate(() => window.visapult.steps.last);
    await until(page, (v, n) => v.shown.step > n + 8, step);
    await page.close();
    await server.end();
    const events = JSON.parse(readFileSync(file, "utf8")).filter((entry) => entry.ph === "X");
    const ofStage = (name) => new Map(events.filter((e) => e.name === name).map((e) => [e.args.step, e]));
    const [encoded, received, drawn] = ["encode", "viewer receipt", "drawn"].map(ofStage);
    assert.ok(drawn.size > 8, `${drawn.size} steps were drawn`);
    for (const [step, { ts, dur, args }] of drawn) {
      assert.equal(args.session, 0);
      const came = received.get(step);
      assert.ok(came.args.bytes > 0);
      assert.ok(Math.abs(came.ts + came.dur - ts) < 1 && dur >= 0);
      // An exchange tells the clock to half of its delay, which a busy machine makes long; the clocks' origins lie minutes apart.
      assert.ok(came.ts > encoded.get(step).ts - 1e6, `step ${step} was there before it was encoded`);
    }
  });

  test("a viewer that is not ours reads every event of the trace, with its times", async () => {
    const events = JSON.parse(readFileSync(file, "utf8")).filter((entry) => entry.ph === "X");
    const { profiles, shared } = await openInSpeedscope(browser, file);
    const [opened, closed] = ["O", "C"].map((type) =>
      profiles.flatMap((row) => row.events.filter((e) => e.type === type)),
    );
    assert.deepEqual([opened.length, closed.length], [events.length, events.length]);
    for (const row of profiles) {
      assert.match(row.name, /^view on .+ \(pid \d+\), (pe|session) \d+: [a-z ]+ \(tid \d+\)$/);
      assert.equal(row.unit, "microseconds");
    }
    // It tells times from the first event, rounded to what a double holds of them since the host was started.
    const sorted = (of) => [...of].sort((a, b) => a - b);
    const sum = (of, time) => of.reduce((total, event) => total + event[time], 0);
    const [took, told] = [sum(events, "dur"), sum(closed, "at") - sum(opened, "at")];
    assert.ok(Math.abs(told - took) < 1 + 0.001 * events.length, `${told} us of ${took}`);
    const steps = new Set(opened.map(({ frame }) => Number(shared.frames[frame].name.match(/"step":(\d+)/)[1])));
    assert.deepEqual(sorted(steps), sorted(new Set(events.map(({ args }) => args.step))));
  });

  test("nothing on the page failed", () => {
    assert.deepEqual(page.errors, []);
  });
});
