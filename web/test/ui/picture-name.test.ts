import { expect, test } from "vitest";
import { pictureName } from "../../src/ui/picture-name";

const fields = ["p", "q"].map((name) => ({ name, unit: "Pa", logarithmOf: null }));
const source = { name: "run", fields };

test("a picture without labels has another name than one with them", () => {
  expect(pictureName(source, { field: 0, step: 7 }, true)).toBe("run-p-7.png");
  expect(pictureName(source, { field: 0, step: 7 }, false)).toBe("run-p-7-plain.png");
});

test("a picture has the name of the field and step that it shows", () => {
  expect(pictureName(source, { field: 1, step: 3 }, true)).toBe("run-q-3.png");
  expect(pictureName(null, { field: null, step: null }, true)).toBe("visapult-field-0.png");
});
