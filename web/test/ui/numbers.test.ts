import { expect, test } from "vitest";
import { commaWords, enteredRange, numberOf, toldApart } from "../../src/ui/numbers";

test("values of single precision are counted between bounds", () => {
  // Neighbours are 1/128 apart there, and 64.
  expect(toldApart([101325, 101325.046875])).toBe(7);
  expect(toldApart([-1e9, -1e9 + 128])).toBe(3);
  expect(toldApart([0, 1])).toBeGreaterThan(1e6);
  expect(toldApart([0, 0])).toBe(1);
});

test("a comma is a point, but not where it may be one of thousands", () => {
  expect(["0,5", "-2,25", "0,125", "1000,125", "12,5", "1,0000"].map(numberOf)).toEqual([
    0.5, -2.25, 0.125, 1000.125, 12.5, 1,
  ]);
  for (const typed of ["1,000", " 999,125 ", "\u22122,500", "+1,234"]) expect(numberOf(typed), typed).toBeNaN();
  expect(commaWords("-1,250")).toBe("\u201c-1,250\u201d may be -1250 or -1.250: write it without a comma.");
  expect(commaWords("1,25")).toBeNull();
  expect(enteredRange(["1,000", null], [0, 5], "linear")).toMatch(/may be 1000 or 1\.000/);
});
