import { expect, test } from "vitest";
import { toldApart } from "../../src/ui/numbers";

test("values of single precision are counted between bounds", () => {
  // Neighbours are 1/128 apart there, and 64.
  expect(toldApart([101325, 101325.046875])).toBe(7);
  expect(toldApart([-1e9, -1e9 + 128])).toBe(3);
  expect(toldApart([0, 1])).toBeGreaterThan(1e6);
  expect(toldApart([0, 0])).toBe(1);
});
