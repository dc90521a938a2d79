/** Segments against the vectors in testdata/wire, and against damage. */
import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { segmentRays } from "../../src/volume/segment-rays";
import { parseSegments, WireError } from "../../src/wire/index";

interface Segments {
  header: object;
  camera: object;
  width: number;
  height: number;
  planes: number;
  near: number;
  spacing: number;
  edges: number[];
  range: number[];
  tiles: { lo: number[]; size: number[]; knots: number; rays: [number, number, number][][] }[];
}

const folder = new URL("../../../testdata/wire/", import.meta.url);
const bytes = () => Uint8Array.from(readFileSync(new URL("segments.bin", folder)));
const expected = JSON.parse(readFileSync(new URL("segments.json", folder), "utf8")) as Segments;

describe("segments", () => {
  test("decode to the knots that were encoded", () => {
    const { kind: _, header, tiles, rays, planeCount, ...key } = parseSegments(bytes());
    const { camera, near, spacing, edges, range } = expected;
    expect([header, key]).toEqual([expected.header, { camera, near, spacing, edges, range }]);
    expect([...rays, planeCount]).toEqual([expected.width, expected.height, expected.planes]);
    expect(tiles.length).toBe(expected.tiles.length);
    for (const [i, tile] of tiles.entries()) {
      const due = expected.tiles[i];
      expect([[tile.x, tile.y], [tile.width, tile.height], tile.knots]).toEqual([due.lo, due.size, due.knots]);
      const { starts, planes, codes, startsRun } = segmentRays(tile, planeCount);
      for (const [ray, knots] of due.rays.entries()) {
        const got = knots.map((_, k) => starts[ray] + k).map((at) => [planes[at], codes[at], startsRun[at]]);
        expect([starts[ray + 1] - starts[ray], got]).toEqual([knots.length, knots]);
      }
    }
  });

  test("that no keyframe can have are refused", () => {
    const changed = (change: (view: DataView) => void) => {
      const copy = bytes();
      change(new DataView(copy.buffer));
      return () => parseSegments(copy);
    };
    expect(changed((view) => [96, 98].map((at) => view.setUint16(at, 65_535, true)))).toThrow(/more than/);
    expect(changed((view) => view.setUint16(96, 0, true))).toThrow(/without rays/);
    expect(changed((view) => view.setFloat32(104, Number.NaN, true))).toThrow(/not finite/);
    expect(changed((view) => view.setFloat32(108, -1, true))).toThrow(/impossible/);
    expect(changed((view) => view.setFloat32(124, 99, true))).toThrow(/impossible/);
    expect(changed((view) => view.setUint16(132, 1, true))).toThrow(/none of/);
    expect(changed((view) => view.setUint16(136, 63, true))).toThrow(/none of/);
    expect(changed((view) => view.setUint32(140, 1 << 30, true))).toThrow(/255 each/);
    expect(changed((view) => view.setUint32(144, 1 << 30, true))).toThrow(/are left/);
  });

  test("whose knots lie beyond the planes, or of another number, are refused", () => {
    const [tile] = parseSegments(bytes()).tiles;
    expect(() => segmentRays(tile, 2)).toThrow(/do not follow/);
    expect(() => segmentRays({ ...tile, knots: tile.knots - 1 }, expected.planes)).toThrow(WireError);
  });

  test("with any byte damaged are refused or rays that can be", () => {
    const original = bytes();
    let decoded = 0;
    for (let at = 112; at < original.length; at += 5) {
      const damaged = Uint8Array.from(original);
      damaged[at] ^= 1 + ((at * 37) % 255);
      try {
        for (const tile of parseSegments(damaged).tiles) {
          const { starts, planes, codes } = segmentRays(tile, expected.planes);
          expect(Math.max(...codes, 0)).toBeLessThan(1024);
          const ends = new Set(starts);
          expect(planes.every((plane, k) => ends.has(k) || plane > planes[k - 1])).toBe(true);
          decoded += 1;
        }
      } catch (error) {
        expect(error).toBeInstanceOf(WireError);
      }
    }
    expect(decoded).toBeGreaterThan(0);
  });
});
