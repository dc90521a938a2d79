import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { type Notice, Notices } from "../../src/ui/notices";

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

const warning: Notice = { severity: "warning", text: "Step 3 is gone." };
const nobody = () => false;
const error: Notice = { severity: "error", text: "Step 4 cannot be read." };

test("a warning goes after some seconds, an error stays until it is dismissed", () => {
  const told: (string | null)[] = [];
  const notices = new Notices((notice) => told.push(notice?.text ?? null), nobody);
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
  const notices = new Notices((notice) => told.push(notice?.text ?? null), nobody);
  notices.tell(warning);
  vi.advanceTimersByTime(5000);
  notices.tell(error);
  vi.advanceTimersByTime(5000);
  expect(told).toEqual([warning.text, error.text]);
});

test("a long notice stays for longer, and one that is pointed at or has the focus until it is left", () => {
  const told: (string | null)[] = [];
  let isHeld = false;
  const notices = new Notices(
    (notice) => told.push(notice?.severity ?? null),
    () => isHeld,
  );
  notices.tell({ severity: "warning", text: `${"word ".repeat(39)}end` });
  vi.advanceTimersByTime(15_500);
  expect(told).toEqual(["warning"]);
  isHeld = true;
  vi.advanceTimersByTime(60_000);
  expect(told).toEqual(["warning"]);
  isHeld = false;
  vi.advanceTimersByTime(2000);
  expect(told).toEqual(["warning", null]);
});

test("what a link says in vain stays until it is dismissed, whatever is done meanwhile", () => {
  const told: (string | null)[] = [];
  const notices = new Notices((notice) => told.push(notice?.text ?? null), nobody);
  notices.tell({ ...warning, stays: true });
  notices.pass();
  vi.advanceTimersByTime(60_000);
  expect(told).toEqual([warning.text]);
  notices.dismiss();
  notices.tell(error);
  notices.pass();
  expect(told).toEqual([warning.text, null, error.text, null]);
});
