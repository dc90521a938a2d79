/** The demo page in a real browser: a running simulation is watched, turned, coloured, paused, and survives its server. */
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import {
  dataLate,
  difference,
  firstGroupLate,
  hasPicture,
  keep,
  launch,
  lit,
  openPage,
  picture,
  settled,
  until,
} from "./browser.mjs";
import { startServer } from "./server.mjs";

const SOURCE = "demo:wave?n=64";
const CHANGED = 1;
/** By a press of an arrow key. */
const TURN_DEG = 5;

describe("a live simulation", () => {
  let server;
  let browser;
  let page;

  before(async () => {
    server = await startServer(SOURCE);
    browser = await launch();
    page = await openPage(browser, server.url, { query: { stills: "0" } });
    await hasPicture(page);
  });

  after(async () => {
    await browser?.close();
    server?.resume();
    await server?.kill();
  });

  /** Until the test ends, however it does. */
  function suspend(t) {
    server.suspend();
    t.after(() => server.resume());
  }

  test("its picture appears and goes on by itself", async () => {
    const first = await page.evaluate(() => window.visapult.shown.step);
    await until(page, (v, n) => v.shown.step > n + 20 && v.shown.level === 0, first);
    assert.ok(lit(await picture(page)) > 0.02, "the picture is black");
    await keep(page, "1-live");
  });

  test("its time can be read in narrow windows", async () => {
    const isPanelOpen = () => page.locator(".panel").isVisible();
    const wasOpen = await isPanelOpen();
    const cut = [];
    for (const [width, height, hasPanel] of [
      [320, 568, false],
      [320, 256, false],
      [512, 300, true],
      [640, 360, true],
    ]) {
      await page.setViewportSize({ width, height });
      if ((await isPanelOpen()) !== hasPanel) await page.getByRole("button", { name: "Controls", exact: true }).click();
      const isCut = await page.evaluate(() => {
        const words = document.createRange();
        words.selectNodeContents(document.querySelector(".time"));
        const { left, right, top } = words.getBoundingClientRect();
        const row = document.querySelector(".timeline").getBoundingClientRect();
        const live = document.querySelector(".live").getBoundingClientRect();
        return left < row.left || right > row.right || (right > live.left && top < live.bottom);
      });
      if (isCut) cut.push(`${width} x ${height}`);
      await keep(page, `narrow-live-${width}x${height}`);
    }
    await page.setViewportSize({ width: 1024, height: 720 });
    if ((await isPanelOpen()) !== wasOpen) await page.getByRole("button", { name: "Controls", exact: true }).click();
    assert.deepEqual(cut, []);
  });

  test("with colours of the user's own it is seen whether the newest step is followed", async () => {
    await page.emulateMedia({ forcedColors: "active" });
    const live = page.getByRole("button", { name: "Live" });
    const colours = () =>
      live.evaluate((button) => {
        const { backgroundColor, color } = getComputedStyle(button);
        return { backgroundColor, color };
      });
    const follows = await colours();
    await keep(page, "live-forced-colours");
    await page.getByRole("button", { name: "Pause" }).click();
    await until(page, (v) => v.wantedStep !== null);
    const rests = await colours();
    await keep(page, "paused-forced-colours");
    await page.emulateMedia({ forcedColors: null });
    await live.click();
    assert.notEqual(follows.backgroundColor, rests.backgroundColor);
    assert.notEqual(follows.color, follows.backgroundColor);
  });

  test("steps that go by are not read out; those that are chosen are", async () => {
    const places = [page.getByRole("status", { name: "Time shown" }), page.locator(".panel .note").first()];
    const told = () => Promise.all(places.map((place) => place.getAttribute("aria-live")));
    assert.deepEqual(await told(), ["off", "off"]);
    await page.getByRole("button", { name: "Pause" }).click();
    await until(page, (v) => v.wantedStep !== null);
    assert.deepEqual(await told(), ["polite", "polite"]);
    await page.getByRole("button", { name: "Live" }).click();
  });

  test("pausing holds the step, stepping goes to the next", async () => {
    await page.locator(".stage").focus();
    const spoken = page.locator(".timeline [role=status]");
    assert.equal(await spoken.textContent(), "Following the newest step");
    await page.keyboard.press("Space");
    await until(page, (v) => v.wantedStep !== null && v.shown.step === v.wantedStep && v.steps.last > v.wantedStep + 1);
    assert.equal(await spoken.textContent(), "Paused");
    await settled(page);
    const held = await page.evaluate(() => window.visapult.wantedStep);
    // Finer bricks of the step may still come; other steps do not.
    let change = 1;
    for (let look = 0; look < 5 && change > 0; look++) {
      const paused = await picture(page);
      const { last } = await page.evaluate(() => window.visapult.steps);
      await until(page, (v, n) => v.steps.last > n + 5, last);
      change = difference(paused, await picture(page));
      assert.equal(await page.evaluate(() => window.visapult.shown.step), held);
    }
    assert.equal(change, 0, "a paused picture changed");
    await page.keyboard.press("]");
    await until(page, (v, n) => v.wantedStep === n && v.shown.step === n, held + 1);
    await keep(page, "2-paused");
  });

  test("the mouse turns the view", async () => {
    await settled(page);
    const still = await picture(page);
    const { azimuth } = await page.evaluate(() => window.visapult.camera);
    const box = await page.locator(".stage").boundingBox();
    const [x, y] = [box.x + box.width / 2, box.y + box.height / 2];
    await page.mouse.move(x, y);
    await page.mouse.down();
    await page.mouse.move(x + 120, y + 40, { steps: 8 });
    await page.mouse.up();
    await settled(page);
    assert.notEqual((await page.evaluate(() => window.visapult.camera)).azimuth, azimuth);
    assert.ok(difference(still, await picture(page)) > CHANGED, "the picture did not turn");
    await keep(page, "3-mouse");
  });

  test("the wheel and the keyboard move the view", async () => {
    const start = await page.evaluate(() => window.visapult.camera);
    const still = await picture(page);
    await page.mouse.wheel(0, -240);
    await page.locator(".stage").focus();
    for (const key of ["ArrowLeft", "ArrowLeft", "ArrowUp", "+"]) await page.keyboard.press(key);
    await settled(page);
    const camera = await page.evaluate(() => window.visapult.camera);
    assert.equal(Math.round(camera.azimuth), Math.round((start.azimuth + 350) % 360));
    assert.ok(camera.distance < start.distance);
    assert.ok(difference(still, await picture(page)) > CHANGED);
    await keep(page, "4-keyboard");
  });

  test("the transfer function is edited while the server is suspended", async (t) => {
    suspend(t);
    await settled(page);
    const before = await picture(page);
    await page.locator("#map").selectOption("inferno");
    await settled(page);
    const recoloured = await picture(page);
    assert.ok(difference(before, recoloured) > CHANGED, "another colour map changed nothing");
    const handles = page.locator(".handle");
    await handles.nth(Math.floor((await handles.count()) / 2)).focus();
    for (let i = 0; i < 12; i++) await page.keyboard.press("ArrowUp");
    const box = await page.locator(".transfer").boundingBox();
    await page.mouse.click(box.x + box.width * 0.6, box.y + box.height * 0.15);
    await settled(page);
    assert.ok(difference(recoloured, await picture(page)) > CHANGED, "more opacity changed nothing");
    await keep(page, "5-transfer-function");
  });

  test("the view turns while the server is suspended", async (t) => {
    await settled(page);
    suspend(t);
    const { azimuth } = await page.evaluate(() => window.visapult.camera);
    await page.locator(".stage").focus();
    for (let press = 1; press <= 3; press++) {
      const before = await picture(page);
      await page.keyboard.press("ArrowRight");
      await settled(page);
      const turned = await page.evaluate(() => window.visapult.camera.azimuth);
      assert.equal(Math.round(turned - azimuth + 360) % 360, (360 + press * TURN_DEG) % 360);
      assert.ok(difference(before, await picture(page)) > CHANGED, "the picture did not turn");
    }
    await keep(page, "6-suspended");
  });

  for (const proxy of ["bricks", "slabs"])
    test(`${proxy} go on being shown where one connection is far behind the other`, async () => {
      const before = firstGroupLate();
      const behind = await openPage(browser, server.url, { query: { stills: "0" }, hash: `proxy=${proxy}`, before });
      await until(behind, (v, kind) => v.shown.proxy === kind, proxy);
      for (let shown = 0; shown < 3; shown++) {
        const { step } = await behind.evaluate(() => window.visapult.shown);
        await until(behind, (v, [kind, n]) => v.shown.proxy === kind && v.shown.step > n, [proxy, step]);
      }
      assert.deepEqual(behind.errors, []);
      await behind.close();
    });

  test("out of sight for long it is sent no steps, and in sight again the newest", async () => {
    const become = (state) =>
      page.evaluate((state) => {
        Object.defineProperty(document, "visibilityState", { value: state, configurable: true });
        document.dispatchEvent(new Event("visibilitychange"));
      }, state);
    await page.locator(".stage").focus();
    await page.keyboard.press("l");
    const newest = await page.evaluate(() => window.visapult.steps.last);
    await until(page, (v, n) => v.shown.step >= n, newest);
    await become("hidden");
    await until(page, (v) => v.shown.step !== null && v.steps.last > v.shown.step + 40);
    assert.equal(await page.evaluate(() => window.visapult.wantedStep), null);
    assert.ok(await page.locator(".status").isHidden(), "something is told");
    const { last } = await page.evaluate(() => window.visapult.steps);
    await become("visible");
    await until(page, (v, n) => v.shown.step >= n, last);
  });

  test("its address is written once while nothing but the step changes", async () => {
    const count = await page.evaluate(async () => {
      const { replaceState } = history;
      let count = 0;
      history.replaceState = function (...state) {
        count += 1;
        return replaceState.apply(this, state);
      };
      await new Promise((resolve) => setTimeout(resolve, 2000));
      history.replaceState = replaceState;
      return count;
    });
    assert.ok(count <= 1, `${count} times`);
  });

  test("a picture that comes long after its step is said to be behind", async () => {
    const late = await openPage(browser, server.url, { query: { stills: "0" }, before: dataLate(6000) });
    await until(late, (v) => v.shown.step !== null);
    await late.getByText(/^About \d+ s behind the simulation$/).waitFor();
    await keep(late, "behind");
    await late.getByRole("button", { name: "Pause" }).click();
    await late.getByText(/behind the simulation$/).waitFor({ state: "hidden" });
    assert.deepEqual(late.errors, []);
    await late.close();
  });

  test("the page says that its server is gone, and recovers when it is back", async () => {
    const camera = await page.evaluate(() => window.visapult.camera);
    await page.evaluate(() => {
      const status = document.querySelector(".status span");
      const tell = () => window.told.push(status.textContent);
      window.told = [];
      new MutationObserver(tell).observe(status, { subtree: true, childList: true, characterData: true });
    });
    await server.kill();
    await page.getByText("Connection lost").waitFor();
    for (let attempts = 0; attempts < 3; attempts++) await page.waitForEvent("websocket");
    const told = await page.evaluate(() => window.told);
    assert.equal(new Set(told).size, told.length, `said again and again: ${told}`);
    assert.ok(lit(await picture(page)) > 0.02, "the picture went with the server");
    await keep(page, "7-server-gone");
    server = await startServer(SOURCE, Number(server.url.port));
    await until(page, (v) => v.stats.connection === "open");
    await page.getByText("Connection lost").waitFor({ state: "hidden" });
    await page.locator(".stage").focus();
    await page.keyboard.press("l");
    const back = await page.evaluate(() => window.visapult.steps.last);
    await until(page, (v, n) => v.wantedStep === null && v.shown.step !== null && v.shown.step >= n, back);
    assert.deepEqual(await page.evaluate(() => window.visapult.camera), camera);
    await keep(page, "8-recovered");
  });

  test("nothing on the page failed", () => {
    assert.deepEqual(page.errors, []);
  });
});

