import { expect, test } from "vitest";
import { commaWords, enteredRange, noNumberWords, numberOf, toldApart } from "../../src/ui/numbers";

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

test("what is not decimal is no number, and what is wrong with it is told", () => {
  for (const typed of ["0x10", "0b1", "1e", "Infinity", "1 2", ".", "--1"]) expect(numberOf(typed), typed).toBeNaN();
  expect(["1.", ".5", "+2e-3", "\u22121E5", "007"].map(numberOf)).toEqual([1, 0.5, 0.002, -1e5, 7]);
  const tail = (typed: string) => noNumberWords(typed)?.split("\u201d")[1];
  for (const typed of ["5 Pa", "5Pa", "-1.5e3 kg m-2", "20 \u00b0C", "12 %", "0,5 m"])
    expect(tail(typed), typed).toBe(" is not a number: write it without the unit.");
  for (const typed of ["1,000,000", "1.000.000", "12 000", "1'000.5"])
    expect(tail(typed), typed).toBe(" is not a number: write it without separators.");
  for (const typed of ["abc", "0x10", "Pa 5", "--1"]) expect(tail(typed), typed).toBe(" is not a number.");
  expect(noNumberWords("7")).toBeNull();
});
