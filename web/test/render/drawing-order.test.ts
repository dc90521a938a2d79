import { expect, test } from "vitest";
import { DrawingOrder } from "../../src/render/drawing-order";

const nothing = { isFading: false, isCoarse: false };
const coarse = { isFading: false, isCoarse: true };
const LATER = 1e6;

function drawn(): DrawingOrder {
  const order = new DrawingOrder();
  expect(order.next(nothing, 0)).toBe("whole");
  order.beginsWhole();
  order.presents();
  return order;
}

test("what changed is drawn before all else", () => {
  const order = drawn();
  order.coverChanged();
  order.viewChanged(0);
  expect(order.next({ isFading: true, isCoarse: true }, LATER)).toBe("whole");
});

test("a fade goes on while the picture is coarse, and refining after it", () => {
  const order = drawn();
  expect(order.next({ isFading: true, isCoarse: true }, LATER)).toBe("present");
  expect(order.next(coarse, LATER)).toBe("refine");
});

test("what is laid over a coarse picture does not wait for its refinement", () => {
  const order = drawn();
  order.coverChanged();
  expect(order.next(coarse, LATER)).toBe("present");
  order.presents();
  expect(order.next(coarse, LATER)).toBe("refine");
});

test("a coarse picture is refined at rest, later after new data than after a turn, and then all is done", () => {
  const order = drawn();
  order.viewChanged(1000);
  order.beginsWhole();
  const budget = order.budgetMs;
  expect([order.next(coarse, 1000), order.isDone(coarse), order.next(coarse, 1200)]).toEqual(["wait", false, "refine"]);
  order.dataChanged(1000);
  order.beginsWhole();
  expect([order.next(coarse, 1200), order.next(coarse, 1500)]).toEqual(["wait", "refine"]);
  expect(order.budgetMs).toBeGreaterThan(budget);
  expect([order.next(nothing, 1500), order.isDone(nothing)]).toEqual(["wait", true]);
});

test("a coarse picture is not refined while more is coming, but for two seconds at most", () => {
  const order = drawn();
  order.dataChanged(1000);
  order.beginsWhole();
  order.dataCame(1400);
  expect([order.next(coarse, 1500), order.next(coarse, 1850)]).toEqual(["wait", "refine"]);
  for (let now = 1400; now < 4000; now += 100) order.dataCame(now);
  expect([order.next(coarse, 2900), order.next(coarse, 3000)]).toEqual(["wait", "refine"]);
});
