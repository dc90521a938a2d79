import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { Address } from "../../src/ui/address";

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

/** An address bar, what the page shows, and what was written. */
function bar() {
  const here = { hash: "#step=1", shown: "#step=2", refuses: false, written: [] as string[] };
  const replaceState = (_: unknown, __: string, hash?: string | URL | null) => {
    if (here.refuses) throw new Error("too often");
    here.hash = String(hash);
    here.written.push(here.hash);
  };
  return { here, address: new Address(() => here.shown, here, { state: null, replaceState }) };
}

test("an address is written at once after an edit, and not again where it is the same", () => {
  const { here, address } = bar();
  for (let i = 0; i < 30; i++) address.note();
  expect(here.written).toEqual(["#step=2"]);
  here.shown = "#step=3";
  address.note();
  expect(here.written).toEqual(["#step=2", "#step=3"]);
});

test("of many edits in a row a few are written a second, the last of them in the end, or where the page goes", () => {
  const { here, address } = bar();
  const edit = (step: number) => {
    here.shown = `#step=${step}`;
    address.note();
    vi.advanceTimersByTime(10);
  };
  for (let step = 0; step < 3000; step++) edit(step);
  expect(here.written.length).toBeGreaterThan(60);
  expect(here.written.length).toBeLessThan(95);
  vi.advanceTimersByTime(1000);
  expect(here.hash).toBe("#step=2999");
  for (let step = 0; step < 20; step++) edit(step);
  here.shown = "#step=20";
  address.note();
  expect(here.hash).not.toBe("#step=20");
  address.flush();
  expect(here.hash).toBe("#step=20");
});

test("a link that was pasted over it is left alone", () => {
  const { here, address } = bar();
  here.hash = "#view=1,2,3,4";
  address.note();
  vi.advanceTimersByTime(1000);
  expect(here.written).toEqual([]);
});

test("a browser that takes no more addresses gets the last one later", () => {
  const { here, address } = bar();
  here.refuses = true;
  address.note();
  vi.advanceTimersByTime(1000);
  here.refuses = false;
  here.shown = "#step=4";
  vi.advanceTimersByTime(6000);
  expect(here.written).toEqual(["#step=4"]);
});
