import { expect, test } from "vitest";
import { playsOn } from "../../src/ui/playback";

test("playing goes on unless the step that is waited for cannot be shown", () => {
  const failed = { field: 1, step: 7 };
  expect(playsOn({ failed }, 1, 7)).toBe(false);
  expect(playsOn({ failed }, 0, 7)).toBe(true);
  expect(playsOn({ failed }, 1, 8)).toBe(true);
  expect(playsOn({ failed }, 1, null)).toBe(true);
  expect(playsOn({ failed: null }, 1, 7)).toBe(true);
});
