import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { CELL_EDGE, decodeSegments, PIECE, PIECE_WORDS } from "../../src/volume/index";
import { cubic, segmentRays } from "../../src/volume/segment-rays";
import { MOST_SEGMENT_CODE, parseSegments } from "../../src/wire/index";

const bytes = readFileSync(new URL("../../../testdata/wire/segments.bin", import.meta.url));
const { tiles, planeCount } = parseSegments(Uint8Array.from(bytes));

test("pieces of a ray follow one another from the first plane to behind the last", () => {
  for (const tile of tiles) {
    const { starts, texels } = decodeSegments(tile, planeCount);
    const rays = segmentRays(tile, planeCount);
    for (let ray = 0; ray + 1 < starts.length; ray++) {
      const knots = rays.starts[ray + 1] - rays.starts[ray];
      expect(starts[ray + 1] - starts[ray]).toBe(knots === 0 ? 0 : knots + 1);
      const words = Array.from({ length: starts[ray + 1] - starts[ray] }, (_, i) => (starts[ray] + i) * PIECE_WORDS);
      const ends = words.map((word) => [texels[word] & 0xffff, texels[word] >>> 16]);
      expect(ends.map(([from]) => from)).toEqual(words.length ? [0, ...ends.slice(0, -1).map(([, to]) => to)] : []);
      expect(ends.at(-1)?.[1] ?? 0xffff).toBe(0xffff);
      const known = words.map((word) => texels[word + 1]);
      expect(known.slice(1).every((word) => (word & PIECE.first) !== 0)).toBe(true);
      expect(known.slice(0, -1).every((word) => (word & PIECE.second) !== 0)).toBe(true);
    }
  }
});

test("the ranges of blocks hold all values of their rays", () => {
  let values = 0;
  for (const tile of tiles) {
    const { ranges } = decodeSegments(tile, planeCount);
    const rays = segmentRays(tile, planeCount);
    for (let ray = 0; ray + 1 < rays.starts.length; ray++) {
      for (let i = rays.starts[ray]; i + 1 < rays.starts[ray + 1]; i++) {
        if (rays.startsRun[i + 1]) continue;
        const [c0, c1, c2, c3] = cubic(rays, i);
        for (let x = 0; x <= 1; x += 1 / 16) {
          const value = (((c3 * x + c2) * x + c1) * x + c0) / MOST_SEGMENT_CODE;
          const plane = rays.planes[i] + x * (rays.planes[i + 1] - rays.planes[i]);
          const [column, row] = [ray % tile.width, Math.floor(ray / tile.width)];
          const [bx, by] = [Math.floor(column / CELL_EDGE) + 1, Math.floor(row / CELL_EDGE) + 1];
          const at = (Math.floor(plane / CELL_EDGE) * ranges.size[1] + by) * ranges.size[0] + bx;
          expect(ranges.min[at] - 1e-6 <= value && value <= ranges.max[at] + 1e-6).toBe(true);
          values += 1;
        }
      }
    }
  }
  expect(values).toBeGreaterThan(1000);
});
