import { expect, test } from "vitest";
import { csvName, csvOf, OverTime } from "../../src/ui/over-time";
import type { FieldInfo, PickedMessage, SeriesMessage } from "../../src/wire/index";

const fields: readonly FieldInfo[] = [
  { name: "rho", unit: "kg/m3", logarithmOf: null },
  { name: "log10(rho)", unit: "kg/m3", logarithmOf: 0 },
];
const file = { live: false, fields, timeUnit: "s" };
const place = [2, 10, 0] as const;

function found(step: number, value: number | null, change: Partial<PickedMessage> = {}): PickedMessage {
  return { kind: "picked", number: 1, field: 0, step, time: step / 2, place, value, problem: null, ...change };
}

/** What was asked, by numbers. */
function watched(isThere = true) {
  const asked: { number: number; field: number; place: readonly number[] | null }[] = [];
  const overTime = new OverTime((number, field, place) => {
    asked.push({ number, field, place });
    return isThere;
  });
  const tell = (change: Partial<SeriesMessage>) => {
    const { number } = asked[asked.length - 1];
    const whole = { field: 0, values: [], of: 3, isOver: false, problem: null };
    return overTime.receive({ kind: "series", number, ...whole, ...change });
  };
  return { asked, overTime, tell, shown: () => overTime.shown(file) };
}

test("values are asked for once somebody looks, and a curve is made of those that have come", () => {
  const { asked, overTime, tell, shown } = watched();
  overTime.follow(found(1, 5));
  expect([asked, shown()]).toEqual([[], null]);
  overTime.watch(true);
  expect(asked).toEqual([{ number: 1, field: 0, place }]);
  expect(shown()).toMatchObject({ words: "Reading\u2026 1 step: 5 kg/m3.", curve: { steps: [1], values: [5] } });
  expect(tell({ values: [{ step: 2, time: 1, value: -1.5 }] })).toBe(true);
  expect(shown()?.words).toBe("Reading: 1 of 3 steps. 2 steps: from -1.5 kg/m3 at step 2 to 5 kg/m3 at step 1.");
  const rest = [
    { step: 0, time: 0, value: null },
    { step: 1, time: 0.5, value: 5 },
  ];
  tell({ values: rest, isOver: true, problem: "f is damaged" });
  expect(shown()).toEqual({
    words: "3 steps: from -1.5 kg/m3 at step 2 to 5 kg/m3 at step 1. f is damaged",
    isWhole: true,
    curve: {
      steps: [0, 1, 2],
      times: [0, 0.5, 1],
      values: [null, 5, -1.5],
      scale: "linear",
      timeName: "time (s)",
      valueName: "rho",
      unit: "kg/m3",
      place,
    },
  });
  const curve = shown()?.curve;
  const table = "step,time (s),rho (kg/m3) at sample 2 10 0\n0,0,\n1,0.5,5\n2,1,-1.5\n";
  expect(curve && [csvOf(curve), csvName(curve)]).toEqual([table, "rho-over-time.csv"]);
  // Who looks again has it all.
  overTime.watch(false);
  overTime.watch(true);
  expect([asked.length, shown()?.curve]).toEqual([1, curve]);
});

test("the same curve is the same object, until a value comes", () => {
  const { overTime, tell, shown } = watched();
  overTime.watch(true);
  overTime.follow(found(1, 5));
  expect(shown()?.curve).toBe(shown()?.curve);
  const before = shown()?.curve;
  overTime.follow(found(1, 5));
  expect(shown()?.curve).toBe(before);
  tell({ values: [] });
  tell({ values: [{ step: 2, time: 1, value: 1 }] });
  expect(shown()?.curve).not.toBe(before);
});

test("of another place or field the others are forgotten and asked for, and answers to what was asked before are none", () => {
  const { asked, overTime, tell, shown } = watched();
  overTime.watch(true);
  expect(shown()?.words).toMatch(/^Click in the picture/);
  overTime.follow(found(1, 5));
  overTime.follow(found(2, 6));
  expect(asked.length).toBe(1);
  expect(shown()?.curve?.values).toEqual([5, 6]);
  overTime.follow(found(2, 8, { place: [3, 10, 0] }));
  expect(asked.length).toBe(2);
  expect(shown()?.curve?.values).toEqual([8]);
  expect(
    overTime.receive({ kind: "series", number: 1, field: 0, values: [], of: 1, isOver: true, problem: null }),
  ).toBe(false);
  overTime.follow(found(2, 2, { field: 1 }));
  expect(tell({ values: [] })).toBe(false);
  expect(shown()?.curve).toMatchObject({ values: [100], scale: "logarithmic", valueName: "rho" });
  overTime.follow(null);
  expect([asked.at(-1)?.place, shown()?.curve]).toEqual([null, null]);
});

test("a new session is asked for what has not come, and another source for nothing", () => {
  const { asked, overTime, tell, shown } = watched();
  overTime.watch(true);
  overTime.follow(found(1, 5));
  overTime.begin(true);
  expect(asked.length).toBe(2);
  tell({ isOver: true });
  overTime.begin(true);
  expect(asked.length).toBe(2);
  overTime.begin(false);
  expect(shown()?.curve).toBeNull();
});

test("of a simulation there are the steps that were seen, by number where they have no times", () => {
  const { overTime, tell } = watched();
  const live = { ...file, live: true, timeUnit: "" };
  overTime.watch(true);
  overTime.follow(found(7, 1, { time: null }));
  tell({ of: 0, isOver: true });
  overTime.follow(found(9, 2, { time: null }));
  expect(overTime.shown(live)).toMatchObject({
    words: "Steps as they are seen. 2 steps: from 1 kg/m3 at step 7 to 2 kg/m3 at step 9.",
    curve: { times: [7, 9], timeName: "step" },
  });
  const curve = overTime.shown(live)?.curve;
  expect(curve && csvOf(curve)).toMatch(/^step,rho .*\n7,1\n9,2\n$/);
  for (let step = 10; step < 5000; step++) overTime.follow(found(step, 1));
  expect(overTime.shown(live)?.curve?.steps).toEqual(Array.from({ length: 4096 }, (_, i) => 904 + i));
  overTime.restart();
  expect(overTime.shown(live)?.curve).toBeNull();
});

test("where nobody is there to be asked that is said", () => {
  const { overTime, shown } = watched(false);
  overTime.watch(true);
  overTime.follow(found(1, 5));
  expect(shown()?.words).toMatch(/not there to be asked/);
  overTime.watch(false);
  expect(shown()).toBeNull();
});
