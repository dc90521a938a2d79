import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { CELL_EDGE, decodeSegments, LevelRanges, planeStride, valuesAlongRay } from "../../src/volume/index";
import { segmentRays } from "../../src/volume/segment-rays";
import { halfFromNumber, MOST_SEGMENT_CODE, parseSegments } from "../../src/wire/index";
import { rawFrame } from "../wire/build";

const bytes = readFileSync(new URL("../../../testdata/wire/segments.bin", import.meta.url));
const key = parseSegments(Uint8Array.from(bytes));

/** The number of a half float that is not tiny. */
function numberOf(half: number): number {
  const sign = half & 0x8000 ? -1 : 1;
  return (half & 0x7fff) === 0 ? 0 : sign * 2 ** (((half >> 10) & 31) - 15) * (1 + (half & 1023) / 1024);
}

test("values of rays at planes are those of their knots, missing outside of runs, and within the ranges of macrocells", () => {
  const along = valuesAlongRay(key);
  expect([planeStride(key), along]).toEqual([1, key.planeCount]);
  let known = 0;
  const level = new LevelRanges([along, ...key.rays]);
  for (const tile of key.tiles) level.merge(decodeSegments(tile, key).ranges);
  for (const tile of key.tiles) {
    const { lo, size, samples } = decodeSegments(tile, key);
    expect([lo, size]).toEqual([
      [0, tile.x, tile.y],
      [along, tile.width, tile.height],
    ]);
    const { starts, planes, codes, startsRun } = segmentRays(tile, key.planeCount);
    for (let ray = 0; ray + 1 < starts.length; ray++) {
      for (let i = starts[ray]; i < starts[ray + 1]; i++) {
        expect(numberOf(samples[ray * along + planes[i]])).toBeCloseTo(codes[i] / MOST_SEGMENT_CODE, 3);
        const isApart = startsRun[i] && (i === starts[ray] || planes[i - 1] + 1 < planes[i]);
        if (isApart && planes[i] > 0) expect(numberOf(samples[ray * along + planes[i] - 1])).toBeLessThan(-1000);
      }
      const [x, y] = [tile.x + (ray % tile.width), tile.y + Math.floor(ray / tile.width)].map((n) => n / CELL_EDGE);
      for (let plane = 0; plane < along; plane++) {
        const value = numberOf(samples[ray * along + plane]);
        if (value < 0) continue;
        known += 1;
        const cell = Math.floor(y) * level.size[1] + Math.floor(x);
        const at = cell * level.size[0] + Math.floor(plane / CELL_EDGE);
        expect(level.min[at] - 1e-3 <= value && value <= level.max[at] + 1e-3).toBe(true);
      }
    }
  }
  expect(known).toBeGreaterThan(500);
});

test("of more planes than there is room for every second, or fewer, is kept", () => {
  const rays = [512, 512] as const;
  expect(planeStride({ rays, planeCount: 512 })).toBe(1);
  expect([planeStride({ rays, planeCount: 513 }), valuesAlongRay({ rays, planeCount: 513 })]).toEqual([2, 257]);
  const [tile] = key.tiles;
  const wide = { rays: [2048, 2048] as const, planeCount: key.planeCount };
  const every = decodeSegments(tile, key);
  const [stride, along] = [planeStride(wide), valuesAlongRay(wide)];
  const some = decodeSegments(tile, wide).samples;
  expect([...some]).toEqual(
    Array.from(some, (_, i) => every.samples[Math.floor(i / along) * key.planeCount + (i % along) * stride]),
  );
});

test("tiles that hold nothing are no data", () => {
  const tile = { x: 0, y: 0, width: 4, height: 3, knots: 0, frame: rawFrame(new Uint8Array(1 + 4 * 3)) };
  const { samples } = decodeSegments(tile, { rays: [4, 3], planeCount: 9 });
  expect(new Set(samples)).toEqual(new Set([halfFromNumber(-60000)]));
  expect(samples.length).toBe(4 * 3 * 9);
});
