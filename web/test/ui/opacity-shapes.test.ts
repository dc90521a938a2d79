import { expect, test } from "vitest";
import { OPACITY_SHAPES, shapeOf } from "../../src/ui/opacity-shapes";

test("opacities are known by their points, and any other one by none", () => {
  for (const [name, points] of Object.entries(OPACITY_SHAPES)) {
    expect(shapeOf(points.map(([s, a]) => [s, a]))).toBe(name);
    expect(shapeOf([...points, [1, 0.25]])).toBeNull();
    expect(shapeOf([points[0], [1, 0.25]])).toBeNull();
  }
});
