import { expect, test } from "vitest";
import { playsOn, stridesOver } from "../../src/ui/playback";

test("playing goes on unless the step that is waited for cannot be shown", () => {
  const failed = { field: 1, step: 7 };
  expect(playsOn({ failed }, 1, 7)).toBe(false);
  expect(playsOn({ failed }, 0, 7)).toBe(true);
  expect(playsOn({ failed }, 1, 8)).toBe(true);
  expect(playsOn({ failed }, 1, null)).toBe(true);
  expect(playsOn({ failed: null }, 1, 7)).toBe(true);
});

test("a series of many steps can be played several steps at a time, and one of few cannot", () => {
  expect(stridesOver({ first: 0, last: 19 })).toEqual([1]);
  expect(stridesOver({ first: 0, last: 20 })).toEqual([1, 2]);
  expect(stridesOver({ first: 100, last: 3099 })).toEqual([1, 2, 5, 10, 20, 50, 100, 200]);
  expect(stridesOver({ first: 0, last: 999 })).toEqual([1, 2, 5, 10, 20, 50, 100]);
});
