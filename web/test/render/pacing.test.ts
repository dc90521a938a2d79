import { describe, expect, test } from "vitest";
import { Pacing } from "../../src/render/pacing";

describe("pacing", () => {
  test("nothing fits before anything is measured", () => {
    expect(new Pacing().fits(1, 1000)).toBe(false);
  });

  test("what takes as long as the budget fits, what takes longer does not", () => {
    const pacing = new Pacing();
    pacing.record(1000, 10);
    expect(pacing.fits(3000, 30)).toBe(true);
    expect(pacing.fits(3001, 30)).toBe(false);
  });
});
