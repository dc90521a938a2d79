import { describe, expect, test, vi } from "vitest";
import { whereMostLie } from "../../src/ui/concentration";
import { boundWords, enteredRange, fullWords, numberOf } from "../../src/ui/numbers";
import { pointBeside } from "../../src/ui/opacity-points";
import { shareWords, whatLiesOutside } from "../../src/ui/outside";
import { offersLogarithm, scaleOf } from "../../src/ui/scales";
import type { Histogram } from "../../src/ui/transfer-editor";
import type { Scale } from "../../src/volume/index";
import { withLogarithms } from "../../src/wire/fields";

vi.mock("../../src/render/index", () => ({}));

const words = (lo: number, hi: number, scale: Scale = "linear") =>
  [lo, hi].map((value) => boundWords(value, [lo, hi], scale));

describe("bounds of a range", () => {
  test("are told with the digits that tell them apart, and whole where that is short", () => {
    expect(words(101325, 101325.5)).toEqual(["101325", "101325.5"]);
    expect(words(101325.1, 101325.5)).toEqual(["101325.1", "101325.5"]);
    expect(words(Math.fround(101325.1), 101326)).toEqual(["101325.1", "101326"]);
    expect(words(1e6, 1e6 + 1)).toEqual(["1000000", "1000001"]);
    expect(words(1e9, 1e9 + 64)).toEqual(["1e9", "1.00000006e9"]);
    expect(words(0, Math.fround(1 / 3))).toEqual(["0", "0.333333"]);
    expect(words(-1, 0.12345)).toEqual(["-1", "0.12345"]);
    expect(words(0, Math.fround(2817.1301))).toEqual(["0", "2817.13"]);
  });

  test("that are small fit in their box", () => {
    expect(words(0, 0.0000061442195)).toEqual(["0", "6.14e-6"]);
    expect(words(-6.1e-6, 6e-30)).toEqual(["-6.1e-6", "6e-30"]);
  });

  test("are taken one by one: the one that was not typed stays as it is, not as it is shown", () => {
    const range = [Math.fround(1 / 3), 101325.5] as const;
    expect(enteredRange(["0,5", null], range, "linear")).toEqual([0.5, 101325.5]);
    expect(enteredRange([null, " 7 "], range, "linear")).toEqual([Math.fround(1 / 3), 7]);
    expect(enteredRange(["2e6", "\u22121e-3"], range, "linear")).toMatch(/not below/);
    expect(enteredRange(["\u22121e-3", "2e6"], range, "linear")).toEqual([-1e-3, 2e6]);
  });

  test("that are none are said to be so in words", () => {
    const range = [0, 5] as const;
    expect(enteredRange(["abc", null], range, "linear")).toBe("\u201cabc\u201d is not a number.");
    expect(enteredRange([null, " "], range, "linear")).toBe("A bound is left empty.");
    expect(enteredRange(["7", null], range, "linear")).toBe("The lowest value, 7, is not below the highest, 5.");
    expect(enteredRange([null, "0"], range, "linear")).toMatch(/^The lowest value, 0, is not below the highest, 0/);
    expect(enteredRange([null, "1e39"], range, "linear")).toMatch(/32-bit/);
    expect(enteredRange(["101325", "101325.001"], range, "linear")).toBe(
      "101325 and 101325.001 are the same as 32-bit numbers.",
    );
    expect(numberOf("")).toBeNaN();
  });
});

