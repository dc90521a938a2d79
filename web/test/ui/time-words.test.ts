import { expect, test } from "vitest";
import { shownWords, sliderWords, timeWords } from "../../src/ui/time-words";

const words = (time: number, before: number | null = null) =>
  timeWords({ step: 5, time }, before === null ? null : { step: 4, time: before });

test("a time has the digits that it has", () => {
  expect([0, 2.006, 2.01, -0.5, 1e-3].map((time) => words(time))).toEqual(["0", "2.006", "2.01", "\u22120.5", "0.001"]);
  expect([1764000007, 1764000256, 101325].map((time) => words(time))).toEqual(["1764000007", "1764000256", "101325"]);
  expect([3e-7, 1.25e20].map((time) => words(time))).toEqual(["3e\u22127", "1.25e20"]);
});

test("a time that takes many digits is told with nine of them", () => {
  expect(words(1 / 3)).toBe("0.333333333");
  expect(words(0.1 + 0.2)).toBe("0.3");
});

test("a time in single precision has the digits that give it back there", () => {
  expect([0.1, 2.006, 1234.567].map((time) => words(Math.fround(time)))).toEqual(["0.1", "2.006", "1234.567"]);
});

test("a time is told apart from that of the step before, and so are those between steps that are further apart", () => {
  expect(words(1764000000.5, 1764000000.4)).toBe("1764000000.5");
  expect(words(1000 + 1 / 3, 1000 + 1 / 3 - 1e-7)).toBe("1000.333333333");
  expect(words(0.849645958, 0.841316)).toBe("0.84965");
  expect(words(1764086400, 1764000000)).toBe("1764086400");
  const near = [0, 1, 2].map((i) => ({ step: 100 * i, time: 1764000000 + i / 3 }));
  expect(timeWords(near[1], near[0])).not.toBe(timeWords({ step: 101, time: near[1].time + 1 / 300 }, near[1]));
});

const state = {
  steps: { first: 0, last: 9 },
  step: 5,
  playing: false,
  stride: 1,
  plot: false,
  live: false,
  gone: false,
  shownStep: 3,
  shownTime: 2.006,
  timeUnit: "s",
  calendar: "",
};

test("the step that is shown is told with its time", () => {
  expect(shownWords(state, null)).toBe("step 3 / 9 \u00b7 t = 2.006 s");
  expect(shownWords({ ...state, live: true, timeUnit: "" }, null)).toBe("step 3 \u00b7 t = 2.006");
  expect(shownWords({ ...state, shownTime: Number.NaN }, null)).toBe("step 3 / 9");
  expect(shownWords({ ...state, shownStep: null }, null)).toBe("no step yet");
});

test("the slider tells its own step, and which one is shown where that is another", () => {
  expect(sliderWords(3, 3, "step 3 / 9")).toBe("step 3 / 9");
  expect(sliderWords(5, 3, "step 3 / 9")).toBe("step 5, step 3 is shown");
  expect(sliderWords(5, null, "no step yet")).toBe("step 5, no step is shown");
});
