import { expect, test } from "vitest";
import { Agenda } from "../../src/render/agenda";

const nothing = { isFading: false, isCoarse: false };
const coarse = { isFading: false, isCoarse: true };
const LATER = 1e6;

function drawn(): Agenda {
  const agenda = new Agenda();
  expect(agenda.next(nothing, 0)).toBe("whole");
  agenda.beginsWhole();
  agenda.presents();
  return agenda;
}

test("what changed is drawn before all else", () => {
  const agenda = drawn();
  agenda.coverChanged();
  agenda.viewChanged(0);
  expect(agenda.next({ isFading: true, isCoarse: true }, LATER)).toBe("whole");
});

test("a fade goes on while the picture is coarse, and refining after it", () => {
  const agenda = drawn();
  expect(agenda.next({ isFading: true, isCoarse: true }, LATER)).toBe("present");
  expect(agenda.next(coarse, LATER)).toBe("refine");
});

test("what is laid over a coarse picture does not wait for its refinement", () => {
  const agenda = drawn();
  agenda.coverChanged();
  expect(agenda.next(coarse, LATER)).toBe("present");
  agenda.presents();
  expect(agenda.next(coarse, LATER)).toBe("refine");
});

test("a coarse picture is refined at rest, later after new data than after a turn, and then all is done", () => {
  const agenda = drawn();
  agenda.viewChanged(1000);
  agenda.beginsWhole();
  const budget = agenda.budgetMs;
  expect([agenda.next(coarse, 1000), agenda.isDone(coarse), agenda.next(coarse, 1200)]).toEqual([
    "wait",
    false,
    "refine",
  ]);
  agenda.dataChanged(1000);
  agenda.beginsWhole();
  expect([agenda.next(coarse, 1200), agenda.next(coarse, 1500)]).toEqual(["wait", "refine"]);
  expect(agenda.budgetMs).toBeGreaterThan(budget);
  expect([agenda.next(nothing, 1500), agenda.isDone(nothing)]).toEqual(["wait", true]);
});
