/** The page over files: stills, fades, links, downloads, and addresses, fields or browsers with nothing to show. */
import assert from "node:assert/strict";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, test } from "node:test";
import { inflateSync } from "node:zlib";
import { decibels } from "./against-program.mjs";
import {
  dataLate,
  difference,
  hasPicture,
  inWorkers,
  keep,
  lit,
  openPage,
  picture,
  screenshots,
  settled,
  until,
} from "./browser.mjs";
import { writeNpy } from "./npy.mjs";
import { startServer } from "./server.mjs";
import { blob, serving } from "./serving.mjs";

const MOST_PREVIEW_BYTES = 250_000;
/** Of 255. */
const MOST_PREVIEW_OFF = 6;
const LEAST_DB = 42;
/** What a busy machine may make of the same work, done twice. */
const MOST_SLOWER = 3;

/** In the page: keeps its first picture, as `picture` does, in `window.first`. */
function keepFirst() {
  const small = new OffscreenCanvas(96, 64).getContext("2d", { willReadFrequently: true });
  const look = () => {
    const { shown } = window.visapult ?? {};
    if (shown?.step == null) return requestAnimationFrame(look);
    small.drawImage(document.querySelector("canvas.picture"), 0, 0, 96, 64);
    const { data } = small.getImageData(0, 0, 96, 64);
    window.first = { level: shown.level, small: Array.from(data).filter((_, i) => i % 4 !== 3) };
  };
  look();
}

/** In the page: the size of a PNG, and its picture reduced as `picture` does. */
async function decoded(base64) {
  const bitmap = await createImageBitmap(new Blob([Uint8Array.from(atob(base64), (c) => c.charCodeAt(0))]));
  const context = new OffscreenCanvas(96, 64).getContext("2d");
  context.drawImage(bitmap, 0, 0, 96, 64);
  const { data } = context.getImageData(0, 0, 96, 64);
  return { width: bitmap.width, height: bitmap.height, small: Array.from(data).filter((_, i) => i % 4 !== 3) };
}

/** In the page, before it begins: notes how much light each new frame has, and what it shows. */
function recordLight() {
  window.light = [];
  const small = new OffscreenCanvas(96, 64).getContext("2d", { willReadFrequently: true });
  let seen = 0;
  const look = () => {
    const { frameCount, shown } = window.visapult ?? { frameCount: 0 };
    if (frameCount !== seen) {
      seen = frameCount;
      small.drawImage(document.querySelector("canvas.picture"), 0, 0, 96, 64);
      const { data } = small.getImageData(0, 0, 96, 64);
      const light = data.reduce((sum, value, i) => sum + (i % 4 === 3 ? 0 : value), 0);
      const { level, bits, resolution } = shown;
      window.light.push({ light, bricks: level === null ? null : `level ${level}, ${bits} bit`, resolution });
    }
    requestAnimationFrame(look);
  };
  requestAnimationFrame(look);
}

/** In the page's workers: tells the bytes and levels of bricks as they come. */
function tellLevels() {
  const Real = WebSocket;
  const told = new BroadcastChannel("told");
  self.WebSocket = class extends Real {
    set onmessage(listener) {
      super.onmessage = (event) => {
        const bytes = new Uint8Array(event.data);
        if (bytes[0] === 16) told.postMessage({ level: bytes[28], bytes: bytes.length });
        listener(event);
      };
    }
  };
}

/** The images in a PDF that are compressed without loss. */
function imagesOf(pdf) {
  const text = pdf.toString("latin1");
  const dictionaries = text.matchAll(
    /\/Subtype \/Image\n((?:\/.*\n)*?)\/Filter \/FlateDecode\n\/Length (\d+)>> stream\n/g,
  );
  return [...dictionaries].map(({ 0: { length: words }, 1: said, 2: length, index }) => ({
    width: Number(said.match(/\/Width (\d+)/)[1]),
    height: Number(said.match(/\/Height (\d+)/)[1]),
    bytes: inflateSync(pdf.subarray(index + words, index + words + Number(length))),
  }));
}

/** In the page's workers: bricks come with a number of bits that none have. */
function damage() {
  const Real = WebSocket;
  self.WebSocket = class extends Real {
    set onmessage(listener) {
      super.onmessage = (event) => {
        const bytes = new Uint8Array(event.data);
        if (bytes[0] === 16) bytes[29] = 13;
        listener(event);
      };
    }
  };
}

