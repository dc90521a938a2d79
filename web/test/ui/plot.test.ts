import { expect, test } from "vitest";
import { timeAxis } from "../../src/ui/plot";

test("steps have whole numbers along their axis, and times what fits them", () => {
  const { incrs } = timeAxis(true);
  expect(incrs).toContain(1);
  expect(Array.isArray(incrs) && incrs.every(Number.isInteger)).toBe(true);
  expect(timeAxis(false).incrs).toBeUndefined();
});

test("the title of the axis of time is not over its numbers", () => {
  const { ticks, gap, size } = timeAxis(true);
  // A number is 10 pixels high.
  expect((ticks?.size ?? 10) + (gap ?? 5) + 10).toBeLessThanOrEqual(Number(size));
});
