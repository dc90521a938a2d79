/** What hands do on the page: every key, drag and touch; controls that are reached and named. */
import assert from "node:assert/strict";
import { cpSync, renameSync } from "node:fs";
import { join } from "node:path";
import { describe, test } from "node:test";
import { difference, hasPicture, keep, keepWords, openPage, picture, settled, touching, until } from "./browser.mjs";
import { writeNpy } from "./npy.mjs";
import { startServer } from "./server.mjs";
import { blob, serving } from "./serving.mjs";
import { writeZarr } from "./zarr.mjs";

/** `words` of what is measured. */
const close = (is, due, words) =>
  assert.ok(Math.abs(is - due) < 0.01 * Math.max(1, Math.abs(due)), `${words}: ${is}, not ${due}`);

/** How far the target moved between two cameras, to the right and up, in pixels of a picture so high. */
function shift(from, to, height) {
  const [az, el] = [from.azimuth, from.elevation].map((degrees) => (degrees * Math.PI) / 180);
  const right = [Math.cos(az), 0, -Math.sin(az)];
  const up = [-Math.sin(el) * Math.sin(az), Math.cos(el), -Math.sin(el) * Math.cos(az)];
  const pixel = (2 * from.distance * Math.tan((from.fov * Math.PI) / 360)) / height;
  return [right, up].map((axis) => axis.reduce((sum, n, i) => sum + n * (to.target[i] - from.target[i]), 0) / pixel);
}

/** Pixels of labels that are not empty. */
const labels = (page) =>
  page.evaluate(() => {
    const canvas = document.querySelector("canvas.labels");
    const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
    return data.filter((value, i) => i % 4 === 3 && value > 0).length;
  });

/** In the page: what is drawn of labels in their upper right corner. */
function triadBox() {
  const canvas = document.querySelector("canvas.labels");
  const [width, height] = [90, 124];
  const from = canvas.width - width;
  const { data } = canvas.getContext("2d").getImageData(from, 0, width, height);
  const drawn = Array.from({ length: width * height }, (_, i) => i).filter((i) => data[4 * i + 3] > 0);
  const columns = drawn.map((i) => from + (i % width));
  const rows = drawn.map((i) => Math.floor(i / width));
  return { left: Math.min(...columns), right: Math.max(...columns), bottom: Math.max(...rows) };
}

