import { expect, test } from "vitest";
import { boxWords, movedPart } from "../../src/ui/crop-row";
import { intervalsOf } from "../../src/volume/index";
import type { GridInfo } from "../../src/wire/index";

test("an end of a part goes from sample to sample, and no farther than the step before the other", () => {
  expect(movedPart([0, 10], 0, 3, 10, false)).toEqual([3, 10]);
  expect(movedPart([3, 10], 0, 10, 10, false)).toEqual([9, 10]);
  expect(movedPart([3, 10], 1, 2, 10, false)).toEqual([3, 4]);
  expect(movedPart([3, 10], 1, 12, 10, false)).toEqual([3, 10]);
});

test("both ends go together until one is at the box's face", () => {
  expect(movedPart([3, 5], 0, 6, 10, true)).toEqual([6, 8]);
  expect(movedPart([3, 5], 1, 6, 10, true)).toEqual([4, 6]);
  expect(movedPart([3, 5], 0, 10, 10, true)).toEqual([8, 10]);
  expect(movedPart([3, 5], 1, 0, 10, true)).toEqual([0, 2]);
});

test("cells are bounded by faces, and points by each other", () => {
  const grid: GridInfo = { size: [10, 1, 4], spacing: [1, 1, 1], origin: [0, 0, 0], unit: "", centering: "point" };
  expect(intervalsOf(grid, 0)).toBe(9);
  expect(intervalsOf({ ...grid, centering: "cell" }, 2)).toBe(4);
  expect(intervalsOf(grid, 1)).toBe(1);
});

test("a part is told as the samples that hold it", () => {
  const grid: GridInfo = { size: [11, 1, 5], spacing: [1, 1, 1], origin: [0, 0, 0], unit: "", centering: "point" };
  const all = [0, 1] as const;
  expect(boxWords(grid, [[0.3, 0.7], all, all])).toBe(":,:,3:8");
  expect(boxWords(grid, [[0.3333333, 0.65], all, [0.25, 0.5]])).toBe("1:3,:,3:8");
  expect(boxWords({ ...grid, centering: "cell" }, [[3 / 11, 7 / 11], all, [0, 0.2]])).toBe("0:1,:,3:7");
});
