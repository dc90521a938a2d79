/** Tiles that are lost on the way to the page: what it holds already stands in for them. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { decibels } from "./against-program.mjs";
import { inWorkers, keep, settled, until } from "./browser.mjs";
import { serving } from "./serving.mjs";

/** Shares of tiles that are lost, and by how many dB the picture may be worse. */
const LIMITS = [
  [0.01, 0.5],
  [0.05, 2],
  [0.2, 6],
];
/** Where a fifth of the finest bricks are lost, and a 64th of the samples stand in for them. */
const LEAST_DB_OF_BRICKS = 48;
/** Where nothing whole ever came. */
const LEAST_DB_OF_NOTHING_WHOLE = 42;
/** Where only bricks of a quarter of the resolution ever came. */
const LEAST_DB_OF_COARSEST = 32;
/** Where a fifth of the finest bricks of a hard surface are lost. */
const LEAST_DB_OF_SURFACE = 27;

const waveFrom = (center) => (x, y, z) => {
  const r = Math.hypot(x - center[0], y - center[1], z - center[2]) / 96;
  return Math.sin(16 * r) * Math.exp(-1.5 * r);
};

/** In the page's workers: keeps a share of the tiles, of finer bricks, of both, or of bricks of every level from them, at least one of each message, and acknowledges those as well. */
function withhold(share, of) {
  const Real = WebSocket;
  const told = new BroadcastChannel("told");
  // Of each kind of message: where tiles begin, bytes of one before its payload, where their number is.
  const layouts = { 16: [48, 22, 30], 17: [124, 16, 102], 19: [144, 16, 102], 20: [132, 16, 102] };
  const thinned = (buffer) => {
    const [bytes, view] = [new Uint8Array(buffer), new DataView(buffer)];
    const layout = layouts[bytes[0]];
    const isOfBricks = bytes[0] === 16;
    if (!layout || of === (isOfBricks ? "tiles" : "bricks")) return buffer;
    const [start, head, count] = layout;
    const tiles = [];
    for (let at = start; at < bytes.length; ) {
      const end = at + head + view.getUint32(at + head - 4, true);
      tiles.push(bytes.subarray(at, end));
      at = end;
    }
    const isSpared = isOfBricks && of !== "every level" && view.getUint16(32, true) <= 32;
    const lost = isSpared ? 0 : Math.ceil(share * tiles.length);
    // Spread over all of them.
    const isLost = (i) => Math.floor(((i + 1) * lost) / tiles.length) > Math.floor((i * lost) / tiles.length);
    const left = tiles.filter((_, i) => !isLost(i));
    told.postMessage(tiles.length - left.length);
    const out = new Uint8Array(start + left.reduce((sum, tile) => sum + tile.length, 0));
    out.set(bytes.subarray(0, start));
    new DataView(out.buffer).setUint16(count, left.length, true);
    left.reduce((at, tile) => {
      out.set(tile, at);
      return at + tile.length;
    }, start);
    return out.buffer;
  };
  self.WebSocket = class extends Real {
    received = 0;
    set onmessage(listener) {
      super.onmessage = ({ data }) => {
        this.received += data.byteLength;
        listener({ data: thinned(data) });
      };
    }
    send(ack) {
      new DataView(ack.buffer).setBigUint64(4, BigInt(this.received), true);
      super.send(ack);
    }
  };
}

/** How far what the page shows of the field of `here` is from the exact picture, where a share of its `tiles`, `bricks`, `both` or bricks of `every level` is lost. */
async function shownWithout(share, here, sentAs, of = sentAs === "bricks" ? "bricks" : "tiles") {
  const code = share > 0 ? `(${withhold})(${share}, "${of}")` : "";
  const page = await here.open({ query: { stills: "0" }, hash: `proxy=${sentAs}`, before: inWorkers(code) });
  await until(page, (v, shown) => v.shown.proxy === shown && (shown !== "bricks" || v.shown.level === 0), sentAs);
  await settled(page);
  await keep(page, `lost-${sentAs}-${100 * share}`);
  if (share > 0) assert.ok(await page.evaluate(() => window.told.some((lost) => lost > 0)), "no tile was lost");
  const { file, folder } = here;
  const shownDb = await decibels(page, { file, folder, proxy: "exact" });
  assert.deepEqual(page.errors, []);
  await page.close();
  return shownDb;
}

/** Holds what the page shows to `limits`: shares of tiles that are lost, and by how many dB the picture may be worse. */
async function holds(t, here, sentAs, limits, of) {
  const wholeDb = await shownWithout(0, here, sentAs);
  for (const [share, mostDb] of limits) {
    const fallDb = wholeDb - (await shownWithout(share, here, sentAs, of));
    t.diagnostic(`${100 * share} % lost: ${fallDb.toFixed(2)} dB of ${wholeDb.toFixed(1)}`);
    assert.ok(fallDb <= mostDb, `${fallDb} dB where ${share} of the tiles are lost`);
  }
}

describe("lost tiles of a smooth field", () => {
  const here = serving("wave", 96, waveFrom([20, 28, 24]));

  test("coarser bricks stand in for finer ones", async (t) => {
    const shownDb = await shownWithout(0.2, here, "bricks");
    t.diagnostic(`${shownDb.toFixed(1)} dB`);
    assert.ok(shownDb >= LEAST_DB_OF_BRICKS, `${shownDb} dB where a fifth of the bricks are lost`);
  });

  test("levels of which bricks are lost are shown where nothing is known before", async (t) => {
    const shownDb = await shownWithout(0.2, here, "bricks", "every level");
    t.diagnostic(`${shownDb.toFixed(1)} dB`);
    assert.ok(shownDb >= LEAST_DB_OF_NOTHING_WHOLE, `${shownDb} dB where a fifth of all bricks are lost`);
  });

  test("bricks stand in for tiles of scalar slabs", (t) => holds(t, here, "slabs", LIMITS));

  test("the coarsest bricks stand in where no other ones and no tiles come", async (t) => {
    const shownDb = await shownWithout(1, here, "slabs", "both");
    t.diagnostic(`${shownDb.toFixed(1)} dB`);
    assert.ok(shownDb >= LEAST_DB_OF_COARSEST, `${shownDb} dB where all but the coarsest bricks are lost`);
  });

  // There are four of them: two are lost.
  test("bricks stand in for tiles of segments", (t) => holds(t, here, "segments", LIMITS.slice(-1)));
});

describe("lost tiles of what lies in the middle", () => {
  const here = serving("middle", 96, waveFrom([48, 48, 48]));

  test("bricks of which some are lost themselves stand in for tiles of scalar slabs", (t) =>
    holds(t, here, "slabs", LIMITS, "both"));
});

describe("lost bricks of what has a hard surface", () => {
  const inside = (x, y, z) => 0.6 + 0.1 * Math.sin(0.7 * x + 0.4 * y) * Math.sin(0.9 * z);
  const ball = (x, y, z) => (Math.hypot(x - 48, y - 46, z - 50) < 34 ? inside(x, y, z) : 0);
  const here = serving("ball", 96, ball);

  test("what came of a box stands in for what is lost of it", async (t) => {
    const shownDb = await shownWithout(0.2, here, "bricks");
    t.diagnostic(`${shownDb.toFixed(1)} dB`);
    assert.ok(shownDb >= LEAST_DB_OF_SURFACE, `${shownDb} dB where a fifth of the bricks are lost`);
  });
});
