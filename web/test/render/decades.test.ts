import { describe, expect, test } from "vitest";
import { decadeMarks, formatPlace } from "../../src/render/decades";

const LENGTH = 200;
const APART = 14;
const wordsOf = (lo: number, hi: number, length = LENGTH) =>
  decadeMarks(lo, hi, length, APART).map(({ words }) => words.replaceAll("\u2212", "-"));

describe("marks of a logarithmic scale", () => {
  test("are decades, told as values", () => {
    expect(wordsOf(-8, 0)).toEqual(["1e-8", "1e-7", "1e-6", "1e-5", "0.0001", "0.001", "0.01", "0.1", "1"]);
    expect(wordsOf(2, 6)).toEqual(["100", "1000", "10000", "100000", "1e6"]);
  });

  test("are fewer decades where not all have room", () => {
    expect(wordsOf(-30, 0)).toEqual(["1e-30", "1e-25", "1e-20", "1e-15", "1e-10", "1e-5", "1"]);
    expect(wordsOf(-8, 0, 80)).toEqual(["1e-8", "1e-6", "0.0001", "0.01", "1"]);
  });

  test("are 2 and 5 times a decade, too, where there is room, and round numbers within one", () => {
    expect(wordsOf(0, 2)).toEqual(["1", "2", "5", "10", "20", "50", "100"]);
    expect(wordsOf(-1, Math.log10(3))).toEqual(["0.1", "0.2", "0.5", "1", "2", "3"]);
    expect(wordsOf(Math.log10(200), Math.log10(700))).toEqual(["200", "300", "400", "500", "600", "700"]);
  });

  test("have ends with the digits that tell them apart, and none beside them", () => {
    expect(wordsOf(-7.93, -0.6)).toEqual(["1.17e-8", "1e-7", "1e-6", "1e-5", "0.0001", "0.001", "0.01", "0.251"]);
    expect(wordsOf(Math.log10(1000), Math.log10(1000.5))[0]).toBe("1000");
    expect(wordsOf(Math.log10(1000), Math.log10(1000.5)).at(-1)).toBe("1000.5");
  });

  test("lie where their values do, within the scale and apart from each other", () => {
    for (const [lo, hi] of [
      [-8, 0],
      [-0.3, 0.2],
      [-44.85, 38.53],
      [3.001, 3.002],
      [1.99, 4.01],
    ]) {
      const marks = decadeMarks(lo, hi, LENGTH, APART);
      expect([marks[0].value, marks.at(-1)?.value]).toEqual([lo, hi]);
      for (const [i, { value, words }] of marks.entries()) {
        expect(Math.log10(Number(words.replaceAll("\u2212", "-")))).toBeCloseTo(value, 2);
        if (i > 0)
          expect(((value - marks[i - 1].value) / (hi - lo)) * LENGTH).toBeGreaterThanOrEqual(APART * (1 - 1e-9));
      }
    }
  });

  test("are one where there is one value, and none where there is none", () => {
    expect(wordsOf(-3, -3)).toEqual(["0.001"]);
    expect(wordsOf(Number.NaN, Number.NaN)).toEqual([]);
  });
});

test("a value at a place is told on its scale", () => {
  expect(formatPlace(0.5, [0, 2], "linear")).toBe("0.5");
  expect(formatPlace(-7.5, [-8, 0], "logarithmic")).toBe("3.16e\u22128");
  expect(formatPlace(Math.log10(1000.25), [3, Math.log10(1000.5)], "logarithmic")).toBe("1000.25");
});