describe("a live simulation of which two steps are kept", () => {
  let server;
  let browser;
  let page;

  before(async () => {
    server = await startServer("demo:wave?n=64&rate=0.5&history=1");
    browser = await launch();
    page = await openPage(browser, server.url, { before: collectSockets });
    await hasPicture(page);
  });

  after(async () => {
    await browser?.close();
    await server?.kill();
  });

  const kept = () => page.getByRole("status").filter({ hasText: "The server does not keep step" });

  test("the step at which it is paused stays when it is kept no longer, and that is told", async () => {
    await page.locator(".stage").focus();
    await page.keyboard.press("Space");
    await until(page, (v) => v.wantedStep !== null);
    const paused = await page.evaluate(() => window.visapult.wantedStep);
    await until(page, (v, step) => v.steps.first > step, paused);
    await kept()
      .filter({ hasText: `step ${paused} any more: it stays here` })
      .waitFor();
    const { last } = await page.evaluate(() => window.visapult.steps);
    await until(page, (v, step) => v.steps.last > step + 1, last);
    assert.deepEqual(await page.evaluate(() => [window.visapult.wantedStep, window.visapult.shown.step]), [
      paused,
      paused,
    ]);
    await keep(page, "paused-kept-no-longer");
  });

  test("it is turned, and exact pictures of it come", async () => {
    const step = await page.evaluate(() => window.visapult.wantedStep);
    const { azimuth } = await page.evaluate(() => window.visapult.camera);
    await page.keyboard.press("ArrowRight");
    await until(page, (v, before) => v.camera.azimuth !== before && v.shown.proxy === "still", azimuth);
    assert.equal(await page.evaluate(() => window.visapult.shown.step), step);
  });

  test("it stays when the connection is lost, as of a server that was stopped, and comes back", async () => {
    const step = await page.evaluate(() => window.visapult.wantedStep);
    const welcomed = page.waitForEvent("websocket");
    await page.evaluate(() => window.sockets.at(-1).close());
    await welcomed;
    await until(page, (v) => v.stats.connection === "open");
    const { last } = await page.evaluate(() => window.visapult.steps);
    await until(page, (v, before) => v.steps.last > before + 1, last);
    await kept()
      .filter({ hasText: `step ${step} any more: it stays here` })
      .waitFor();
    assert.deepEqual(await page.evaluate(() => [window.visapult.wantedStep, window.visapult.shown.step]), [step, step]);
    assert.ok(lit(await picture(page)) > 0.02, "the picture is gone");
  });

  test("whoever follows again sees the newest, and nothing is told any more", async () => {
    await page.keyboard.press("l");
    const { last } = await page.evaluate(() => window.visapult.steps);
    await until(page, (v, step) => v.wantedStep === null && v.shown.step >= step, last);
    await kept().waitFor({ state: "detached" });
    assert.deepEqual(page.errors, []);
  });
});

/** To be run in a page before it begins: its own connections are in `window.sockets`. */
function collectSockets() {
  const Real = WebSocket;
  window.sockets = [];
  window.WebSocket = class extends Real {
    constructor(...of) {
      super(...of);
      window.sockets.push(this);
    }
  };
}