describe("controls", () => {
  const here = serving("blob", 32, blob);

  test("it fits a phone, and fingers turn, move and pinch the view", async () => {
    const page = await here.open({ width: 390, height: 844, query: { stills: "0" } });
    await until(page, (v) => v.shown.level === 0);
    await settled(page);
    const overflow = await page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth);
    assert.ok(overflow <= 0, `the page is ${overflow} pixels too wide`);
    await keep(page, "phone");
    const still = await picture(page);
    const fingers = await touching(page);
    const camera = () => page.evaluate(() => window.visapult.camera);
    const [first, height] = [await camera(), (await page.locator(".stage").boundingBox()).height];
    await fingers([[100, 300]], [[180, 320]]);
    const turned = await camera();
    close(turned.azimuth, (first.azimuth - 80 * 0.35 + 360) % 360, "azimuth");
    close(turned.elevation, first.elevation + 20 * 0.35, "elevation");
    const pair = (dx, dy, apart) => [
      [200 + dx - apart / 2, 300 + dy],
      [200 + dx + apart / 2, 300 + dy],
    ];
    await fingers(pair(0, 0, 100), pair(40, 25, 100));
    const moved = await camera();
    const [right, up] = shift(turned, moved, height);
    // Fingers move one after the other, and what lies between is zoomed and back.
    assert.ok(Math.abs(right + 40) < 4 && Math.abs(up - 25) < 4, `${right} pixels to the right, ${up} up`);
    close(moved.distance, turned.distance, "distance");
    await fingers(pair(0, 0, 80), pair(0, 0, 160));
    const pinched = await camera();
    close(pinched.distance, moved.distance / 2, "distance");
    const [aside] = shift(moved, pinched, height);
    assert.ok(Math.abs(aside) < 4, `${aside} pixels aside`);
    await settled(page);
    assert.ok(difference(still, await picture(page)) > 0.5, "the picture did not turn");
    await page.getByRole("button", { name: "Controls" }).click();
    await page.locator("#map").waitFor();
    await settled(page);
    await keep(page, "phone-controls");
    await page.close();
  });

  test("every key and drag does what the help says", async () => {
    const page = await here.open({ query: { stills: "0" } });
    await hasPicture(page);
    const stage = page.locator(".stage");
    const { x, y, width, height } = await stage.boundingBox();
    const read = () =>
      page.evaluate(() => ({
        camera: window.visapult.camera,
        transfer: JSON.stringify(window.visapult.transferFunction),
        panel: !document.querySelector("#app").classList.contains("panel-closed"),
        points: document.querySelectorAll(".handle").length,
        opacities: [...document.querySelectorAll(".handle")].map((e) => Number(e.getAttribute("aria-valuenow"))),
        focus: document.activeElement.id || document.activeElement.getAttribute("aria-label"),
      }));
    const shifted = (before, after) => shift(before.camera, after.camera, height).map((n) => Math.round(n) + 0);
    const drag = async (button, key) => {
      if (key) await page.keyboard.down(key);
      await page.mouse.move(x + width / 2, y + height / 2);
      await page.mouse.down({ button });
      await page.mouse.move(x + width / 2 + 60, y + height / 2 + 30, { steps: 3 });
      await page.mouse.up({ button });
      if (key) await page.keyboard.up(key);
    };
    const step = Math.round(0.04 * height);
    const home = await read();
    const unedited = home.transfer;
    const press = (key) => () => page.keyboard.press(key);
    const table = [
      ["Shift+ArrowRight", press("Shift+ArrowRight"), (was, is) => assert.deepEqual(shifted(was, is), [step, 0])],
      ["Shift+ArrowLeft", press("Shift+ArrowLeft"), (was, is) => assert.deepEqual(shifted(was, is), [-step, 0])],
      ["Shift+ArrowUp", press("Shift+ArrowUp"), (was, is) => assert.deepEqual(shifted(was, is), [0, step])],
      ["Shift+ArrowDown", press("Shift+ArrowDown"), (was, is) => assert.deepEqual(shifted(was, is), [0, -step])],
      ["right drag", () => drag("right"), (was, is) => assert.deepEqual(shifted(was, is), [-60, 30])],
      ["Shift drag", () => drag("left", "Shift"), (was, is) => assert.deepEqual(shifted(was, is), [-60, 30])],
      [
        "double click",
        () => page.mouse.dblclick(x + width / 2, y + height / 2),
        (was, is) => assert.deepEqual(is.camera, was.camera),
      ],
      ["Home", press("Home"), (_, is) => assert.deepEqual(is.camera, home.camera)],
      ["f", press("f"), (_, is) => assert.equal(is.focus, "field")],
      ["c", press("c"), (was, is) => assert.deepEqual([was.panel, is.panel], [true, false])],
      ["c again", press("c"), (_, is) => assert.ok(is.panel)],
      ["End on a point", () => onPoint("End"), (_, is) => assert.deepEqual(is.opacities.slice(1, 2), [1])],
      ["Home on a point", () => onPoint("Home"), (_, is) => assert.deepEqual(is.opacities.slice(1, 2), [0])],
      ["Alt+End on a point", () => onPoint("Alt+End"), (_, is) => assert.deepEqual(is.opacities.slice(1, 2), [0])],
      ["Enter on a point", () => onPoint("Enter"), (was, is) => assert.equal(is.points, was.points + 1)],
      ["Delete on a point", () => onPoint("Delete"), (was, is) => assert.equal(is.points, was.points - 1)],
      ["double click beside points", () => inEditor(0.5, 0.1), (was, is) => assert.equal(is.points, was.points + 1)],
      ["double click on that point", () => inEditor(0.5, 0.1), (was, is) => assert.equal(is.points, was.points - 1)],
      [
        "another map",
        () => page.locator("#map").selectOption("inferno"),
        (was, is) => assert.notEqual(is.transfer, was.transfer),
      ],
      ["r", press("r"), (_, is) => assert.equal(is.transfer, unedited)],
    ];
    const onPoint = async (key) => {
      await page.locator(".handle").nth(1).focus();
      await page.keyboard.press(key);
    };
    const inEditor = async (across, down) => {
      const box = await page.locator(".transfer").boundingBox();
      await page.mouse.dblclick(box.x + across * box.width, box.y + down * box.height);
    };
    for (const [name, act, holds] of table) {
      if (!name.endsWith("point")) await stage.focus();
      const was = await read();
      await act();
      try {
        holds(was, await read());
      } catch (problem) {
        throw new Error(`${name}: ${problem.message}`);
      }
    }
    await settled(page);
    const withAxes = await labels(page);
    await stage.focus();
    await page.keyboard.press("a");
    await until(page, () => location.hash.includes("axes=0"));
    const without = await labels(page);
    assert.ok(without < withAxes, `the axes stayed: ${without} of ${withAxes} pixels`);
    await keep(page, "no-axes");
    await page.close();
  });

  test("on a phone a tap adds an opacity point, a second finger leaves the first its own, and one that goes up scrolls", async () => {
    const page = await here.open({ width: 390, height: 844, hash: "panel=1" });
    await hasPicture(page);
    const fingers = await touching(page);
    const points = () =>
      page.evaluate(() => [...document.querySelectorAll(".handle")].map((e) => e.getAttribute("transform")));
    const before = await points();
    const { x, y, width } = await page.locator(".transfer").boundingBox();
    await fingers([[x + 0.66 * width, y + 20]], [[x + 0.66 * width, y + 20]]);
    const added = await points();
    assert.equal(added.length, before.length + 1);
    assert.match(await page.evaluate(() => document.activeElement.getAttribute("class")), /handle/);
    const middle = async (i) => {
      const handle = await page.locator(".handle").nth(i).boundingBox();
      return [handle.x + handle.width / 2, handle.y + handle.height / 2];
    };
    const [first, second] = await Promise.all([2, 5].map(middle));
    const up = ([left, top]) => [left, top - 60];
    await fingers([first, second], [up(first), up(second)]);
    const moved = await points();
    const [, top] = await middle(2);
    assert.ok(Math.abs(top - up(first)[1]) < 2, `dragged to ${top}, not ${up(first)[1]}`);
    assert.deepEqual(moved.toSpliced(2, 1), added.toSpliced(2, 1));
    const third = await middle(4);
    await fingers([third], [up(third)]);
    const [, risen] = await middle(4);
    assert.ok(Math.abs(risen - up(third)[1]) < 2, `dragged to ${risen}, not ${up(third)[1]}`);
    const last = await points();
    await fingers([[x + 0.74 * width, y + 100]], [[x + 0.74 * width, y + 20]]);
    await page.waitForFunction(() => document.querySelector(".panel").scrollTop > 0);
    assert.deepEqual(await points(), last);
    assert.deepEqual(page.errors, []);
    await page.close();
  });

  test("a key that is held turns, and saves one picture", async () => {
    const page = await here.open();
    await hasPicture(page);
    let saved = 0;
    page.on("download", () => {
      saved += 1;
    });
    await page.locator(".stage").focus();
    const { azimuth } = await page.evaluate(() => window.visapult.camera);
    for (const key of ["p", "ArrowRight", "c"]) {
      for (let times = 0; times < 4; times++) await page.keyboard.down(key);
      await page.keyboard.up(key);
    }
    assert.equal((await page.evaluate(() => window.visapult.camera)).azimuth, azimuth + 20);
    assert.ok(await page.locator("#app.panel-closed").isVisible());
    const plain = page.waitForEvent("download", (download) => download.suggestedFilename().includes("plain"));
    await page.keyboard.press("Shift+P");
    await plain;
    // The one with labels was asked for before, and may be told after; so might others.
    for (let waits = 0; waits < 100 && saved < 2; waits++) await page.waitForTimeout(50);
    await page.waitForTimeout(300);
    assert.equal(saved, 2);
    await page.close();
  });

  test("keys of letters that are not Latin act by their place", async () => {
    const page = await here.open();
    await hasPicture(page);
    const press = (key, code, shiftKey = false) =>
      page.evaluate(
        (init) => {
          document.querySelector(".stage").dispatchEvent(new KeyboardEvent("keydown", { ...init, bubbles: true }));
        },
        { key, code, shiftKey },
      );
    await press("\u0441", "KeyC");
    await page.locator("#app.panel-closed").waitFor();
    const plain = page.waitForEvent("download", (download) => download.suggestedFilename().includes("plain"));
    await press("\u0417", "KeyP", true);
    await plain;
    await page.close();
  });

  test("keys of letters act in the picture alone where somebody chooses that, also after the page was loaded again", async () => {
    const page = await here.open();
    await hasPicture(page);
    const isOpen = () => page.evaluate(() => !document.querySelector("#app").classList.contains("panel-closed"));
    await page.getByRole("button", { name: "Keys" }).click();
    const choice = page.getByRole("checkbox", { name: "only while the picture has the focus" });
    await choice.focus();
    await page.keyboard.press("Space");
    await page.keyboard.press("Escape");
    for (const load of [() => {}, () => page.reload()]) {
      await load();
      await hasPicture(page);
      await page.getByRole("button", { name: "Save PNG" }).focus();
      await page.keyboard.press("c");
      await page.evaluate(() => document.activeElement.blur());
      await page.keyboard.press("c");
      assert.equal(await isOpen(), true);
      const { azimuth } = await page.evaluate(() => window.visapult.camera);
      await page.keyboard.press("ArrowRight");
      assert.equal((await page.evaluate(() => window.visapult.camera)).azimuth, azimuth + 5);
      await page.locator(".stage").focus();
      await page.keyboard.press("c");
      assert.equal(await isOpen(), false);
      await page.keyboard.press("c");
      // The address, which a page is loaded by again, follows a moment later.
      await page.waitForFunction(() => location.hash.includes("panel=1"));
    }
    await page.locator(".stage").focus();
    await page.keyboard.press("?");
    assert.equal(await choice.isChecked(), true);
    await keep(page, "key-scope");
    await choice.uncheck();
    await page.keyboard.press("Escape");
    await page.getByRole("button", { name: "Save PNG" }).focus();
    await page.keyboard.press("c");
    assert.equal(await isOpen(), false);
    assert.deepEqual(page.errors, []);
    await page.close();
  });

  test("controls that are closed with the focus in them give it to what opens them again", async () => {
    const page = await here.open();
    await hasPicture(page);
    await page.getByRole("button", { name: "Save PNG" }).focus();
    await page.keyboard.press("c");
    const toggle = page.getByRole("button", { name: "Controls", expanded: false });
    assert.ok(await toggle.evaluate((button) => button === document.activeElement));
    await page.keyboard.press("Enter");
    await page.getByRole("button", { name: "Controls", expanded: true }).waitFor();
    await page.close();
  });

  test("on a phone that lies on its side the controls are beside the picture, and can be scrolled to their end", async () => {
    const page = await here.open({ width: 700, height: 400, hash: "panel=1" });
    await hasPicture(page);
    const box = (selector) => page.locator(selector).boundingBox();
    const [stage, panel] = [await box(".stage"), await box(".panel")];
    assert.ok(panel.x >= stage.x + stage.width - 1, "the controls are not beside the picture");
    assert.ok(stage.width >= 350 && stage.height >= 300, `the picture has ${stage.width} x ${stage.height} pixels`);
    const last = page.locator(".panel section").last();
    const end = async () => {
      await last.scrollIntoViewIfNeeded();
      const { y, height } = await last.boundingBox();
      return y + height;
    };
    // What is told of the first picture makes them longer.
    let at = await end();
    for (let tries = 0; at > 401 && tries < 50; tries += 1) {
      await page.waitForTimeout(100);
      at = await end();
    }
    assert.ok(at <= 401, `the controls end at ${at}`);
    await keep(page, "phone-on-its-side");
    await page.close();
  });

  test("magnified until there is no room for both, the controls take the place of the picture", async () => {
    const page = await here.open({ width: 320, height: 256, hash: "panel=1" });
    await hasPicture(page);
    const { x, width } = await page.locator(".panel").boundingBox();
    assert.deepEqual([x, width], [0, 320]);
    await keep(page, "magnified");
    assert.equal(await page.evaluate(() => document.querySelector(".panel").scrollWidth), 320);
    // What is behind them is not reached.
    await page.keyboard.press("Tab");
    assert.match(await page.evaluate(() => document.activeElement.className), /panel-toggle/);
    await page.keyboard.press("Enter");
    await page.locator(".panel").waitFor({ state: "hidden" });
    const stage = await page.locator(".stage").boundingBox();
    assert.equal(stage.width, 320);
    await page.close();
  });

  test("magnified, the list of keys is read in whole words", async () => {
    const page = await here.open({ width: 320, height: 256 });
    await hasPicture(page);
    await page.locator(".stage").focus();
    await page.keyboard.press("?");
    await keep(page, "magnified-keys");
    const broken = await page.evaluate(() => {
      const linesOf = (word, node, at) => {
        const range = document.createRange();
        range.setStart(node, at);
        range.setEnd(node, at + word.length);
        return range.getClientRects().length;
      };
      return [...document.querySelectorAll("dialog[open] :is(dt, dd)")].flatMap(({ firstChild }) =>
        [...firstChild.data.matchAll(/\S+/g)].flatMap((word) =>
          linesOf(word[0], firstChild, word.index) > 1 ? [word[0]] : [],
        ),
      );
    });
    assert.deepEqual(broken, []);
    await page.close();
  });

  test("what a source has besides is told below its fields", async (t) => {
    const of = (unit) => ({ unit, valueAt: (x) => x });
    const folder = writeZarr(join(here.folder, "shapes.zarr"), 24, { u: of("m/s"), v: of("m s-1") });
    const names = Array.from({ length: 12 }, (_, i) => `a long name of a coarse field ${i}`);
    const coarse = writeZarr(
      join(here.folder, "coarse.zarr"),
      8,
      Object.fromEntries(names.map((name) => [name, of("K")])),
    );
    renameSync(join(coarse, names[0]), join(folder, "T"));
    const server = await startServer(folder);
    t.after(() => server.kill());
    const page = await openPage(here.browser, server.url);
    await hasPicture(page);
    const others = page.locator("#others");
    assert.equal(await others.textContent(), "Also there (open as shapes.zarr/T): T (8 x 8 x 8)");
    assert.equal(await page.locator("#field").getAttribute("aria-describedby"), "others");
    await keep(page, "others");
    // Several, and no room for all of what is told of them.
    for (const name of names.slice(1, 6)) renameSync(join(coarse, name), join(folder, name));
    for (const name of ["w", "x", "y", "z"]) cpSync(join(folder, "u"), join(folder, name), { recursive: true });
    const other = await startServer(folder);
    t.after(() => other.kill());
    const narrow = await openPage(here.browser, other.url, { width: 720 });
    await hasPicture(narrow);
    const told = await narrow
      .locator("#others")
      .evaluate((p) => [p.title === p.textContent, p.scrollWidth <= p.clientWidth, p.clientHeight]);
    assert.deepEqual(told.slice(0, 2), [true, true]);
    assert.ok(told[2] > 10 && told[2] < 60, `${told[2]} pixels high`);
    await keep(narrow, "others-many");
    // One that is all shown has nothing besides.
    const all = await here.open();
    await hasPicture(all);
    assert.equal(await all.locator("#others").isVisible(), false);
  });

  test("until another field comes, the legend and the name of a saved picture are those of the one that is shown", async (t) => {
    const fields = {
      rho: { unit: "kg/m3", valueAt: (x) => 100 + x },
      temp: { unit: "K", valueAt: (x, y) => 3000 + 40 * y - x },
    };
    const server = await startServer(writeZarr(join(here.folder, "pair.zarr"), 24, fields));
    t.after(() => server.kill());
    const page = await openPage(here.browser, server.url, { hash: "field=temp&axes=0", before: keepWords });
    const field = page.getByRole("combobox", { name: "Field" });
    const choose = async (label) => field.selectOption({ label });
    const saved = async () => {
      const [download] = await Promise.all([page.waitForEvent("download"), page.click("text=Save PNG")]);
      return download.suggestedFilename();
    };
    const written = () => page.evaluate(() => window.written);
    // Both are known, with their functions.
    await settled(page);
    const ofTemp = await written();
    await choose("rho [kg/m3]");
    await until(page, () => window.written.includes("rho [kg/m3]"));
    await settled(page);
    const ofRho = await written();
    const rho = await picture(page);
    server.suspend();
    t.after(() => server.resume());
    await choose("temp [K]");
    await page.locator(".status").getByText("Showing rho until temp comes.").waitFor();
    await settled(page);
    await keep(page, "legend-until-field-comes");
    assert.equal(difference(rho, await picture(page)), 0);
    assert.deepEqual(await written(), ofRho);
    assert.equal(await saved(), "pair.zarr-rho-0.png");
    server.resume();
    await until(page, () => window.written.includes("temp [K]"));
    await page.locator(".status").getByText("Showing").waitFor({ state: "detached" });
    await settled(page);
    assert.deepEqual(await written(), ofTemp);
    assert.equal(await saved(), "pair.zarr-temp-0.png");
    assert.deepEqual(page.errors, []);
    await page.close();
  });

  test("axes tell where samples lie, each in its unit, and steps their date", async (t) => {
    const edge = 6;
    const count = Array.from({ length: edge }, (_, i) => i);
    const scales = {
      time: [[0, 6, 12], { units: "hours since 2001-01-01", calendar: "standard" }],
      plev: [[1000, 850, 700, 500, 300, 200], { units: "hPa" }],
      lat: [count.map((i) => 50 - 20 * i), { units: "degrees_north" }],
      lon: [count.map((i) => 60 * i), { units: "degrees_east" }],
    };
    const fields = { u: { unit: "m s-1", valueAt: (x, y, z) => x + y + z } };
    const server = await startServer(writeZarr(join(here.folder, "atmosphere.zarr"), edge, fields, scales));
    t.after(() => server.kill());
    const page = await openPage(here.browser, server.url, { before: keepWords });
    await hasPicture(page);
    const names = ["x: lon [\u00b0E]", "y: lat [\u00b0N]", "z: plev [hPa]", "300", "1000"];
    await page.waitForFunction((names) => names.every((name) => window.written.includes(name)), names);
    await page.getByText("step 0 / 2 \u00b7 2001-01-01 00:00 UTC").first().waitFor();
    // Pressures tell which way is up.
    assert.equal(await page.evaluate(() => window.visapult.camera.up), "z");
    await page.getByRole("button", { name: "Step forward" }).click();
    await page.getByText("step 1 / 2 \u00b7 2001-01-01 06:00 UTC").first().waitFor();
    await until(page, (v) => v.shown.step === 1);
    // What is saved says of what and when it is.
    await page.evaluate(() => {
      const { fillText } = CanvasRenderingContext2D.prototype;
      CanvasRenderingContext2D.prototype.fillText = function (words, ...at) {
        if (!this.canvas.isConnected) window.caption = words;
        return fillText.call(this, words, ...at);
      };
    });
    const download = page.waitForEvent("download");
    await page.keyboard.press("p");
    await download;
    const caption = await page.evaluate(() => window.caption);
    assert.equal(caption, "atmosphere.zarr \u00b7 step 1 / 2 \u00b7 2001-01-01 06:00 UTC");
    assert.deepEqual(page.errors, []);
    await page.close();
  });

  test("a key that no link has is named, with those that it may have", async () => {
    const page = await here.open({ hash: "stpe=7" });
    await page.getByText(/\u201cstpe\u201d.*it may say view, at, stretch, up, crop, mark, step/).waitFor();
    await page.close();
  });

  test("a link whose range no picture can have shows the page's own, and says so", async () => {
    for (const range of ["5,1", "0,1e60"]) {
      const page = await here.open({ hash: `range=${range}&map=inferno&opacity=0,0;1,1&field=nope` });
      await page.getByText(`\u201crange=${range}\u201d, \u201cfield=nope\u201d, which cannot be used here`).waitFor();
      await hasPicture(page);
      const { range: shown } = await page.evaluate(() => window.visapult.transferFunction);
      assert.ok(shown[0] >= 0 && shown[1] > 0.9 && shown[1] <= 1, `${shown}`);
      assert.equal(await page.locator("#map").inputValue(), "inferno");
      assert.equal(await page.evaluate(() => window.visapult.stats.connection), "open");
      await page.close();
    }
  });

  test("a part of a transfer function in a link holds without the others", async () => {
    const page = await here.open({ hash: "range=0,10" });
    await hasPicture(page);
    const read = () => page.evaluate(() => window.visapult.transferFunction);
    assert.deepEqual((await read()).range, [0, 10]);
    assert.ok(await page.locator(".status").isHidden());
    await page.close();
    const coloured = await here.open({ hash: "map=inferno" });
    await hasPicture(coloured);
    assert.equal(await coloured.locator("#map").inputValue(), "inferno");
    await coloured.waitForFunction(() => location.hash.includes("map=inferno"));
    assert.ok(!(await coloured.evaluate(() => location.hash)).includes("range="));
    await coloured.close();
  });

  test("a flat box fills the first view, and the view it is reset to", async () => {
    const page = await here.open({ hash: "panel=0", height: 600 });
    await hasPicture(page);
    const { distance } = await page.evaluate(() => window.visapult.camera);
    assert.ok(distance > 3.5 && distance < 3.7, `a cube is seen from ${distance}`);
    await page.close();
    const flat = await startServer(writeNpy(join(here.folder, "flat.npy"), [128, 16, 2], (x) => x));
    const wide = await openPage(here.browser, flat.url, { hash: "panel=0", height: 600 });
    await hasPicture(wide);
    const first = await wide.evaluate(() => window.visapult.camera.distance);
    assert.ok(first > 1 && first < 2.2, `a flat box is seen from ${first}`);
    await wide.keyboard.press("ArrowUp");
    await wide.keyboard.press("-");
    await wide.keyboard.press("Home");
    assert.equal(await wide.evaluate(() => window.visapult.camera.distance), first);
    await wide.close();
    await flat.kill();
  });

  test("after the slider of steps Space plays, and what it goes through is told by itself alone", async (t) => {
    const series = await startServer(writeNpy(join(here.folder, "series.npy"), 16, blob, 6));
    t.after(() => series.kill());
    const page = await openPage(here.browser, series.url, { query: { stills: "0" } });
    await hasPicture(page);
    const slider = page.getByRole("slider", { name: "Step" });
    const told = () => page.getByLabel("Time shown").getAttribute("aria-live");
    assert.equal(await told(), "polite");
    await slider.focus();
    await page.keyboard.press("ArrowRight");
    await until(page, (v) => v.shown.step === 1);
    assert.equal(await told(), "off");
    await page.keyboard.press("Space");
    await page.getByRole("button", { name: "Pause" }).waitFor();
    await until(page, (v) => v.shown.step === 5);
    assert.deepEqual(page.errors, []);
    await page.close();
  });

  test("signs act after a drop-down was used, whose options letters choose", async () => {
    const page = await here.open({ query: { stills: "0" } });
    await hasPicture(page);
    const distance = () => page.evaluate(() => window.visapult.camera.distance);
    const map = page.locator("#map");
    await map.selectOption("inferno");
    await map.focus();
    const before = await distance();
    await page.keyboard.press("-");
    assert.ok((await distance()) > before, "it was not zoomed");
    await page.keyboard.press("c");
    assert.equal(await map.inputValue(), "cividis");
    assert.ok(await page.locator(".panel").isVisible());
    await page.keyboard.press("?");
    await page.getByRole("dialog").waitFor();
    await page.close();
  });

  test("with a long unit the bounds of the range can be read, and all of the unit", async (t) => {
    const units = { short: "Pa", powers: "kg m-2 s-1 K-1", words: "particles per cubic centimetre per second" };
    const fields = Object.fromEntries(Object.entries(units).map(([name, unit]) => [name, { unit, valueAt: blob }]));
    const server = await startServer(writeZarr(join(here.folder, "units.zarr"), 16, fields));
    t.after(() => server.kill());
    for (const name of Object.keys(units)) {
      const page = await openPage(here.browser, server.url, { hash: `field=${name}&range.${name}=-0.123456,0.123456` });
      await hasPicture(page);
      await page.locator(".unit").filter({ hasText: units[name] }).waitFor();
      await keep(page, `unit-${name}`);
      const cut = await page.evaluate(() => {
        const panel = document.querySelector(".panel").getBoundingClientRect();
        const inputs = [...document.querySelectorAll(".range input")];
        const narrow = inputs.filter((input) => input.scrollWidth > input.clientWidth).map(({ value }) => value);
        const { left, right } = document.querySelector(".unit").getBoundingClientRect();
        return left < panel.left || right > panel.right ? [...narrow, "unit"] : narrow;
      });
      assert.deepEqual(cut, []);
      await page.close();
    }
  });

  test("text that alone is enlarged is not cut in its controls", async () => {
    for (const [width, height] of [
      [1024, 720],
      [390, 844],
    ]) {
      const page = await here.open({ width, height, hash: "panel=1" });
      await hasPicture(page);
      await page.addStyleTag({ content: ":root { font-size: 26px }" });
      await keep(page, `large-text-${width}`);
      const cut = await page.evaluate(() => {
        const controls = document.querySelectorAll(".panel :is(select, button:not(.icon), input[type=text])");
        const isCut = (control) => {
          const { height, right } = control.getBoundingClientRect();
          const line = Number.parseFloat(getComputedStyle(control).fontSize);
          return height < 1.2 * line || right > innerWidth || control.scrollHeight > control.clientHeight + 1;
        };
        return [...controls]
          .filter((control) => control.checkVisibility() && isCut(control))
          .map((one) => one.outerHTML);
      });
      assert.deepEqual(cut, []);
      await page.close();
    }
  });

  test("what a link says in vain is told until it is dismissed, also when something else is shown", async () => {
    const page = await here.open({ hash: "bogus=1" });
    const notice = page.getByText(/\u201cbogus\u201d/);
    await notice.waitFor();
    await page.locator("#proxy").selectOption("bricks");
    await page.locator("#field").selectOption({ index: 0 });
    await page.locator(".stage").focus();
    await page.keyboard.press(".");
    assert.ok(await notice.isVisible(), "it is gone");
    await notice.hover();
    assert.ok(await page.locator(".status").evaluate((status) => status.matches(":hover")), "it cannot be pointed at");
    await page.getByRole("button", { name: "Dismiss" }).click();
    await notice.waitFor({ state: "detached" });
    await page.close();
  });

  test("a notice of several lines leaves the triad of axes to be seen", async () => {
    for (const [width, height] of [
      [1024, 720],
      [390, 844],
    ]) {
      const page = await here.open({ width, height, hash: "bogus=1&proxy=magic&field=nope" });
      await page.getByText(/\u201cbogus\u201d.*\u201cproxy=magic\u201d/).waitFor();
      await hasPicture(page);
      await settled(page);
      await keep(page, `notice-of-lines-${width}`);
      const notice = await page.locator(".status").boundingBox();
      assert.ok(notice.height > 40, `the notice has ${notice.height} pixels`);
      const triad = await page.evaluate(triadBox);
      assert.ok(triad.right - triad.left > 20, "there is no triad");
      const isApart = notice.x + notice.width <= triad.left || notice.y >= triad.bottom;
      assert.ok(isApart, `${JSON.stringify(notice)} over ${JSON.stringify(triad)}`);
      await page.close();
    }
  });

  test("what is told has its place before it is told, for those who have it read out", async () => {
    const page = await here.open();
    await hasPicture(page);
    await page.locator(".status.empty").waitFor({ state: "attached" });
    assert.equal(await page.locator(".status").getByRole("status").count(), 1);
    assert.equal(await page.locator(".panel .note").and(page.getByRole("status")).count(), 1);
    const keys = await page.locator(".stage").getAttribute("aria-describedby");
    assert.match(await page.locator(`#${keys}`).textContent(), /arrow keys/i);
    await page.close();
  });

  test("a notice is closed with the keyboard alone", async () => {
    const page = await here.open({ hash: "step=7", width: 390, height: 844 });
    const notice = page.getByRole("status").filter({ hasText: "There is no step 7: step 0 is shown." });
    await notice.waitFor();
    await keep(page, "notice");
    await page.getByRole("button", { name: "Dismiss" }).focus();
    await page.keyboard.press("Enter");
    await notice.waitFor({ state: "detached" });
    await page.close();
  });

  test("controls, and the bars behind the opacities, stand out from what they lie on", async () => {
    const page = await here.open();
    await hasPicture(page);
    const faint = await page.evaluate(() => {
      const rgb = (colour) => colour.match(/[\d.]+/g).map(Number);
      const luminance = (colour) => {
        const [r, g, b] = rgb(colour).map((n) => (n <= 10.31 ? n / 3294.6 : ((n / 255 + 0.055) / 1.055) ** 2.4));
        return 0.2126 * r + 0.7152 * g + 0.0722 * b;
      };
      const contrast = (...colours) => {
        const [dark, light] = colours.map(luminance).sort((a, b) => a - b);
        return (light + 0.05) / (dark + 0.05);
      };
      const isSeen = (colour) => (rgb(colour)[3] ?? 1) > 0;
      const under = (e) => (isSeen(getComputedStyle(e).backgroundColor) ? e : under(e.parentElement));
      const beside = (e) => getComputedStyle(under(e.parentElement)).backgroundColor;
      const borders = [...document.querySelectorAll("button, select, input[type=text]")]
        .map((e) => [e.id || e.textContent, getComputedStyle(e).borderTopColor, beside(e)])
        .filter(([, border]) => isSeen(border));
      const bars = getComputedStyle(document.querySelector(".bars")).fill;
      const pairs = [...borders, ["bars", bars, beside(document.querySelector(".bars"))]];
      if (pairs.length < 10) return ["controls are missing"];
      return pairs.map(([name, ...colours]) => [name, contrast(...colours)]).filter(([, ratio]) => ratio < 3);
    });
    assert.deepEqual(faint, []);
    await page.close();
  });

  test("what is said over the picture can be read where that is white", async () => {
    const page = await here.open();
    await hasPicture(page);
    await page.locator(".quality:not(:empty)").waitFor();
    const ratios = await page.evaluate(() => {
      const context = new OffscreenCanvas(1, 1).getContext("2d");
      const luminance = (...layers) => {
        for (const layer of ["#fff", ...layers]) {
          context.fillStyle = layer;
          context.fillRect(0, 0, 1, 1);
        }
        const [r, g, b] = [...context.getImageData(0, 0, 1, 1).data].map((n) =>
          n <= 10.31 ? n / 3294.6 : ((n / 255 + 0.055) / 1.055) ** 2.4,
        );
        return 0.2126 * r + 0.7152 * g + 0.0722 * b;
      };
      return [".quality", ".panel-toggle"].map((over) => {
        const { color, backgroundColor } = getComputedStyle(document.querySelector(over));
        return (luminance(color) + 0.05) / (luminance(backgroundColor) + 0.05);
      });
    });
    assert.ok(Math.min(...ratios) >= 4.5, `${ratios} to 1`);
    await page.close();
  });

  test("every control can be reached and is named", async () => {
    const page = await here.open();
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
    await page.keyboard.press("Enter");
    await page.getByRole("dialog").waitFor({ state: "detached" });
    await page.setViewportSize({ width: 360, height: 400 });
    await page.keyboard.press("?");
    const dialog = page.getByRole("dialog");
    await dialog.waitFor();
    assert.equal(await dialog.evaluate((list) => list.scrollTop), 0, "the list is not seen from its beginning");
    await keep(page, "help-small");
    await page.close();
  });
});
