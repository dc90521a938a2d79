/** Scalar slabs in the page: turned and recoloured with the server suspended, and held to what the program draws of them. */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { difference, keep, launch, lit, openPage, picture, settled, until } from "./browser.mjs";
import { writeNpy } from "./npy.mjs";
import { binary, startServer } from "./server.mjs";

const EDGE = 48;
const TURNS = 3;
const LEAST_DB = 40;

const folder = mkdtempSync(join(tmpdir(), "visapult-e2e-"));
const wave = (x, y, z) => {
  const r = Math.hypot(x - 20, y - 28, z - 24) / EDGE;
  return Math.sin(16 * r) * Math.exp(-1.5 * r);
};

describe("scalar slabs", () => {
  const file = writeNpy(join(folder, "wave.npy"), EDGE, wave);
  let browser;
  let server;

  before(async () => {
    browser = await launch();
    server = await startServer(file);
  });

  after(async () => {
    await browser?.close();
    server?.resume();
    await server?.kill();
    rmSync(folder, { recursive: true, force: true });
  });

  test("an edit of the transfer function is drawn with the server suspended, as the program draws it", async (t) => {
    const page = await openPage(browser, server.url, { query: { stills: "0" }, hash: "proxy=slabs" });
    await until(page, (v) => v.shown.proxy === "slabs");
    await settled(page);
    const key = await page.evaluate(() => window.visapult.camera);
    server.suspend();
    await page.locator(".stage").focus();
    for (let i = 0; i < TURNS; i++) await page.keyboard.press("ArrowRight");
    await settled(page);
    const turned = await picture(page);
    const turnedDb = await decibels(page, key);
    await page.locator("#map").selectOption("inferno");
    const handles = page.locator(".handle");
    await handles.nth(Math.floor((await handles.count()) / 2)).focus();
    for (let i = 0; i < 12; i++) await page.keyboard.press("ArrowUp");
    await settled(page);
    await keep(page, "scalar-slabs");
    assert.equal(await page.evaluate(() => window.visapult.shown.proxy), "slabs");
    const edited = await picture(page);
    assert.ok(lit(edited) > 0.02, "the picture is black");
    assert.ok(difference(turned, edited) > 1, "the edit changed nothing");
    const editedDb = await decibels(page, key);
    t.diagnostic(`turned ${turnedDb.toFixed(1)} dB, edited ${editedDb.toFixed(1)} dB from the program's picture`);
    assert.ok(Math.min(turnedDb, editedDb) >= LEAST_DB, `${turnedDb} dB turned, ${editedDb} dB edited`);
    server.resume();
    await page.close();
  });

  /** PSNR of what the page shows against what `visapult render` draws of the same keyframe. */
  async function decibels(page, key) {
    const { camera, transfer, width, height } = await page.evaluate(async () => {
      const { camera, transferFunction } = window.visapult;
      const { width, height } = await createImageBitmap(await window.visapult.png());
      return { camera, transfer: transferFunction, width, height };
    });
    const [tf, out] = [join(folder, "tf.json"), join(folder, "out.png")];
    writeFileSync(tf, JSON.stringify(transfer));
    const options = {
      "--out": out,
      "--tf": tf,
      "--size": `${width}x${height}`,
      "--az": camera.azimuth,
      "--el": camera.elevation,
      "--distance": camera.distance,
      "--proxy": "scalar-slabs",
      "--key-az": key.azimuth,
      "--key-el": key.elevation,
    };
    execFileSync(binary, ["render", file, ...Object.entries(options).flat().map(String)]);
    return page.evaluate(psnr, readFileSync(out).toString("base64"));
  }
});

/** In the page: PSNR over the pixels of the program's picture that are not black. */
async function psnr(base64) {
  const pixels = async (blob) => {
    const bitmap = await createImageBitmap(blob);
    const context = new OffscreenCanvas(bitmap.width, bitmap.height).getContext("2d");
    context.drawImage(bitmap, 0, 0);
    return context.getImageData(0, 0, bitmap.width, bitmap.height).data;
  };
  const due = await pixels(new Blob([Uint8Array.from(atob(base64), (c) => c.charCodeAt(0))]));
  const shown = await pixels(await window.visapult.png());
  let [sum, count] = [0, 0];
  for (let i = 0; i < due.length; i += 4) {
    if (due[i] + due[i + 1] + due[i + 2] === 0) continue;
    for (let c = i; c < i + 3; c++) sum += (due[c] - shown[c]) ** 2;
    count += 3;
  }
  return 10 * Math.log10((255 ** 2 * count) / sum);
}
