import { expect, test, vi } from "vitest";
import { Picking } from "../../src/ui/picking";
import { axisScales } from "../../src/volume/index";
import type { FieldInfo, GridInfo, PickedMessage, Spot } from "../../src/wire/index";

const grid: GridInfo = { size: [11, 11, 1], spacing: [0.5, 2, 1], origin: [1, 0, 0], unit: "km", centering: "point" };
const fields: readonly FieldInfo[] = [
  { name: "rho", unit: "kg/m3", logarithmOf: null },
  { name: "log10(rho)", unit: "kg/m3", logarithmOf: 0 },
];
const scales = axisScales({ grid, along: [null, null, null] });
const middle: Spot = { place: [5, 5, 0] };

/** Questions that were sent. */
function asking(isThere = true) {
  const asked: { number: number; spot: Spot }[] = [];
  const picking = new Picking((number, spot) => {
    asked.push({ number, spot });
    return isThere;
  });
  const answer = (change: Partial<PickedMessage> = {}) => {
    const number = asked[asked.length - 1].number;
    const found = { field: 0, step: 3, time: null, place: [2, 10, 0] as const, value: 1.25, problem: null };
    return picking.receive({ kind: "picked", number, ...found, ...change });
  };
  return { asked, answer, picking, shown: () => picking.shown({ grid, fields }, scales) };
}

test("a value is told with its unit and where it is", () => {
  const { answer, picking, shown } = asking();
  picking.follow(0, 3);
  expect(shown()).toBeNull();
  picking.point(middle);
  expect(shown()).toEqual({ words: "Waiting for the value\u2026", mark: null });
  expect(answer()).toBe(true);
  expect(shown()).toEqual({
    words: "1.25 kg/m3 at x 2 km, y 20 km",
    mark: { place: [2, 10, 0], words: "1.25 kg/m3" },
  });
  expect(answer({ number: 99 })).toBe(false);
  expect(picking.clear()).toBe(true);
  expect(shown()).toBeNull();
  expect(picking.clear()).toBe(false);
});

test("single precision is told with the digits that it has, and a logarithm by its value", () => {
  const { answer, picking, shown } = asking();
  picking.follow(0, 3);
  picking.point(middle);
  answer({ value: Math.fround(0.1) });
  expect(shown()?.mark?.words).toBe("0.1 kg/m3");
  answer({ value: -1.398585e-5 });
  expect(shown()?.mark?.words).toBe("-1.398585e-5 kg/m3");
  picking.follow(1, 3);
  answer({ field: 1, value: 3 });
  expect(shown()?.mark?.words).toBe("1000 kg/m3");
});

test("why there is no value is told", () => {
  const { answer, picking, shown } = asking();
  picking.follow(0, 3);
  picking.point(middle);
  answer({ place: null, value: null });
  expect(shown()).toEqual({ words: "Nothing shows there.", mark: null });
  picking.point(middle);
  answer({ place: null, value: null, problem: "not here" });
  expect(shown()?.words).toBe("not here");
  picking.point(middle);
  answer({ value: null });
  expect(shown()?.mark?.words).toBe("missing");
  const alone = asking(false);
  alone.picking.point(middle);
  expect(alone.shown()?.words).toMatch(/not there to be asked/);
});

test("what cannot be told at one step may be at another, and the place stays", () => {
  vi.useFakeTimers();
  const { asked, answer, picking, shown } = asking();
  picking.follow(0, 3);
  picking.point(middle);
  answer();
  picking.follow(0, 4);
  expect(answer({ step: 4, place: null, value: null, problem: "process 1 is gone" })).toBe(false);
  expect(shown()?.words).toMatch(/^1.25 kg\/m3, of step 3 at x/);
  vi.advanceTimersByTime(1000);
  expect(asked.length).toBe(3);
  answer({ step: 4, value: 7 });
  expect(shown()?.mark?.words).toBe("7 kg/m3");
  vi.useRealTimers();
});

test("of another step or field the value at the same place is asked for, one question at a time", () => {
  const { asked, answer, picking, shown } = asking();
  picking.follow(0, 1);
  expect(asked).toEqual([]);
  picking.point(middle);
  picking.follow(0, 2);
  expect(asked.length).toBe(1);
  answer({ step: 2 });
  expect(picking.follow(0, 2)).toBe(false);
  expect(picking.follow(0, 3)).toBe(true);
  picking.follow(0, 4);
  expect(shown()?.mark?.words).toBe("1.25 kg/m3, of step 2");
  expect(asked.slice(1).map(({ spot }) => spot)).toEqual([{ place: [2, 10, 0] }]);
  answer({ step: 4, value: 7 });
  expect(shown()?.mark?.words).toBe("7 kg/m3");
  picking.clear();
  picking.follow(0, 9);
  expect(asked.length).toBe(2);
});

test("of a server that is at another step the value is asked for again, until it is of the step that is shown", () => {
  vi.useFakeTimers();
  const { asked, answer, picking, shown } = asking();
  picking.follow(0, 5);
  picking.point(middle);
  for (const ahead of [8, 7]) {
    answer({ step: ahead });
    expect(shown()?.words).toMatch(new RegExp(`, of step ${ahead} at x`));
    const before = asked.length;
    vi.advanceTimersByTime(1000);
    expect(asked.length).toBe(before + 1);
  }
  answer({ step: 5 });
  vi.advanceTimersByTime(1000);
  expect(asked.length).toBe(3);
  expect(shown()?.words).toMatch(/^1.25 kg\/m3 at x/);
  answer({ step: 6 });
  picking.clear();
  vi.advanceTimersByTime(1000);
  expect(asked.length).toBe(3);
  vi.useRealTimers();
});

test("a new session is asked anew, and of another source nothing is kept", () => {
  const { asked, picking, answer, shown } = asking();
  picking.follow(0, 3);
  picking.point(middle);
  answer();
  picking.follow(0, 4);
  picking.begin(true);
  picking.follow(0, 5);
  expect(asked.length).toBe(3);
  picking.begin(false);
  expect(shown()).toBeNull();
});
