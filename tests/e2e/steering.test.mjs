/** A simulation that runs elsewhere is steered from the page: by keyboard, before a step that the page tells, and in order to its end. */
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { hasPicture, keep, launch, openPage, touching, until } from "./browser.mjs";
import { startServer, startSteered } from "./server.mjs";

describe("a simulation that can be steered", () => {
  let simulation;
  let server;
  let browser;
  let page;

  before(async () => {
    simulation = await startSteered();
    server = await startServer(simulation.url);
    browser = await launch();
    page = await openPage(browser, server.url, { query: { stills: "0" } });
    await hasPicture(page);
    await page.getByRole("region", { name: "Simulation" }).waitFor();
  });

  after(async () => {
    await browser?.close();
    await server?.kill();
    await simulation?.kill();
  });

  const button = (name) => page.getByRole("button", { name });
  const state = (words) => page.locator(".run-state", { hasText: words }).waitFor();
  const press = async (locator, key) => {
    await locator.focus();
    await page.keyboard.press(key);
  };

  /** Waits until the log's newest entry is `what` and says a step; gives that step. */
  async function takenBefore(what) {
    const taken = page
      .locator(".actions li")
      .first()
      .filter({ hasText: what })
      .filter({ hasText: /before step \d+/ });
    return Number((await taken.textContent()).match(/before step (\d+)/)[1]);
  }

  test("a number entered by keyboard is taken before the step that the log says", async () => {
    const speed = page.getByRole("textbox", { name: "speed in turns/s" });
    await speed.focus();
    await page.keyboard.press("Control+a");
    await page.keyboard.type("1.5");
    await page.keyboard.press("Enter");
    const step = await takenBefore("you: speed to 1.5 turns/s");
    await simulation.says(`before step ${step}: speed is 1.5`);
    assert.equal(await speed.inputValue(), "1.5");
    assert.equal(await page.locator(".parameter.pending").count(), 0);
  });

  test("a slider moved by keyboard sends where it ends, in whole numbers", async () => {
    const count = page.getByRole("slider", { name: "count" });
    await count.focus();
    await page.keyboard.down("ArrowRight");
    await page.keyboard.down("ArrowRight");
    await page.keyboard.up("ArrowRight");
    const step = await takenBefore("you: count to 5");
    await simulation.says(`before step ${step}: count is 5`);
    const counts = simulation.lines.filter((line) => line.includes("count"));
    assert.equal(counts.length, 1);
  });

  test("a value that is not taken yet is shown as asked for", async () => {
    const width = page.getByRole("textbox", { name: "width in mm" });
    const row = page.locator(".parameter", { has: width });
    simulation.suspend();
    await width.fill("7");
    await page.keyboard.press("Enter");
    await row.getByText("asked for 7").waitFor();
    await page
      .locator(".actions li")
      .first()
      .filter({ hasText: "you: width to 7 mm" })
      .getByText("asked for")
      .waitFor();
    await keep(page, "steering-pending");
    simulation.resume();
    const step = await takenBefore("you: width to 7 mm");
    await simulation.says(`before step ${step}: width is 7`);
    await row.getByText("1 to 10 mm").waitFor();
  });

  test("a value out of range is refused with the reason, by the page and by the server", async () => {
    const speed = page.getByRole("textbox", { name: "speed in turns/s" });
    await speed.fill("7");
    await page.keyboard.press("Enter");
    await page.getByRole("alert").filter({ hasText: "speed takes 0 to 2 turns/s, not 7" }).waitFor();
    assert.equal(await speed.getAttribute("aria-invalid"), "true");
    await keep(page, "steering-refused");
    await page.keyboard.press("Escape");
    assert.equal(await speed.inputValue(), "1.5");
    const notice = await page.evaluate(askUnchecked, { action: "set", name: "speed", value: 7 });
    assert.deepEqual(notice, { severity: "error", text: "speed takes 0 to 2 turns/s, not 7" });
  });

  test("a page that may only watch shows the values without controls, and is refused", async () => {
    const watching = await openPage(browser, await server.watchUrl(), { query: { stills: "0" } });
    const section = watching.getByRole("region", { name: "Simulation" });
    await section.locator("output", { hasText: "1.5 turns/s" }).waitFor();
    assert.equal(await section.locator("button:visible, input:visible").count(), 0);
    await section.locator(".actions li").first().waitFor();
    await keep(watching, "steering-watching");
    const notice = await watching.evaluate(askUnchecked, { action: "pause" });
    assert.match(notice.text, /may only watch/);
    assert.deepEqual(watching.errors, []);
    await watching.close();
  });

  test("pausing stops the steps, stepping does one, resuming goes on", async () => {
    assert.ok(await button("Step the paused simulation once").isDisabled());
    await press(button("Pause the simulation"), "Space");
    await state("paused");
    const first = await takenBefore("you: pause");
    await until(page, (v, n) => v.steps.last === n - 1, first);
    for (const step of [first, first + 1]) {
      await press(button("Step the paused simulation once"), "Enter");
      await until(page, (v, n) => v.steps.last === n, step);
      await page
        .locator(".actions li")
        .first()
        .filter({ hasText: `before step ${step}` })
        .waitFor();
    }
    await keep(page, "steering");
    await press(button("Resume the simulation"), "Enter");
    // Had it gone on by itself, it would be at a later step by now.
    assert.equal(await takenBefore("you: resume"), first + 2);
    await state("running");
    await until(page, (v, n) => v.steps.last > n + 10, first);
  });

  test("on a phone it is steered as well", async () => {
    await page.setViewportSize({ width: 390, height: 844 });
    const count = page.getByRole("slider", { name: "count" });
    await count.scrollIntoViewIfNeeded();
    const box = await count.boundingBox();
    assert.ok(box.x >= 0 && box.x + box.width <= 390);
    await keep(page, "steering-phone");
    await page.setViewportSize({ width: 1024, height: 720 });
  });

  test("a finger that scrolls over a slider asks for nothing", async () => {
    await page.setViewportSize({ width: 390, height: 844 });
    const speed = page.getByRole("slider", { name: "speed" });
    const number = page.getByRole("textbox", { name: "speed in turns/s" });
    await page.evaluate(() => document.querySelector(".panel").scrollTo(0, 0));
    const { x, y, width, height } = await speed.boundingBox();
    const before = await number.inputValue();
    const asked = await page.locator(".actions li").count();
    const fingers = await touching(page);
    const from = [x + 0.2 * width, y + height / 2];
    await fingers([from], [[from[0], from[1] - 120]]);
    await page.waitForFunction(() => document.querySelector(".panel").scrollTop > 0);
    assert.deepEqual([await number.inputValue(), await speed.inputValue()], [before, before]);
    await press(button("Pause the simulation"), "Space");
    await takenBefore("you: pause");
    assert.equal(await page.locator(".actions li").count(), asked + 1);
    await press(button("Resume the simulation"), "Space");
    await state("running");
    await page.setViewportSize({ width: 1024, height: 720 });
  });

  test("stopping asks first, and ends the program in order", async () => {
    await press(button("Stop the simulation"), "Enter");
    const dialog = page.getByRole("dialog", { name: "Stop the simulation?" });
    await dialog.waitFor();
    await keep(page, "steering-stop");
    await page.keyboard.press("Enter");
    await dialog.waitFor({ state: "hidden" });
    await press(button("Stop the simulation"), "Enter");
    await dialog.getByRole("button", { name: "Stop it" }).click();
    assert.equal(await simulation.ended, 0);
    const step = await takenBefore("you: stop");
    assert.equal(simulation.lines.at(-1), `stopped before step ${step}`);
    await state("stopped");
    // The last step that came of it stays to be looked at; the simulation does not wait until its very last one has.
    await until(page, (v, n) => v.shown.step === v.steps.last && v.shown.step < n, step);
    assert.ok(await button("Pause the simulation").isDisabled());
    await keep(page, "steering-stopped");
  });

  test("nothing on the page failed", () => {
    assert.deepEqual(page.errors, []);
  });
});

