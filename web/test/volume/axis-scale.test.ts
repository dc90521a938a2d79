import { describe, expect, test } from "vitest";
import { axisScales } from "../../src/volume/index";
import type { AlongAxis, GridInfo } from "../../src/wire/index";

const grid: GridInfo = { size: [11, 21, 5], spacing: [2, 0.5, 1], origin: [5, 0, -1], unit: "mm", centering: "point" };
const cells: GridInfo = { ...grid, centering: "cell" };
const levels: AlongAxis = { name: "plev", unit: "hPa", values: [1000, 900, 700, 400, 100], isVertical: true };

const scales = (of: GridInfo, z: AlongAxis | null) => axisScales({ grid: of, along: [null, null, z] });

describe("numbers along an axis", () => {
  test("are those of the grid where nothing else is told, from face to face", () => {
    const [x, y, z] = scales(grid, null);
    expect([x, y, z].map(({ name, unit, ends }) => [name, unit, ...ends])).toEqual([
      ["x", "mm", 5, 25],
      ["y", "mm", 0, 10],
      ["z", "mm", -1, 3],
    ]);
    expect([5, 10, 25].map(x.placeOf)).toEqual([0, 0.25, 1]);
    expect([0, 0.25, 1].map(x.valueAt)).toEqual([5, 10, 25]);
    expect(scales(cells, null).map(({ ends }) => ends)).toEqual([
      [4, 26],
      [-0.25, 10.25],
      [-1.5, 3.5],
    ]);
  });

  test("stand where samples have them, however uneven these are and whichever way they run", () => {
    const [, , z] = scales(grid, levels);
    expect([z.name, z.unit, ...z.ends]).toEqual(["z: plev", "hPa", 1000, 100]);
    expect([1000, 950, 900, 700, 400, 250, 100].map(z.placeOf)).toEqual([0, 0.125, 0.25, 0.5, 0.75, 0.875, 1]);
    expect([0, 0.125, 0.25, 0.5, 0.75, 0.875, 1].map(z.valueAt)).toEqual([1000, 950, 900, 700, 400, 250, 100]);
    const [, , rising] = scales(grid, { ...levels, values: [...levels.values].reverse() });
    expect([100, 250, 1000].map(rising.placeOf)).toEqual([0, 0.125, 1]);
  });

  test("are chosen among the coordinates where these are uneven", () => {
    const even = { ...levels, values: [0, 25, 50.2, 75, 100] };
    expect([levels, even].map((told) => scales(grid, told)[2].stops)).toEqual([levels.values, null]);
  });

  test("go on to the faces of cells as they do beside them", () => {
    const [, , z] = scales(cells, levels);
    expect(z.ends).toEqual([1050, -50]);
    expect([1050, 1000, 700, 100, -50].map((value) => Number(z.placeOf(value).toFixed(12)))).toEqual([
      0, 0.1, 0.5, 0.9, 1,
    ]);
  });

  test("of one sample is where it lies, in its own unit, in the middle", () => {
    const [, , z] = scales(
      { ...grid, size: [11, 21, 1] },
      { name: "height", unit: "m", values: [2], isVertical: false },
    );
    expect([z.name, z.unit, ...z.ends, z.placeOf(2)]).toEqual(["z: height", "m", 2, 2, 0.5]);
  });

  test("have the axis' own name once", () => {
    const named = (name: string) => scales(grid, { ...levels, name })[2].name;
    expect(["z", "Z", "", "depth"].map(named)).toEqual(["z", "z", "z", "z: depth"]);
  });
});
