import { expect, test } from "vitest";
import { Announcements } from "../../src/ui/announcements";
import { ageWords, Lag } from "../../src/ui/lag";

test("a step is as old as the first word of it or of a later one", () => {
  const announcements = new Announcements();
  announcements.tell(10, 1000);
  announcements.tell(10, 1500);
  announcements.tell(13, 2000);
  expect([9, 10, 11, 13, 14].map((step) => announcements.ageMs(step, 5000))).toEqual([null, 4000, 3000, 3000, null]);
  announcements.clear();
  expect(announcements.ageMs(13, 5000)).toBeNull();
});

test("the latest minutes are remembered, however many steps they have", () => {
  const announcements = new Announcements();
  for (let step = 0; step < 20_000; step++) announcements.tell(step, 20 * step);
  const now = 20 * 20_000;
  expect(announcements.ageMs(0, now)).toBeNull();
  for (const step of [10_000, 15_001, 19_990, 19_998, 19_999]) {
    const due = now - 20 * step;
    const told = announcements.ageMs(step, now) ?? Number.NaN;
    expect(told, String(step)).toBeLessThanOrEqual(due);
    expect(due - told, String(step)).toBeLessThanOrEqual(300);
  }
});

test("an age that is not known is told in steps", () => {
  expect(ageWords({ ageMs: 12_340, steps: 40 })).toBe("12.3 s");
  expect(ageWords({ ageMs: null, steps: 40 })).toBe("40 steps behind");
  expect(ageWords({ ageMs: null, steps: 1 })).toBe("1 step behind");
});

test("a picture that stays behind is said to be, in words that stay as well", () => {
  const lag = new Lag();
  const words = (ageS: number, nowS: number, steps = 20) => lag.words({ ageMs: 1000 * ageS, steps }, 1000 * nowS);
  expect([words(1.9, 0), words(12, 1), words(12, 1.5)]).toEqual(["", "", ""]);
  expect(words(12, 2)).toBe("About 10 s behind the simulation");
  // Each step is older when it goes than when it came.
  expect([words(19, 9), words(9, 9.5), words(18, 18)]).toEqual(Array(3).fill("About 10 s behind the simulation"));
  expect(words(75, 80)).toBe("About 1 min behind the simulation");
  expect(words(4, 81)).toBe("About 2 s behind the simulation");
  expect(words(0.2, 82)).toBe("");
  // The newest there is, or the one before: a simulation that takes its time.
  expect([words(30, 90, 1), words(30, 95, 1)]).toEqual(["", ""]);
  words(30, 100);
  expect(lag.words(null, 110_000)).toBe("");
});