describe("what is half entered in a parameter's row", () => {
  /** A simulation that can be steered, what serves it, and as many pages of it. */
  async function steering(t, count) {
    const simulation = await startSteered();
    t.after(() => simulation.kill());
    const server = await startServer(simulation.url);
    t.after(() => server.kill());
    const browser = await launch();
    t.after(() => browser.close());
    const pages = await Promise.all(Array.from({ length: count }, () => openPage(browser, server.url)));
    await Promise.all(pages.map(hasPicture));
    return { simulation, server, pages };
  }

  const widthOf = (page) => page.getByRole("textbox", { name: "width in mm" });
  const type = async (box, words) => {
    await box.fill("");
    await box.pressSequentially(words);
  };
  const pending = (page) => page.locator(".parameter.pending").count();

  test("is not asked for when the server falls silent, and can be entered when it is back", async (t) => {
    const { server, pages } = await steering(t, 2);
    const [typing, sliding] = pages;
    const [width, count] = [widthOf(typing), sliding.getByRole("slider", { name: "count" })];
    await type(width, "8");
    await count.focus();
    const { last } = await typing.evaluate(() => window.visapult.steps);
    server.suspend();
    t.after(() => server.resume());
    for (const page of pages) await page.getByText("The server does not answer.").waitFor();
    await keep(typing, "steering-silent");
    await count.press("ArrowRight");
    assert.deepEqual(await standing(count), { value: "3", hasFocus: true, isOff: "true" });
    await width.press("Enter");
    await width.pressSequentially("9");
    assert.deepEqual(await standing(width), { value: "8", hasFocus: true, isOff: "true" });
    for (const page of pages) assert.equal(await pending(page), 0);
    server.resume();
    // The simulation may have given its session up meanwhile: until it is there again it cannot be asked.
    await until(typing, (v, n) => v.steps.last > n + 100, last);
    await typing.locator("input[type=text][aria-disabled=false]").first().waitFor();
    await width.press("Enter");
    const log = typing.locator(".actions li");
    await log.filter({ hasText: "you: width to 8 mm" }).filter({ hasText: "before step" }).waitFor();
    assert.equal(await log.count(), 1);
    assert.deepEqual(
      pages.flatMap(({ errors }) => errors),
      [],
    );
  });

  test("is not asked for when the simulation is gone, and is given up where it is left", async (t) => {
    const { simulation, pages } = await steering(t, 1);
    const [page] = pages;
    const width = widthOf(page);
    await type(width, "8");
    await simulation.kill();
    await page.locator(".run-state", { hasText: "gone" }).waitFor();
    await keep(page, "steering-gone");
    assert.deepEqual(await standing(width), { value: "8", hasFocus: true, isOff: "true" });
    await width.press("Tab");
    assert.equal(await width.inputValue(), "5");
    assert.equal(await pending(page), 0);
    assert.equal(await page.locator(".actions li").count(), 0);
    assert.deepEqual(page.errors, []);
  });
});

/** What an input of a row has, and whether it may be used. */
const standing = (input) =>
  input.evaluate((box) => ({
    value: box.value,
    hasFocus: box === document.activeElement,
    isOff: box.getAttribute("aria-disabled"),
  }));

/** In the page: asks the server for `action` over a session of its own, whatever the page's own controls would say to it. */
function askUnchecked(action) {
  const url = new URL("session", location.href);
  url.protocol = "ws:";
  url.search = new URLSearchParams({ token: new URLSearchParams(location.search).get("token") });
  const socket = new WebSocket(url);
  socket.binaryType = "arraybuffer";
  socket.onopen = () => socket.send(new Uint8Array([66, ...new TextEncoder().encode(JSON.stringify(action))]));
  return new Promise((resolve, reject) => {
    socket.onclose = ({ reason }) => reject(new Error(`no answer: ${reason}`));
    socket.onmessage = ({ data }) => {
      const bytes = new Uint8Array(data);
      if (bytes[0] !== 5) return;
      socket.onclose = null;
      socket.close();
      resolve(JSON.parse(new TextDecoder().decode(bytes.subarray(1))));
    };
  });
}
