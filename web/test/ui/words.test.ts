import { expect, test, vi } from "vitest";
import { fieldWords } from "../../src/ui/field-words";
import { otherSourceWords } from "../../src/ui/link-words";
import { statusWords } from "../../src/ui/status-words";
import type { ViewerState } from "../../src/ui/viewer";
import type { FieldMessage } from "../../src/wire/index";

vi.mock("../../src/render/index", () => ({ formatNumber: String }));

const info = { range: [0, 1], extent: [0, 1], finite: 9, missing: 0 } as unknown as FieldMessage;

test("values that are not drawn are counted by one, and what is infinite is not called missing", () => {
  const words = (missing: number, scale: "linear" | "logarithmic" = "linear") =>
    fieldWords({ ...info, missing }, { first: 0, last: 0 }, scale);
  expect(words(0)).toBe("");
  expect(words(1)).toBe("1 value is missing or not finite, and drawn transparent.");
  expect(words(1200)).toBe("1,200 values are missing or not finite, and drawn transparent.");
  expect(words(1, "logarithmic")).toBe("1 value is not above 0, or missing, and drawn transparent.");
});

test("a first picture that takes its time is said to be waited for", () => {
  const open = { connection: { kind: "open" }, notice: null, source: null, field: 0, fieldInfo: null };
  const words = (patch: object, shown: number | null = null) =>
    statusWords({ ...open, ...patch } as unknown as ViewerState, shown);
  expect(words({ isAwaited: false })).toBe("");
  expect(words({ isAwaited: true })).toBe("Waiting for the first picture\u2026");
  expect(words({ isAwaited: true, fieldInfo: info })).toBe("Waiting for the first picture\u2026");
  expect(words({ isAwaited: true, source: { live: true } })).toBe("Waiting for the first step\u2026");
  expect(words({ isAwaited: true, fieldInfo: info }, 0)).toBe("");
  // There will be none.
  expect(words({ isAwaited: true, fieldInfo: { ...info, finite: 0 } })).toBe("");
});

test("another source in the place of the one before is named", () => {
  expect(otherSourceWords({ name: "b.npy" })).toMatch(/^Another source is shown now: .*b\.npy.*\.$/);
});
