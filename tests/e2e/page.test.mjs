/** The page over files: stills, links, phones, and fields or browsers with nothing to show. */
import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import {
  difference,
  hasPicture,
  keep,
  launch,
  lit,
  openPage,
  picture,
  screenshots,
  settled,
  until,
} from "./browser.mjs";
import { writeNpy } from "./npy.mjs";
import { startServer } from "./server.mjs";

const folder = mkdtempSync(join(tmpdir(), "visapult-e2e-"));
const blob = (x, y, z) => Math.exp(-((x - 16) ** 2 + (y - 20) ** 2 + (z - 12) ** 2) / 60);

describe("a file", () => {
  let browser;
  let server;

  before(async () => {
    browser = await launch();
    server = await startServer(writeNpy(join(folder, "blob.npy"), 32, blob));
  });

  after(async () => {
    await browser?.close();
    await server?.kill();
    rmSync(folder, { recursive: true, force: true });
  });

  test("at rest the exact still is shown, and looks like the page's own picture", async () => {
    const page = await openPage(browser, server.url);
    await until(page, (v) => v.shown.proxy === "still");
    const exact = await picture(page);
    await keep(page, "still");
    const own = await openPage(browser, server.url, { query: { stills: "0" } });
    await until(own, (v) => v.shown.proxy === "bricks" && v.shown.level === 0);
    await settled(own);
    assert.ok(lit(exact) > 0.02);
    assert.ok(difference(exact, await picture(own)) < 1.5, "still and bricks differ");
    await page.close();
    await own.close();
  });

  test("a copied link restores the view", async () => {
    const page = await openPage(browser, server.url, { query: { stills: "0" } });
    await hasPicture(page);
    await page.locator(".stage").focus();
    for (const key of ["ArrowRight", "ArrowRight", "ArrowDown", "-"]) await page.keyboard.press(key);
    await page.locator("#map").selectOption("cividis");
    await settled(page);
    const camera = await page.evaluate(() => window.visapult.camera);
    await until(page, () => location.hash.includes("cividis") && location.hash.includes("view=40"));
    const link = await page.evaluate(() => location.hash);
    const copy = await openPage(browser, server.url, { query: { stills: "0" }, hash: link });
    await until(copy, (v) => v.shown.level === 0);
    await settled(copy);
    const restored = await copy.evaluate(() => window.visapult.camera);
    for (const name of ["azimuth", "elevation", "distance"])
      assert.ok(Math.abs(camera[name] - restored[name]) < 1e-3, name);
    assert.ok(difference(await picture(page), await picture(copy)) < 0.5);
    await page.close();
    await copy.close();
  });

  test("it fits a phone and turns under a finger", async () => {
    const page = await openPage(browser, server.url, { width: 390, height: 844, query: { stills: "0" } });
    await until(page, (v) => v.shown.level === 0);
    await settled(page);
    const overflow = await page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth);
    assert.ok(overflow <= 0, `the page is ${overflow} pixels too wide`);
    await keep(page, "phone");
    const still = await picture(page);
    await page.evaluate(() => {
      const stage = document.querySelector(".stage");
      const touch = (type, clientX) =>
        stage.dispatchEvent(
          new PointerEvent(type, {
            pointerId: 1,
            pointerType: "touch",
            isPrimary: true,
            clientX,
            clientY: 200,
            bubbles: true,
          }),
        );
      stage.setPointerCapture = () => {};
      touch("pointerdown", 100);
      for (let x = 110; x <= 200; x += 10) touch("pointermove", x);
      touch("pointerup", 200);
    });
    await settled(page);
    assert.ok(difference(still, await picture(page)) > 0.5, "the picture did not turn");
    await page.getByRole("button", { name: "Controls" }).click();
    await page.locator("#map").waitFor();
    await settled(page);
    await keep(page, "phone-controls");
    await page.close();
  });

  test("slabs are drawn when they are chosen", async () => {
    const page = await openPage(browser, server.url, { query: { stills: "0" }, hash: "proxy=slabs" });
    await until(page, (v) => v.shown.proxy === "slabs");
    await settled(page);
    assert.ok(lit(await picture(page)) > 0.02);
    await keep(page, "slabs");
    await page.close();
  });

  test("a time series plays to its end, each step shown", async () => {
    const moving = (x, y, z, t) => blob(x - 3 * t, y, z);
    const series = await startServer(writeNpy(join(folder, "series.npy"), 32, moving, 6));
    const page = await openPage(browser, series.url, { query: { stills: "0" } });
    await until(page, (v) => v.shown.step === 0);
    await page.evaluate(() => {
      window.seen = new Set();
      const look = () => {
        window.seen.add(window.visapult.shown.step);
        requestAnimationFrame(look);
      };
      look();
    });
    await page.locator(".stage").focus();
    await page.keyboard.press("Space");
    await until(page, (v) => v.shown.step === 5 && v.wantedStep === 5);
    await page.waitForFunction(() => window.seen.has(5));
    assert.deepEqual(await page.evaluate(() => [...window.seen]), [0, 1, 2, 3, 4, 5]);
    await page.keyboard.press("[");
    await until(page, (v) => v.shown.step === 4);
    await keep(page, "time-series");
    await page.close();
    await series.kill();
  });

  test("the PNG is downloaded with labels", async () => {
    const page = await openPage(browser, server.url);
    await hasPicture(page);
    const download = page.waitForEvent("download");
    await page.keyboard.press("p");
    const saved = await download;
    assert.match(saved.suggestedFilename(), /\.png$/);
    await saved.saveAs(join(screenshots, "saved.png"));
    await page.close();
  });

  test("every control can be reached and is named", async () => {
    const page = await openPage(browser, server.url);
    await hasPicture(page);
    const nameless = await page.evaluate(() => {
      const controls = document.querySelectorAll("button, select, input, [role=slider], [role=application]");
      const name = (e) => e.getAttribute("aria-label") ?? e.labels?.[0]?.textContent ?? e.textContent;
      return [...controls].filter((e) => !name(e)?.trim()).map((e) => e.outerHTML.slice(0, 80));
    });
    assert.deepEqual(nameless, []);
    await page.keyboard.press("?");
    await page.getByRole("dialog").waitFor();
    await keep(page, "help");
    await page.close();
  });

  test("without WebGL2 the page says what to do", async () => {
    const page = await openPage(browser, server.url, {
      before: () => {
        HTMLCanvasElement.prototype.getContext = () => null;
      },
    });
    await page.getByText("It needs WebGL2").waitFor();
    await keep(page, "no-webgl2");
    await page.close();
  });

  for (const [name, valueAt, words] of [
    ["constant", () => 7.5, "Every value of this field is 7.5."],
    ["nothing-finite", () => Number.NaN, "No value of this field is finite"],
  ]) {
    test(`a field that is ${name} is said to be so`, async () => {
      const odd = await startServer(writeNpy(join(folder, `${name}.npy`), 16, valueAt));
      const page = await openPage(browser, odd.url);
      await page.getByText(words).waitFor();
      assert.deepEqual(page.errors, []);
      await keep(page, name);
      await page.close();
      await odd.kill();
    });
  }
});
