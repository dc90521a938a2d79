import { describe, expect, test } from "vitest";
import { FreshnessState } from "../../src/ui/freshness";
import type { FreshnessMessage } from "../../src/wire/index";

const whole: FreshnessMessage = {
  kind: "freshness",
  step: 7,
  fresh: 1,
  ageMs: 20,
  ranks: 4,
  missing: 0,
  parts: [],
  refused: null,
};

function said(patch: Partial<FreshnessMessage>) {
  const state = new FreshnessState();
  state.receive({ ...whole, ...patch }, 1000);
  return state.of(7, 1500);
}

describe("freshness", () => {
  test("a whole step is not spoken of, and its age goes on", () => {
    expect(said({})).toEqual({ ageMs: 520, share: "100 % of this step", words: "", missing: "" });
  });

  test("a step with values of the last one says how many", () => {
    expect(said({ fresh: 0.97249 })?.words).toBe("97.2 % of this step, the rest from the last");
    expect(said({ fresh: 0.99999 })?.words).toBe("99.9 % of this step, the rest from the last");
  });

  test("missing ranks are named, with the step that their parts are of", () => {
    const one = said({ fresh: 0.75, missing: 1, parts: [{ rank: 2, step: 118 }] });
    expect(one).toMatchObject({ words: "", missing: "rank 2 of 4 is missing: its part is of step 118" });
    const parts = [
      { rank: 0, step: 5 },
      { rank: 1, step: 9 },
    ];
    expect(said({ missing: 2, parts })?.missing).toBe(
      "ranks 0 and 1 of 4 are missing: their parts are of steps 5 to 9",
    );
    expect(said({ missing: 4, parts })?.missing).toMatch(/^ranks 0, 1 and 2 more of 4 are missing/);
    expect(said({ missing: 1, parts: [{ rank: 3, step: null }] })?.missing).toBe(
      "rank 3 of 4 is missing: its part never came",
    );
  });

  test("a program that is not taken while none is there is spoken of", () => {
    const refused = "another grid; start the back end anew";
    expect(said({ ranks: 1, missing: 1, parts: [{ rank: 0, step: 7 }], refused })?.missing).toBe(
      "rank 0 of 1 is missing: its part is of step 7. A program that has come since is not shown: another grid; start the back end anew",
    );
  });

  test("few steps are remembered, and others are not spoken of", () => {
    const state = new FreshnessState();
    for (let step = 0; step < 100; step++) state.receive({ ...whole, step }, 0);
    expect(state.of(99, 0)).not.toBeNull();
    expect(state.of(0, 0)).toBeNull();
    expect(state.of(null, 0)).toBeNull();
  });

  test("a simulation is gone where none of its ranks is there, and back when they are", () => {
    const state = new FreshnessState();
    const tell = (patch: Partial<FreshnessMessage>) => state.receive({ ...whole, ...patch }, 0);
    expect(state.absence(9)).toBeNull();
    tell({ missing: 1 });
    expect(state.absence(9)).toEqual({ isWhole: false, words: "1 of 4 ranks missing" });
    tell({ missing: 4 });
    expect(state.absence(9)).toEqual({ isWhole: true, words: "gone, last step 9" });
    tell({ step: 10 });
    expect(state.absence(10)).toBeNull();
    // The step that is looked at is an older one, of which a part never came.
    tell({ step: 7, missing: 1 });
    expect(state.absence(10)).toBeNull();
    tell({ step: 7, missing: 4 });
    expect(state.absence(10)?.isWhole).toBe(true);
    state.clear();
    expect(state.absence(10)).toBeNull();
  });
});
