import { expect, test } from "vitest";
import { uncovered } from "../../src/render/boxes";

test("nothing is missing of a grid whose boxes have all come", () => {
  const halves = [
    { lo: [0, 0, 0], size: [4, 8, 8] },
    { lo: [4, 0, 0], size: [4, 8, 8] },
  ] as const;
  expect(uncovered([8, 8, 8], halves)).toEqual([]);
  expect(uncovered([8, 8, 8], [])).toEqual([{ lo: [0, 0, 0], size: [8, 8, 8] }]);
});

test("what is missing is found sample by sample, however the others are cut", () => {
  const size = [7, 6, 5] as const;
  const come = [
    { lo: [0, 0, 0], size: [4, 6, 2] },
    { lo: [4, 0, 0], size: [3, 3, 5] },
    { lo: [0, 4, 2], size: [4, 2, 3] },
  ] as const;
  const all = [...come, ...uncovered(size, come)];
  for (let z = 0; z < size[2]; z++) {
    for (let y = 0; y < size[1]; y++) {
      for (let x = 0; x < size[0]; x++) {
        const holds = all.filter(({ lo, size: of }) =>
          [x, y, z].every((n, axis) => n >= lo[axis] && n < lo[axis] + of[axis]),
        );
        expect(holds.length, `${x}, ${y}, ${z}`).toBe(1);
      }
    }
  }
});