describe("a file", () => {
  const here = serving("blob", 32, blob);

  test("at rest the exact still is shown, and looks like the page's own picture", async () => {
    const page = await here.open();
    await until(page, (v) => v.shown.proxy === "still");
    const exact = await picture(page);
    await keep(page, "still");
    const own = await here.open({ query: { stills: "0" } });
    await until(own, (v) => v.shown.proxy === "bricks" && v.shown.level === 0);
    await settled(own);
    assert.ok(lit(exact) > 0.02);
    assert.ok(difference(exact, await picture(own)) < 1.5, "still and bricks differ");
    await page.close();
    await own.close();
  });

  test("finer bricks fade in, and no frame is darker than the ones before", async (t) => {
    const kinds = (pictures) => new Set(pictures.map(({ bricks }) => bricks)).size;
    let pictures = [];
    // So few bricks may all have come when the first picture is drawn: then the page is opened again.
    for (let opened = 0; opened < 8 && kinds(pictures) < 2; opened++) {
      const page = await here.open({ query: { stills: "0" }, hash: "axes=0", before: recordLight });
      await until(page, (v) => v.shown.level === 0 && v.shown.bits > 8);
      await settled(page);
      const frames = await page.evaluate(() => window.light);
      pictures = frames.slice(frames.findIndex(({ bricks }) => bricks !== null));
      await page.close();
    }
    t.diagnostic(pictures.map(({ light, bricks, resolution }) => `${bricks} at ${resolution}: ${light}`).join("; "));
    assert.ok(kinds(pictures) > 1, "there were no finer bricks");
    const most = Math.max(...pictures.map(({ light }) => light));
    for (const { light } of pictures) assert.ok(light > 0.6 * most, `${light} of ${most}`);
  });

  test("the first level of a field takes few bytes, and looks like the finest", async (t) => {
    const noise = (x, y, z) => (Math.sin(12.9898 * x + 78.233 * y + 37.719 * z) * 43758.5453) % 1;
    const rough = (x, y, z) => Math.sin(Math.hypot(x - 50, y - 70, z - 60) / 8) + 0.2 * noise(x, y, z);
    const file = await startServer(writeNpy(join(here.folder, "rough.npy"), 128, rough));
    t.after(() => file.kill());
    const options = { query: { stills: "0" }, hash: "axes=0", before: inWorkers(`(${tellLevels})()`) };
    const page = await openPage(here.browser, file.url, options);
    await page.evaluate(keepFirst);
    await until(page, (v) => v.shown.level === 0);
    await settled(page);
    const [told, { level, small }] = await page.evaluate(() => [window.told, window.first]);
    const coarsest = Math.max(...told.map((message) => message.level));
    const bytes = told.reduce((sum, message) => sum + (message.level === coarsest ? message.bytes : 0), 0);
    const off = difference(small, await picture(page));
    t.diagnostic(`level ${coarsest} in ${bytes} bytes; level ${level} is ${off.toFixed(2)} of 255 off`);
    assert.ok(bytes <= MOST_PREVIEW_BYTES, `${bytes} bytes`);
    assert.ok(lit(small) > 0.02 && off < MOST_PREVIEW_OFF, `${off} of 255 off`);
    await page.close();
  });

  test("thousands of steps, each with a time of many digits", async (t) => {
    const [nx, steps] = [4, 6000];
    const times = Array.from({ length: steps }, (_, i) => i * 0.0123456789);
    const sidecar = { file: "long.raw", size: [nx, nx, nx], type: "u8", steps, times, time_unit: "ns" };
    writeFileSync(
      join(here.folder, "long.raw"),
      Uint8Array.from({ length: nx ** 3 * steps }, (_, i) => i % 251),
    );
    writeFileSync(join(here.folder, "long.json"), JSON.stringify(sidecar));
    const file = await startServer(join(here.folder, "long.json"));
    t.after(() => file.kill());
    const page = await openPage(here.browser, file.url, { hash: "step=5999" });
    await until(page, (v) => v.shown.step === 5999);
    await page.getByText("step 5999 / 5999 \u00b7 t = 74").waitFor();
    await page.setViewportSize({ width: 360, height: 740 });
    await keep(page, "long-series-phone");
    const [row, time] = await page.evaluate(() =>
      [".timeline", ".time"].map((name) => {
        const { scrollWidth, clientWidth } = document.querySelector(name);
        return scrollWidth - clientWidth;
      }),
    );
    assert.deepEqual([row, time], [0, 0]);
    await page.close();
  });

  test("an address that is not valid is said to be so at once", async () => {
    const address = new URL(here.server.url);
    address.searchParams.set("token", "00");
    const page = await openPage(here.browser, address);
    await page.getByText("wrong or missing token: open the URL that visapult printed. It is asked again").waitFor();
    assert.equal(await page.evaluate(() => window.visapult.stats.connection), "refused");
    for (const controls of [".panel", ".timeline", ".panel-toggle"])
      assert.ok(await page.locator(controls).isHidden(), `${controls} is shown`);
    await keep(page, "refused");
    await page.close();
  });

  test("a page whose messages the program cannot read leaves it alone, and what to do is said once", async () => {
    const rubbish = () => {
      const { send } = WebSocket.prototype;
      WebSocket.prototype.send = function () {
        send.call(this, new Uint8Array([64, 0x7b, 0xff]));
      };
    };
    const page = await openPage(here.browser, here.server.url, { before: rubbish });
    await page.getByText(/^The program cannot read what this page sends \(.*View.*\): .* Reload the page/).waitFor();
    assert.equal(await page.evaluate(() => window.visapult.stats.connection), "unreadable");
    await page.close();
  });

  test("a program whose data the page cannot read is left alone, and what to do is said once", async () => {
    const page = await here.open({ before: inWorkers(`(${damage})()`) });
    await page.getByText(/^This page cannot read what the program sends \(.*13.*\): .* Reload the page/).waitFor();
    assert.equal(await page.evaluate(() => window.visapult.stats.connection), "unreadable");
    await keep(page, "unreadable");
    assert.deepEqual(page.errors, []);
    await page.close();
  });

  test("a simulation that comes in the place of a file of several steps is followed", async (t) => {
    const series = writeNpy(join(here.folder, "before.npy"), 16, blob, 3);
    let server = await startServer(series);
    t.after(() => server.kill());
    const page = await openPage(here.browser, server.url, { hash: "step=1" });
    await until(page, (v) => v.shown.step === 1);
    await server.kill();
    server = await startServer("demo:wave?n=32", Number(server.url.port));
    await until(page, (v) => v.wantedStep === null && v.shown.step > 1);
    await page.close();
  });

  test("an edit right before the page is loaded again, or is reset, is not lost", async () => {
    const page = await here.open();
    await hasPicture(page);
    const colours = page.locator("#map");
    await until(page, () => location.hash.includes("view="));
    await colours.selectOption("cividis");
    await page.reload();
    await hasPicture(page);
    assert.equal(await colours.inputValue(), "cividis");
    const hash = await page.evaluate(() => {
      const map = document.querySelector("#map");
      map.value = "inferno";
      map.dispatchEvent(new Event("change"));
      const canvas = document.querySelector("canvas.picture");
      const lost = new Promise((resolve) => canvas.addEventListener("webglcontextlost", () => resolve(location.hash)));
      canvas.getContext("webgl2").getExtension("WEBGL_lose_context").loseContext();
      return lost;
    });
    assert.match(hash, /inferno/);
    await page.close();
  });

  test("another file in the place of the one before is said to be shown", async (t) => {
    const [one, other] = ["one.npy", "other.npy"].map((name, i) => writeNpy(join(here.folder, name), 16 + 8 * i, blob));
    let server = await startServer(one);
    t.after(() => server.kill());
    const page = await openPage(here.browser, server.url);
    await hasPicture(page);
    await server.kill();
    server = await startServer(other, Number(server.url.port));
    await page.getByText(/^Another source is shown now: .*other/).waitFor();
    await keep(page, "another-source");
    await page.close();
  });

  test("a first picture that takes its time is said to be waited for", async () => {
    const page = await here.open({ before: dataLate(2000), query: { stills: "0" } });
    await page.getByText("Waiting for the first picture").waitFor();
    await keep(page, "waiting-for-picture");
    await hasPicture(page);
    await page.getByText("Waiting for the first picture").waitFor({ state: "hidden" });
    await page.close();
  });

  test("a copied link restores the view", async () => {
    const page = await here.open({ query: { stills: "0" } });
    await hasPicture(page);
    await page.locator(".stage").focus();
    for (const key of ["ArrowRight", "ArrowRight", "ArrowDown", "-"]) await page.keyboard.press(key);
    await page.locator("#map").selectOption("cividis");
    await settled(page);
    const camera = await page.evaluate(() => window.visapult.camera);
    await until(page, () => location.hash.includes("cividis") && location.hash.includes("view=40"));
    const link = await page.evaluate(() => location.hash);
    const source = await page.locator("h1").textContent();
    const field = await page.locator("#field option").first().textContent();
    assert.equal(await page.title(), `${field} \u00b7 ${source} - Visapult`);
    assert.equal(await page.locator("#field").getAttribute("title"), field);
    // A file has no age.
    assert.ok(!(await page.locator("dt").allTextContents()).includes("Age"));
    const copy = await here.open({ query: { stills: "0" }, hash: link });
    await until(copy, (v) => v.shown.level === 0);
    await settled(copy);
    const restored = await copy.evaluate(() => window.visapult.camera);
    for (const name of ["azimuth", "elevation", "distance"])
      assert.ok(Math.abs(camera[name] - restored[name]) < 1e-3, name);
    assert.ok(difference(await picture(page), await picture(copy)) < 0.5);
    await page.close();
    // Another link of the same page, pasted over it.
    const loaded = copy.waitForEvent("load");
    await copy.evaluate(() => location.assign("#view=100,50,4,30"));
    await loaded;
    await until(copy, (v) => v.camera.azimuth === 100 && v.shown.level === 0);
    await copy.close();
  });

  test("a turn is on the screen as soon with the server suspended as with it running", async (t) => {
    const took = { running: [], suspended: [] };
    const page = await here.open({ query: { stills: "0" } });
    await until(page, (v) => v.shown.level === 0);
    t.after(() => here.server.resume());
    for (let round = 0; round < 6; round++)
      for (const state of ["running", "suspended"]) {
        if (state === "suspended") here.server.suspend();
        await settled(page);
        took[state].push(await page.evaluate(timeTurn));
        here.server.resume();
      }
    const [running, suspended] = [took.running, took.suspended].map(median);
    t.diagnostic(`${running.toFixed(0)} ms running, ${suspended.toFixed(0)} ms suspended`);
    assert.ok(suspended <= MOST_SLOWER * running, `${took.suspended} ms against ${took.running} ms`);
    await page.close();
  });

  test("slabs are drawn when they are chosen", async () => {
    const page = await here.open({ query: { stills: "0" }, hash: "proxy=slabs" });
    await until(page, (v) => v.shown.proxy === "slabs");
    await settled(page);
    assert.ok(lit(await picture(page)) > 0.02);
    await keep(page, "slabs");
    await page.close();
  });

  test("a file that is written anew while it is viewed is said to have changed, and what is shown stays", async (t) => {
    const path = writeNpy(join(here.folder, "rewritten.npy"), 32, blob, 3);
    const series = await startServer(path);
    t.after(() => series.kill());
    const page = await openPage(here.browser, series.url, { query: { stills: "0" } });
    await until(page, (v) => v.shown.level === 0);
    writeNpy(path, 16, blob, 3);
    await page.locator(".stage").focus();
    await page.keyboard.press("]");
    await page.getByText("rewritten.npy has changed since it was opened (it had 393").waitFor();
    assert.ok(lit(await picture(page)) > 0.02, "the picture went with the file");
    assert.equal(await page.evaluate(() => window.visapult.stats.connection), "open");
    assert.deepEqual(page.errors, []);
    await keep(page, "changed");
    await page.close();
  });

  test("a link that was copied while it played plays on", async (t) => {
    const moving = (x, y, z, t) => blob(x - 3 * t, y, z);
    const series = await startServer(writeNpy(join(here.folder, "played.npy"), 32, moving, 80));
    t.after(() => series.kill());
    const page = await openPage(here.browser, series.url, { query: { stills: "0" } });
    await until(page, (v) => v.shown.step === 0);
    await page.locator(".stage").focus();
    await page.keyboard.press("Space");
    await page.waitForFunction(() => /step=\d+&play=1/.test(location.hash));
    const link = await page.evaluate(() => location.hash);
    await page.close();
    const copy = await openPage(here.browser, series.url, { query: { stills: "0" }, hash: link });
    await until(copy, (v, step) => v.shown.step > step, Number(link.match(/step=(\d+)/)[1]));
    await copy.getByRole("button", { name: "Pause" }).click();
    await copy.waitForFunction(() => !location.hash.includes("play=1"));
    await copy.close();
  });

  test("a time series plays to its end, each step shown", async (t) => {
    const moving = (x, y, z, t) => blob(x - 3 * t, y, z);
    const series = await startServer(writeNpy(join(here.folder, "series.npy"), 32, moving, 6));
    t.after(() => series.kill());
    const page = await openPage(here.browser, series.url, { query: { stills: "0" } });
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
    // No step will be added, and nobody wants the first one.
    await page.keyboard.press("l");
    assert.equal(await page.evaluate(() => window.visapult.wantedStep), 4);
    await keep(page, "time-series");
    await page.close();
  });

  test("a long series is played several steps at a time, where that is chosen, and for whoever opens its link", async (t) => {
    const series = await startServer(writeNpy(join(here.folder, "long.npy"), 8, (x, y, z, t) => x + y + z + t, 48));
    t.after(() => series.kill());
    const page = await openPage(here.browser, series.url, { query: { stills: "0" }, width: 390, height: 844 });
    await until(page, (v) => v.shown.step === 0);
    const speed = page.getByRole("combobox", { name: "Speed" });
    assert.deepEqual(await speed.locator("option").allTextContents(), ["1\u00d7", "2\u00d7"]);
    await keep(page, "speed-phone");
    await page.close();
    const fast = await openPage(here.browser, series.url, { query: { stills: "0" }, hash: "by=10" });
    await until(fast, (v) => v.shown.step === 0);
    await fast.evaluate(() => {
      window.wanted = new Set();
      const look = () => {
        window.wanted.add(window.visapult.wantedStep);
        requestAnimationFrame(look);
      };
      look();
    });
    await fast.locator(".stage").focus();
    await fast.keyboard.press("Space");
    await until(fast, (v) => v.shown.step === 47);
    await fast.waitForFunction(() => window.wanted.has(47));
    assert.deepEqual(await fast.evaluate(() => [...window.wanted]), [0, 10, 20, 30, 40, 47]);
    await fast.getByRole("combobox", { name: "Speed" }).focus();
    await fast.keyboard.press("ArrowUp");
    await fast.waitForFunction(() => location.hash.includes("by=2"));
    await keep(fast, "speed");
    const few = await here.open({ query: { stills: "0" } });
    await hasPicture(few);
    assert.ok(await few.getByRole("combobox", { name: "Speed" }).isHidden());
    for (const one of [fast, few]) await one.close();
  });

  test("the picture is downloaded as PNG, with labels or without", async () => {
    const page = await here.open({ query: { stills: "0" } });
    await until(page, (v) => v.shown.level === 0);
    await settled(page);
    const names = [];
    const saved = async (key, name) => {
      const download = page.waitForEvent("download");
      await page.keyboard.press(key);
      const file = await download;
      names.push(file.suggestedFilename());
      await file.saveAs(join(screenshots, name));
      return page.evaluate(decoded, readFileSync(join(screenshots, name)).toString("base64"));
    };
    const [labelled, plain] = [await saved("p", "saved.png"), await saved("Shift+P", "saved-plain.png")];
    assert.match(names[0], /^blob.*-0\.png$/);
    assert.equal(names[1], names[0].replace(".png", "-plain.png"));
    const { width, height } = await page.locator(".stage").boundingBox();
    for (const png of [labelled, plain]) {
      assert.deepEqual([png.width, png.height], [width, height]);
      assert.ok(lit(png.small) > 0.02, "the picture is black");
    }
    assert.ok(difference(labelled.small, plain.small) > 0.2, "labels make no difference");
    assert.ok(lit(labelled.small) > lit(plain.small));
    await page.close();
  });

  test("printed, it is the picture with its labels alone", async () => {
    const page = await here.open({ query: { test: "0" } });
    await hasPicture(page);
    await settled(page);
    const { width, height } = await page.evaluate(() => {
      const { width, height } = document.querySelector("canvas.picture");
      return { width, height };
    });
    const images = imagesOf(await page.pdf({ landscape: true, printBackground: false }));
    const picture = images.find((image) => image.width === width && image.height === height);
    assert.ok(
      picture,
      `no image has ${width} x ${height} pixels: ${images.map((image) => `${image.width} x ${image.height}`)}`,
    );
    const bright = picture.bytes.filter((value) => value > 40).length / picture.bytes.length;
    assert.ok(bright > 0.02, `${bright} of it is not black`);
    assert.equal(await page.locator(".printed canvas").count(), 0);
    assert.ok(await page.locator("#field").isVisible());
    await page.close();
  });

  test("without WebGL2 the page says what to do", async () => {
    const page = await here.open({
      before: () => {
        HTMLCanvasElement.prototype.getContext = () => null;
      },
    });
    await page.getByText("It needs WebGL2").waitFor();
    await keep(page, "no-webgl2");
    await page.close();
  });

  test("a graphics driver that refuses the page's programs is said to do so", async () => {
    const page = await here.open({
      before: () => {
        const { getProgramParameter } = WebGL2RenderingContext.prototype;
        WebGL2RenderingContext.prototype.getProgramParameter = function (program, name) {
          return name !== this.LINK_STATUS && getProgramParameter.call(this, program, name);
        };
      },
    });
    await page.getByText("the graphics driver refused a shader program").waitFor();
    assert.deepEqual(page.errors, []);
    await page.close();
  });

  test("on another screen it is drawn in the pixels of that", async () => {
    const page = await here.open({
      // A browser whose screen is only made believe tells its pages nothing of it.
      before: () => {
        let ratio = 1;
        const screen = new EventTarget();
        const { matchMedia } = window;
        window.matchMedia = (query) => (query.includes("resolution") ? screen : matchMedia.call(window, query));
        Object.defineProperty(window, "devicePixelRatio", { get: () => ratio });
        window.toScreenOf = (pixels) => {
          ratio = pixels;
          screen.dispatchEvent(new Event("change"));
        };
      },
    });
    await hasPicture(page);
    const width = () => page.evaluate(() => document.querySelector("canvas.picture").width);
    const before = await width();
    for (const ratio of [2, 1]) {
      await page.evaluate((ratio) => window.toScreenOf(ratio), ratio);
      assert.equal(await width(), ratio * before);
    }
    await page.close();
  });

  test("while the graphics processor is reset that is said, and then the picture is back", async () => {
    const page = await here.open();
    await hasPicture(page);
    await page.evaluate(() => {
      window.graphics = document
        .querySelector("canvas.picture")
        .getContext("webgl2")
        .getExtension("WEBGL_lose_context");
      window.graphics.loseContext();
    });
    const words = page.getByText("The graphics processor was reset");
    await words.waitFor();
    await page.locator(".stage").focus();
    await page.keyboard.press("c");
    assert.ok(await words.isVisible(), "it is not said any more");
    await page.evaluate(() => window.graphics.restoreContext());
    await words.waitFor({ state: "hidden" });
    await hasPicture(page);
    await page.close();
  });

  test("a page whose graphics the browser took for good is drawn again when somebody comes back to it", async () => {
    const page = await here.open();
    await hasPicture(page);
    await page.evaluate(() =>
      document.querySelector("canvas.picture").getContext("webgl2").getExtension("WEBGL_lose_context").loseContext(),
    );
    await page.getByText("too many pages draw").waitFor();
    assert.ok(await page.locator("canvas.picture").isHidden(), "a white picture is shown");
    const loaded = page.waitForEvent("load");
    await page.evaluate(() => document.dispatchEvent(new Event("visibilitychange")));
    await loaded;
    await hasPicture(page);
    await page.close();
  });

  for (const [name, valueAt, words] of [
    ["constant", () => 7.5, "Every value of this field is 7.5 in single precision."],
    ["nothing-finite", () => Number.NaN, "No value of this field is finite"],
  ]) {
    test(`a field that is ${name} is said to be so`, async () => {
      const odd = await startServer(writeNpy(join(here.folder, `${name}.npy`), 16, valueAt));
      const page = await openPage(here.browser, odd.url);
      await page.getByText(words).waitFor();
      assert.deepEqual(page.errors, []);
      await keep(page, name);
      await page.close();
      const closed = await openPage(here.browser, odd.url, { hash: "panel=0" });
      await closed.locator(".corner").getByText(words).waitFor();
      await closed.close();
      await odd.kill();
    });
  }

  test("a field of one value is drawn as the program draws it", async (t) => {
    const file = writeNpy(join(here.folder, "one-value.npy"), 16, () => 7.5);
    const odd = await startServer(file);
    const page = await openPage(here.browser, odd.url, { query: { stills: "0" } });
    await hasPicture(page);
    await settled(page);
    assert.ok(lit(await picture(page)) > 0.02, "the picture is black");
    const db = await decibels(page, { file, folder: here.folder, proxy: "exact" });
    t.diagnostic(`${db.toFixed(1)} dB from the program's picture`);
    assert.ok(db >= LEAST_DB, `${db} dB`);
    await page.close();
    await odd.kill();
  });

  test("what is odd about a step is said of that step", async () => {
    const valueAt = (x, _y, _z, t) => (t === 0 ? Number.NaN : t === 1 ? x : 2);
    const odd = await startServer(writeNpy(join(here.folder, "odd-steps.npy"), 16, valueAt, 3));
    const page = await openPage(here.browser, odd.url);
    await page.getByText("No value of this step is finite").waitFor();
    await page.keyboard.press(".");
    await until(page, (v) => v.shown.step === 1);
    await page.getByText("of this step").waitFor({ state: "hidden" });
    await page.keyboard.press(".");
    await page.getByText("Every value of this step is 2").waitFor();
    await page.close();
    await odd.kill();
  });

  test("values that pictures do not hold are said to be such, by the step", async () => {
    const odd = await startServer(writeNpy(join(here.folder, "unfit.npy"), 16, (x, _y, _z, t) => x * UNFIT[t], 3));
    const page = await openPage(here.browser, odd.url);
    for (const words of ["The values of this step are too small", "The values of this step are too large"]) {
      await page.getByText(words).waitFor();
      await page.keyboard.press(".");
    }
    await until(page, (v) => v.shown.step === 2);
    await page.getByText("for pictures to hold").waitFor({ state: "hidden" });
    await page.close();
    await odd.kill();
  });

  test("playing ends at a step that cannot be read, and says why", async () => {
    const odd = await startServer(writeBrokenSeries(join(here.folder, "broken.zarr")));
    const page = await openPage(here.browser, odd.url);
    await until(page, (v) => v.shown.step === 0);
    await page.getByRole("button", { name: "Play" }).click();
    await page.locator(".status").getByText("broken.zarr").waitFor();
    await page.getByRole("button", { name: "Play" }).waitFor();
    await page.close();
    await odd.kill();
  });
});

