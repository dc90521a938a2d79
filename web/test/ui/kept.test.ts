import { expect, test } from "vitest";
import { keptWords } from "../../src/ui/kept";

const KEPT = { first: 5, last: 9 };

test("a step that the server does not keep any more is told, and that it stays where it is shown", () => {
  expect(keptWords(4, 4, KEPT)).toMatch(/does not keep step 4 any more: it stays here until you play/);
  expect(keptWords(4, 8, KEPT)).toBe("The server does not keep step 4 any more.");
  // Of a run before.
  expect(keptWords(40, 40, KEPT)).toContain("step 40");
});

test("nothing is told of a step that is kept, of the newest, and before anything is shown", () => {
  for (const [step, shown] of [
    [5, 5],
    [9, 6],
    [null, 4],
    [4, null],
  ] as const)
    expect(keptWords(step, shown, KEPT)).toBe("");
});
