import { describe, expect, it } from "vitest";
import { pair } from "../../src/render/samples";
import type { DecodedBrick, Vec3 } from "../../src/volume/index";

const brick = (lo: Vec3, size: Vec3, value: (x: number, y: number, z: number) => number): DecodedBrick => {
  const samples = new Uint16Array(size[0] * size[1] * size[2]);
  samples.forEach((_, i) => {
    const [x, y, z] = [i % size[0], Math.floor(i / size[0]) % size[1], Math.floor(i / (size[0] * size[1]))];
    samples[i] = value(lo[0] + x, lo[1] + y, lo[2] + z);
  });
  return { lo, size, samples } as DecodedBrick;
};

describe("pairs", () => {
  it("hold each sample and the one above it, across bricks that come in any order", () => {
    const level: Vec3 = [3, 2, 5];
    const number = (x: number, y: number, z: number) => 1 + x + 3 * (y + 2 * z);
    const pairs = new Uint16Array(2 * 30);
    for (const [z, layers] of [
      [2, 3],
      [0, 2],
    ])
      for (const [x, columns] of [
        [1, 2],
        [0, 1],
      ])
        pair(pairs, level, brick([x, 0, z], [columns, 2, layers], number));
    for (let z = 0; z < 5; z++)
      for (let y = 0; y < 2; y++)
        for (let x = 0; x < 3; x++) {
          const at = 2 * (x + 3 * (y + 2 * z));
          expect([pairs[at], pairs[at + 1]]).toEqual([number(x, y, z), z < 4 ? number(x, y, z + 1) : 0]);
        }
  });
});