describe("bounds of a logarithmic range", () => {
  const range = [-8, 0] as const;
  const entered = (lo: string | null, hi: string | null) => enteredRange([lo, hi], range, "logarithmic");

  test("are told as the field's own values", () => {
    const told = (lo: number, hi: number) => words(lo, hi, "logarithmic");
    expect(told(-8, 0)).toEqual(["1e-8", "1"]);
    expect(told(-5, 3)).toEqual(["1e-5", "1000"]);
    expect(told(Math.log10(3e-7), Math.log10(0.02))).toEqual(["3e-7", "0.02"]);
    expect(told(Math.fround(Math.log10(1.23456e-6)), 2.5)).toEqual(["1.23e-6", "316.228"]);
    expect([fullWords(Math.fround(-7.93), "logarithmic"), fullWords(-8, "logarithmic")]).toEqual([
      "1.17489802e-8",
      "1e-8",
    ]);
    expect(told(Math.log10(101325), Math.log10(101325.5))).toEqual(["101325", "101325.5"]);
  });

  test("are typed as the field's own values, and what is shown of one that was not typed is not taken for it", () => {
    expect(entered("1e-6", "0,01")).toEqual([-6, -2]);
    expect(enteredRange([null, "10"], [-7.123456789, 0], "logarithmic")).toEqual([-7.123456789, 1]);
  });

  test("that are none are said to be so in the field's own values", () => {
    expect(entered("0", null)).toBe("\u201c0\u201d is not above 0, where a logarithmic scale begins.");
    expect(entered(null, "\u22121e-3")).toMatch(/^\u201c\u22121e-3\u201d is not above 0/);
    expect(entered("abc", null)).toBe("\u201cabc\u201d is not a number.");
    expect(entered("7", null)).toBe("The lowest value, 7, is not below the highest, 1.");
    expect(entered(null, "1e-9")).toBe("The lowest value, 1e-8, is not below the highest, 1e-9.");
    expect(entered("1e-60", null)).toMatch(/none above 0 is less than 1.4e-45/);
    expect(entered(null, "1e39")).toMatch(/none is more than 3.4e38/);
    expect(entered("0.01", "0.0100000001")).toMatch(/same as 32-bit numbers/);
  });
});

describe("the logarithmic scale", () => {
  const fields = withLogarithms([
    { name: "p", unit: "Pa" },
    { name: "q", unit: "" },
  ]);
  const offered = (field: number, hi: number) => offersLogarithm(fields, field, { range: [-2, hi], extent: [-2, hi] });

  test("is that of the fields that are logarithms", () => {
    expect([0, 1, 2, 3].map((field) => scaleOf(fields, field))).toEqual([
      "linear",
      "linear",
      "logarithmic",
      "logarithmic",
    ]);
    expect(scaleOf([], 0)).toBe("linear");
  });

  test("can be chosen where there are values above 0, in this step or another, and left everywhere", () => {
    expect([offered(0, 1e-30), offered(1, 0), offered(2, -1)]).toEqual([true, false, true]);
    expect(offersLogarithm(fields, 0, { range: [-1, 5], extent: [-1, -0.5] })).toBe(true);
    expect(offersLogarithm(fields, 0, { range: null, extent: null })).toBe(false);
    expect([offersLogarithm(fields, 0, null), offersLogarithm(fields, 2, null)]).toEqual([null, true]);
    expect(offersLogarithm(fields.slice(0, 1), 0, { range: [0, 1], extent: [0, 1] })).toBe(false);
  });
});

describe("where most values lie", () => {
  const counts = (...filled: readonly (readonly [bin: number, count: number])[]) => {
    const bins = Array.from({ length: 256 }, () => 0);
    for (const [bin, count] of filled) bins[bin] = count;
    return bins;
  };
  const range = [0, 256] as const;
  const of = (counted: readonly number[], bounds: readonly [number, number] = range) => {
    const finite = counted.reduce((sum, count) => sum + count, 0);
    return { range: bounds, counts: counted, finite, extent: bounds };
  };

  test("is told where it is less than a tenth of the range that is shown", () => {
    const outlier = of(counts([10, 500], [12, 490], [255, 1]));
    expect(whereMostLie(outlier, range)).toEqual([10, 13]);
    expect(whereMostLie(outlier, [10, 13])).toBeNull();
    expect(whereMostLie(of(counts([0, 50], [24, 50], [255, 2])), range)).toEqual([0, 25]);
  });

  test("is not told where values are spread, or there are none, or all are one", () => {
    expect(whereMostLie(of(counts([0, 50], [25, 50])), range)).toBeNull();
    expect(whereMostLie(of(counts([0, 97], [255, 3])), range)).toBeNull();
    expect(whereMostLie(of(counts()), range)).toBeNull();
    expect(whereMostLie(of([]), range)).toBeNull();
    expect(whereMostLie(of(counts([0, 9]), [5, 5]), [5, 5])).toBeNull();
  });
});

