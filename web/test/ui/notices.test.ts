import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { type Notice, Notices } from "../../src/ui/notices";

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

const warning: Notice = { severity: "warning", text: "Step 3 is gone." };
const error: Notice = { severity: "error", text: "Step 4 cannot be read." };

test("a warning goes after some seconds, an error stays until it is dismissed", () => {
  const told: (string | null)[] = [];
  const notices = new Notices((notice) => told.push(notice?.text ?? null));
  notices.tell(warning);
  vi.advanceTimersByTime(7000);
  expect(told).toEqual([warning.text]);
  vi.advanceTimersByTime(2000);
  expect(told).toEqual([warning.text, null]);
  notices.tell(error);
  vi.advanceTimersByTime(60_000);
  notices.dismiss();
  notices.dismiss();
  expect(told).toEqual([warning.text, null, error.text, null]);
});

test("a notice that takes the place of a warning is not taken away with it", () => {
  const told: (string | null)[] = [];
  const notices = new Notices((notice) => told.push(notice?.text ?? null));
  notices.tell(warning);
  vi.advanceTimersByTime(5000);
  notices.tell(error);
  vi.advanceTimersByTime(5000);
  expect(told).toEqual([warning.text, error.text]);
});
