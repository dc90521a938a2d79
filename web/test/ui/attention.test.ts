import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { Attention } from "../../src/ui/attention";

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

/** A page that is seen or not, and what is told of it. */
function watched() {
  const told: string[] = [];
  const listeners: (() => void)[] = [];
  const page = {
    visibilityState: "visible" as DocumentVisibilityState,
    addEventListener: (_: string, listener: unknown) => listeners.push(listener as () => void),
  };
  const attention: Attention = new Attention(page as unknown as Document, () =>
    told.push(attention.isAway ? "away" : "back"),
  );
  const become = (state: DocumentVisibilityState) => {
    page.visibilityState = state;
    for (const listener of listeners) listener();
  };
  return { told, become };
}

test("who is out of sight for long is away, and back at once", () => {
  const { told, become } = watched();
  become("hidden");
  vi.advanceTimersByTime(86_400_000);
  expect(told).toEqual(["away"]);
  become("visible");
  expect(told).toEqual(["away", "back"]);
});

test("who looks elsewhere for a moment is not away", () => {
  const { told, become } = watched();
  for (let times = 0; times < 10; times++) {
    become("hidden");
    vi.advanceTimersByTime(5000);
    become("visible");
    vi.advanceTimersByTime(5000);
  }
  expect(told).toEqual([]);
});