/** Values of steps, by their place along x. */
const UNFIT = [1e-37, 1e37, 1];

/** A Zarr array of three steps, the second of which lacks most of its bytes. */
function writeBrokenSeries(folder) {
  mkdirSync(folder);
  const edge = 8;
  const shape = [3, edge, edge, edge];
  const about = {
    zarr_format: 2,
    shape,
    chunks: [1, edge, edge, edge],
    dtype: "<f4",
    compressor: null,
    fill_value: 0,
    order: "C",
    filters: null,
  };
  writeFileSync(join(folder, ".zarray"), JSON.stringify(about));
  for (const step of [0, 1, 2]) {
    const values = Buffer.from(new Float32Array(edge ** 3).map((_, i) => i % (7 + step)).buffer);
    writeFileSync(join(folder, `${step}.0.0.0`), step === 1 ? values.subarray(0, 10) : values);
  }
  return folder;
}

const median = (values) => values.toSorted((a, b) => a - b)[values.length >> 1];

/** In the page: milliseconds from a key press to the frame that it asks for. */
async function timeTurn() {
  const { frameCount } = window.visapult;
  const began = performance.now();
  document.querySelector(".stage").dispatchEvent(new KeyboardEvent("keydown", { key: "ArrowRight", bubbles: true }));
  while (window.visapult.frameCount === frameCount) await new Promise(requestAnimationFrame);
  return performance.now() - began;
}
