import { expect, test } from "vitest";
import { pictureName } from "../../src/ui/picture-name";

test("a picture without labels has another name than one with them", () => {
  const source = { name: "run", fields: [{ name: "p", unit: "Pa", logarithmOf: null }] };
  expect(pictureName(source, 0, 7, true)).toBe("run-p-7.png");
  expect(pictureName(source, 0, 7, false)).toBe("run-p-7-plain.png");
  expect(pictureName(null, 0, 0, true)).toBe("visapult-field-0.png");
});
