import { expect, test, vi } from "vitest";
import { fittingStretch } from "../../src/ui/stretch-row";
import type { Vec3 } from "../../src/volume/index";

vi.mock("../../src/render/index", () => ({}));

const fitting = (size: Vec3, spacing: Vec3) =>
  fittingStretch({ size, spacing, origin: [0, 0, 0], unit: "m", centering: "cell" });

test("axes that are thin beside the longest are offered so much longer that they are a third of it or more, in round numbers", () => {
  expect(fitting([100, 100, 50], [30_000, 30_000, 300])).toEqual([1, 1, 100]);
  expect(fitting([100, 10, 10], [1, 1, 0.001])).toEqual([1, 5, 5000]);
  expect(fitting([60, 60, 50], [90_000, 90_000, 1e-9])).toEqual([1, 1, 1e6]);
});

test("nothing is offered for boxes of which no axis is short, nor for one that has a single sample", () => {
  expect(fitting([100, 50, 34], [1, 1, 1])).toBeNull();
  expect(fitting([100, 100, 34], [1, 1, 1])).toBeNull();
  expect(fitting([100, 100, 1], [1, 1, 1])).toBeNull();
});