describe("what lies outside the range that is shown", () => {
  const ramp = { range: [0, 10], counts: Array.from({ length: 100 }, () => 3), finite: 300, extent: [0, 10] } as const;

  const shares = (histogram: Histogram, shown: readonly [number, number]) => {
    const outside = whatLiesOutside(histogram, shown);
    return outside && [outside.least, outside.most].map((share) => Number(share.toFixed(4)));
  };

  test("is told with what is known of its share, unless nobody would see it", () => {
    expect(shares(ramp, [0, 7.95])).toEqual([0.2, 0.21]);
    expect(shares(ramp, [20, 30])).toEqual([1, 1]);
    expect(whatLiesOutside(ramp, [20, 30])?.extent).toEqual([0, 10]);
    expect(whatLiesOutside(ramp, [0, 9.95])).toBeNull();
    expect(whatLiesOutside(ramp, [-5, 50])).toBeNull();
  });

  test("is not all of them where a part of a full bin is shown", () => {
    const lopsided = { ...ramp, counts: ramp.counts.map((_, i) => (i === 0 ? 201 : 1)) };
    expect(shares(lopsided, [0, 0.04])).toEqual([0.33, 1]);
    expect(shares(lopsided, [-1, 0])).toEqual([0.33, 1]);
    expect(shares(lopsided, [0, 0.12])).toEqual([0.3267, 0.33]);
  });

  test("holds what the histogram leaves out, as far as that is known to be outside", () => {
    const outliers = { ...ramp, finite: 303, extent: [0, 1e30] } as const;
    expect(shares(outliers, [0, 10])).toEqual([0.0099, 0.0099]);
    const digits = { ...outliers, range: [0.1, 0.7] as const, extent: [-5, 0.7] as const };
    expect(shares(digits, [Math.fround(0.1), 0.7])).toEqual([0.0099, 0.0099]);
    expect(shares(digits, [0.100000001, 0.7])).toEqual([0.0099, 0.0099]);
    expect(shares(outliers, [0, 9.999])).toEqual([0.0099, 0.0198]);
    expect(shares(outliers, [0, 1e29])).toEqual([0, 0.0099]);
    expect(whatLiesOutside(outliers, [0, 1e30])).toBeNull();
  });

  test("is told in words that hold", () => {
    const told = (least: number, most = least) => shareWords({ least, most }, "linear");
    expect([told(1), told(0.123, 0.1234), told(2e-7)]).toEqual([
      "All values",
      "12 % of values",
      "Less than 0.01 % of values",
    ]);
    expect([told(0.47, 1), told(0.4799, 0.6), told(0.9999), told(0, 0.3), told(0, 0.00351)]).toEqual([
      "At least 47 % of values",
      "At least 47 % of values",
      "At least 99 % of values",
      "At most 30 % of values",
      "At most 0.36 % of values",
    ]);
    expect(shareWords({ least: 0.5, most: 0.5 }, "logarithmic")).toBe("50 % of values above 0");
  });
});

describe("an opacity point that is added", () => {
  const opacity = [
    [0, 0],
    [0.4, 0.2],
    [1, 1],
  ] as const;

  test("lies between this one and the next", () => {
    expect(pointBeside(opacity, 0)).toEqual([[0.2, 0.1], 1]);
  });

  test("lies before the last where that is at the end, never on it", () => {
    expect(pointBeside(opacity, 2)).toEqual([[0.7, 0.6], 2]);
    expect(pointBeside(opacity.slice(0, 2), 1)).toEqual([[0.7, 0.2], 2]);
  });
});
