import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { Fences } from "../../src/render/fences";
import type { Gl } from "../../src/render/gl";

let now = 0;

beforeEach(() => {
  now = 1000;
  vi.spyOn(performance, "now").mockImplementation(() => now);
});
afterEach(() => {
  vi.restoreAllMocks();
});

/** A graphics processor that ends pieces when it is told to, and a page that is seen or not. */
function fences() {
  const ended = new Set<object>();
  const begun: object[] = [];
  const gl = {
    SIGNALED: 1,
    fenceSync: () => {
      const sync = {};
      begun.push(sync);
      return sync;
    },
    flush: () => {},
    getSyncParameter: (sync: object) => (ended.has(sync) ? 1 : 0),
    isContextLost: () => false,
    deleteSync: () => {},
  };
  const listeners: (() => void)[] = [];
  const page = {
    visibilityState: "visible" as DocumentVisibilityState,
    addEventListener: (_: string, listener: unknown) => listeners.push(listener as () => void),
  };
  const become = (state: DocumentVisibilityState) => {
    page.visibilityState = state;
    for (const listener of listeners) listener();
  };
  const end = () => {
    for (const sync of begun) ended.add(sync);
  };
  return { fences: new Fences(gl as unknown as Gl, page as unknown as Document), become, end };
}

/** What a piece is said to have taken that is ended after `ms`. */
function takes(ms: number, of: ReturnType<typeof fences>): readonly number[] {
  of.fences.submit(now, 100, "bricks");
  of.end();
  now += ms;
  return of.fences.poll().map((finished) => finished.ms);
}

describe("fences", () => {
  test("tell how long a piece took, and look again several times within as long", () => {
    const seen = fences();
    expect(takes(120, seen)).toEqual([120]);
    expect(seen.fences.untilNextLook).toBe(10);
  });

  test("what was under way while the page was hidden took nobody knows how long", () => {
    const away = fences();
    away.fences.submit(now, 100, "bricks");
    away.become("hidden");
    away.end();
    now += 3000;
    away.become("visible");
    expect(away.fences.poll()).toEqual([]);
    expect(away.fences.pending).toBe(false);
    expect(takes(12, away)).toEqual([12]);
  });

  test("nor does anybody of what was submitted while it was", () => {
    const away = fences();
    away.become("hidden");
    expect(takes(1000, away)).toEqual([]);
  });

  test("nor of what seems to have taken longer than any driver would let it", () => {
    const asleep = fences();
    expect(takes(100_000, asleep)).toEqual([]);
    expect(takes(24, asleep)).toEqual([24]);
  });

  test("look again soon, however long pieces take", () => {
    const slow = fences();
    expect(takes(6000, slow)).toEqual([6000]);
    expect(slow.fences.untilNextLook).toBeLessThanOrEqual(50);
  });
});
