import { expect, test } from "vitest";
import { coordinateWords, unitSign } from "../../src/render/coordinate-words";
import { axisScales } from "../../src/volume/index";
import type { AlongAxis, GridInfo } from "../../src/wire/index";

const grid: GridInfo = { size: [361, 5, 1], spacing: [1, 1, 1], origin: [-180, 0, 0], unit: "m", centering: "point" };
const depth: AlongAxis = { name: "depth", unit: "m", values: [0, 5, 10, 1000, 4000], isVertical: true };
const [x, y] = axisScales({ grid, along: [null, depth, null] });

test("coordinates are told to a tenth of the distance of samples there, as programs read them", () => {
  expect(coordinateWords(x, 93.501 / 360, 361)).toBe("-86.5");
  expect(coordinateWords(x, 0.5, 361)).toBe("0");
  expect(coordinateWords(y, 0.1, 5)).toBe("2");
  expect(coordinateWords(y, 0.25, 5)).toBe("5");
  expect(coordinateWords(y, 1, 5)).toBe("4000");
});

test("units of long names have signs", () => {
  expect(["degrees_east", "degree_N", "degrees", "km"].map(unitSign)).toEqual(["\u00b0E", "\u00b0N", "\u00b0", "km"]);
});
