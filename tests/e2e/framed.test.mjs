/** The page in a frame, as a notebook has it in the output of a cell. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:http";
import { describe, test } from "node:test";
import { keep, until } from "./browser.mjs";
import { blob, serving } from "./serving.mjs";

/** A page of another origin with the page in a frame. */
async function notebook(t, url, host = "127.0.0.1") {
  const server = createServer((_, response) => {
    response.setHeader("content-type", "text/html");
    response.end(`<h1>A notebook</h1><iframe src="${url}" style="width: 100%; height: 500px; border: 0"></iframe>`);
  });
  server.listen(0, host);
  await once(server, "listening");
  t.after(() => server.close());
  return server.address().port;
}

/** The frame, once it is of `url`. */
async function frameOf(page, url) {
  const frame = await (await page.waitForSelector("iframe")).contentFrame();
  await frame.waitForURL((at) => at.origin === url.origin || at.protocol === "chrome-error:");
  return frame;
}

describe("a page in a frame", () => {
  const here = serving("blob", 32, blob);

  test("is drawn, turned and edited as by itself, in pages of this machine", async (t) => {
    const { url } = here.server;
    const asked = new URL(url);
    asked.searchParams.set("test", "1");
    const port = await notebook(t, asked);
    for (const host of ["localhost", "127.0.0.1"]) {
      const page = await here.browser.newPage({ viewport: { width: 1100, height: 700 } });
      await page.goto(`http://${host}:${port}`);
      const frame = await frameOf(page, url);
      await until(frame, (v) => v.shown.proxy === "still");
      const before = await frame.evaluate(() => window.visapult.camera.azimuth);
      await frame.locator(".stage").focus();
      await page.keyboard.press("ArrowRight");
      await until(frame, (v, before) => v.camera.azimuth !== before, before);
      await frame.locator("#map").selectOption("inferno");
      await until(frame, (v) => v.shown.proxy === "still");
      await keep(page, "framed");
      await page.close();
    }
  });

  test("is not had by pages of other places", async (t) => {
    const { url } = here.server;
    const page = await here.browser.newPage();
    // As one of another machine: the server knows the names of its own alone.
    const host = "127.0.0.2";
    await page.goto(`http://${host}:${await notebook(t, url, host)}`);
    const frame = await frameOf(page, url);
    assert.match(frame.url(), /^chrome-error:/);
    await page.close();
  });
});
