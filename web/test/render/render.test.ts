import { describe, expect, test } from "vitest";
import { basisOf, dot, homeCamera, isSameCrop, isWithin, orbit, pan, zoom } from "../../src/render/camera";
import { Pacing } from "../../src/render/pacing";
import { bricksReplace, keyframeFits, lapseOf, newestOf, rangeHolds } from "../../src/render/selection";
import {
  axisMarks,
  formatBytes,
  formatNumber,
  marksWithEnds,
  stopMarks,
  tickMarks,
  ticks,
} from "../../src/render/ticks";

describe("camera", () => {
  test.each([
    [[1, 1, 1], 1.5],
    [[1, 1, 1], 0.46],
    [[1, 0.125, 0.008], 1.24],
    [[1, 0.125, 0.008], 0.46],
    [[0.008, 1, 0.125], 1.24],
    [[0.008, 0.125, 1], 0.46],
  ] as const)("the first view is filled by a box with edges %j in a picture of shape %d", (edges, aspect) => {
    const camera = homeCamera(aspect, edges);
    const { eye, forward, right, up } = basisOf(camera);
    const tangent = Math.tan((camera.fov * Math.PI) / 360);
    const shares = [-0.5, 0.5].flatMap((x) =>
      [-0.5, 0.5].flatMap((y) =>
        [-0.5, 0.5].map((z) => {
          const from = [x * edges[0] - eye[0], y * edges[1] - eye[1], z * edges[2] - eye[2]] as const;
          const depth = dot(from, forward) * tangent;
          return [Math.abs(dot(from, right)) / (depth * aspect), Math.abs(dot(from, up)) / depth];
        }),
      ),
    );
    const [across, upwards] = [0, 1].map((i) => Math.max(...shares.map((share) => share[i])));
    expect(across).toBeLessThan(0.751);
    expect(upwards).toBeLessThan(0.841);
    expect(Math.max(across / 0.75, upwards / 0.84)).toBeCloseTo(1, 6);
  });

  test("azimuth and elevation 0 look down from +z", () => {
    const { eye, forward, right, up } = basisOf({ ...homeCamera(1.5), azimuth: 0, elevation: 0, distance: 3 });
    expect([eye, forward, right, up].map((v) => v.map((n) => Math.round(n * 1e9) / 1e9 + 0))).toEqual([
      [0, 0, 3],
      [0, 0, -1],
      [1, 0, 0],
      [0, 1, 0],
    ]);
  });

  test("orbiting stops short of the poles and wraps around", () => {
    const camera = orbit(homeCamera(1.5), 350, 200);
    expect(camera.elevation).toBeLessThan(90);
    expect(camera.azimuth).toBe(20);
  });

  test("panning by a whole height moves the target by the height seen at its distance", () => {
    const camera = { ...homeCamera(1.5), azimuth: 0, elevation: 0, distance: 3 };
    expect(pan(camera, 0, 1).target[1]).toBeCloseTo(2 * 3 * Math.tan(Math.PI / 12));
  });

  test("zooming stays within reach", () => {
    expect(zoom(homeCamera(1), 1e9).distance).toBeLessThan(100);
    expect(zoom(homeCamera(1), 1e-9).distance).toBeGreaterThan(0);
  });
});

describe("selection", () => {
  const set = (id: number, step: number, level: number, field = 0) => ({ id, step, level, field });
  const newest = { field: 0, step: null, proxy: "auto" } as const;

  test("the finer level of a step replaces the coarser, never the reverse", () => {
    expect(bricksReplace(set(1, 5, 2), set(2, 5, 0), newest)).toBe(true);
    expect(bricksReplace(set(2, 5, 0), set(3, 5, 2), newest)).toBe(false);
  });

  test("a newer step replaces an older one, even coarser", () => {
    expect(bricksReplace(set(2, 5, 0), set(3, 6, 2), newest)).toBe(true);
  });

  test("a late set of another step does not replace the one that is wanted", () => {
    expect(bricksReplace(set(2, 5, 0), set(3, 9, 0), { ...newest, step: 5 })).toBe(false);
    expect(bricksReplace(set(2, 9, 0), set(3, 5, 2), { ...newest, step: 5 })).toBe(true);
  });

  test("another field is shown only when it is wanted", () => {
    expect(bricksReplace(set(2, 5, 0), set(3, 5, 2, 1), newest)).toBe(false);
    expect(bricksReplace(set(2, 5, 0), set(3, 5, 2, 1), { ...newest, field: 1 })).toBe(true);
  });
});

describe("pacing", () => {
  test("slow pictures get smaller, fast ones come back to full resolution", () => {
    const pacing = new Pacing();
    for (let i = 0; i < 10; i++) pacing.record(1e6, 300);
    const slow = pacing.scale(1e6, 30);
    expect(slow ** 2 * 300).toBeLessThan(40);
    for (let i = 0; i < 30; i++) pacing.record(1e6, 5);
    expect(pacing.scale(1e6, 30)).toBe(1);
  });

  test("a cost near the budget does not make the resolution flicker", () => {
    const pacing = new Pacing();
    pacing.record(1e6, 40);
    const first = pacing.scale(1e6, 30);
    const seen = new Set<number>();
    for (let i = 0; i < 20; i++) {
      pacing.record(1e6, i % 2 ? 38 : 42);
      seen.add(pacing.scale(1e6, 30));
    }
    expect([...seen]).toEqual([first]);
  });
});

describe("numbers for people", () => {
  test("ticks are round and lie inside", () => {
    expect(ticks(-1, 1, 4).map((n) => n + 0)).toEqual([-1, -0.5, 0, 0.5, 1]);
    expect(ticks(0.13, 63.5, 6)).toEqual([20, 40, 60]);
    expect(ticks(5, 5, 4)).toEqual([5]);
    expect(ticks(Number.NaN, 1, 4)).toEqual([]);
  });

  test("ticks of narrow ranges far from 0 are told apart", () => {
    const words = (lo: number, hi: number, count: number) => tickMarks(lo, hi, count).map((mark) => mark.words);
    expect(words(1e6, 1e6 + 1, 2)).toEqual(["1000000", "1000000.5", "1000001"]);
    expect(words(101325, 101325.5, 2)).toEqual(["101325", "101325.5"]);
    expect(words(100000, 100997, 4)).toEqual(["100000", "100500"]);
    expect(words(0, 1e6, 2)).toEqual(["0", "5e5", "1e6"]);
    expect(words(0, 6.1442e-6, 3)).toEqual(["0", "5e\u22126"]);
    expect(words(-1, 1, 4)).toEqual(["\u22121", "\u22120.5", "0", "0.5", "1"]);
  });

  test("along an uneven axis are some of its own, with the digits that tell them apart", () => {
    const words = (stops: readonly number[], length: number) =>
      [...stopMarks(stops, length)][0].map((mark) => mark.words);
    expect(words([1000, 925, 850, 700, 500, 300, 200, 100, 50], 130)).toEqual(["1000", "500", "50"]);
    expect(words([0.494, 2.6, 25.2, 453.9, 5199.5], 240)).toEqual(["0.494", "2.6", "25.2", "453.9", "5199.5"]);
    expect(words([5_500_000, 5_512_345, 5_600_000], 130)).toEqual(["5500000", "5512345", "5600000"]);
    expect(words([0, 1, 10], 70)).toEqual(["0", "10"]);
  });

  test("along an axis are round numbers, ever closer ones where those are too few, and both ends", () => {
    const words = (lo: number, hi: number, length: number) =>
      [...axisMarks(lo, hi, length)].map((marks) => marks.map((mark) => mark.words));
    expect(words(0, 40, 300)[0]).toEqual(["0", "10", "20", "30", "40"]);
    expect(words(1005, 1045, 70)[0]).toEqual(["1020", "1040"]);
    expect(words(205, 235, 50)).toEqual([["220"], ["205", "235"]]);
    expect(words(205, 234, 61)).toEqual([["220"], ["210", "220", "230"], ["205", "234"]]);
    expect(words(3, 3, 100)[0]).toEqual(["3"]);
    for (const length of [24, 60, 110, 119, 130, 500])
      for (const [lo, hi] of [
        [1005, 1045],
        [205, 235],
        [0.13, 63.5],
        [-7e-6, 1e-7],
      ])
        expect(new Set(words(lo, hi, length).at(-1)).size, `${lo} to ${hi}`).toBe(2);
  });

  test("the ends of a scale are told, and no number runs into another", () => {
    const marks = (lo: number, hi: number, length = 200) => marksWithEnds(lo, hi, 5, length, 14);
    expect(marks(0.13, 63.5).map((mark) => mark.words)).toEqual(["0.13", "20", "40", "63.5"]);
    expect(marks(100002, 100997).map((mark) => mark.words)).toEqual([
      "100002",
      "100200",
      "100400",
      "100600",
      "100800",
      "100997",
    ]);
    for (const [lo, hi] of [
      [0.13, 63.5],
      [-1, 1],
      [1e6, 1e6 + 1],
      [5e-9, 6.1e-6],
    ]) {
      const places = marks(lo, hi).map(({ value }) => (200 * (value - lo)) / (hi - lo));
      expect([places[0], places.at(-1)]).toEqual([0, 200]);
      expect(places.slice(1).every((place, i) => place - places[i] >= 13.99)).toBe(true);
      expect(new Set(marks(lo, hi).map((mark) => mark.words)).size).toBe(places.length);
    }
    expect(marks(5, 5).map((mark) => mark.words)).toEqual(["5"]);
    expect(marks(0, 1, 20).map((mark) => mark.value)).toEqual(ticks(0, 1, 5));
  });

  test("numbers are as short as their scale allows", () => {
    expect([formatNumber(0.5, 2), formatNumber(-1, 2), formatNumber(100000, 1e5), formatNumber(1e-17, 2)]).toEqual([
      "0.5",
      "\u22121",
      "100000",
      "0",
    ]);
    expect([formatNumber(1e6), formatNumber(100997, 100), formatNumber(0.0002)]).toEqual(["1e6", "100997", "0.0002"]);
    expect(formatBytes(2_345_678)).toBe("2.35 MB");
  });
});

test("of keyframes that serve the newest is shown, whatever its kind, or the newest of the kind that is asked for", () => {
  const [segments, values, colours] = [
    { kind: "segments", id: 4 },
    { kind: "slabs", id: 3 },
    { kind: "slabs", id: 5 },
  ] as const;
  expect(newestOf([segments, values, colours], "auto")).toBe(colours);
  expect(newestOf([segments, values], "auto")).toBe(segments);
  expect(newestOf([segments, values], "slabs")).toBe(values);
  expect(newestOf([segments, values, colours], "segments")).toBe(segments);
  expect(newestOf([values], "segments")).toBe(values);
  expect(newestOf([], "auto")).toBeNull();
});

test("keyframes give way to bricks where these are asked for and there are any", () => {
  const keyframe = { id: 3, field: 0, step: 5, level: 0, since: 0 };
  const bricks = { id: 2, field: 0, step: 5, level: 2 };
  const fits = (proxy: "auto" | "bricks" | "segments") =>
    keyframeFits(keyframe, bricks, { field: 0, step: 5, proxy }, 0);
  expect([fits("auto"), fits("segments"), fits("bricks")]).toEqual([true, true, false]);
  expect(keyframeFits(keyframe, null, { field: 0, step: 5, proxy: "bricks" }, 0)).toBe(true);
});

describe("keyframes while a simulation is followed", () => {
  const follow = { field: 0, step: null, proxy: "auto" } as const;
  const keyframe = { id: 20, field: 0, step: 490, since: 1000 };

  test("one of a later step is shown, unless it was sent before: then it is of the run before", () => {
    expect(keyframeFits(keyframe, { id: 19, field: 0, step: 489, level: 0 }, follow, 1e6)).toBe(true);
    expect(keyframeFits(keyframe, { id: 30, field: 0, step: 0, level: 0 }, follow, 1e6)).toBe(false);
  });

  test("one of an earlier step gives way to bricks in time, the others do not", () => {
    const bricks = (step: number) => ({ id: 19, field: 0, step, level: 0 });
    expect(keyframeFits(keyframe, bricks(491), follow, 1100)).toBe(true);
    const lapses = lapseOf(keyframe, bricks(491), follow) ?? Number.NaN;
    expect(lapses).toBeGreaterThan(1100);
    expect(keyframeFits(keyframe, bricks(491), follow, lapses)).toBe(false);
    for (const bricksThere of [bricks(490), bricks(489), null])
      expect(lapseOf(keyframe, bricksThere, follow)).toBeNull();
  });
});

describe("keyframes of values", () => {
  const keyframe = { step: 3, range: [-1, 2] as const };
  const bricks = { step: 3, lo: -5, hi: 2 };

  test("hold what a narrower range tells apart, not what a wider one does where there are data", () => {
    expect(rangeHolds(keyframe, bricks, { range: [-1, 9] })).toBe(true);
    expect(rangeHolds(keyframe, bricks, { range: [0, 1] })).toBe(true);
    expect(rangeHolds(keyframe, bricks, { range: [-2, 1] })).toBe(false);
    expect(rangeHolds({ ...keyframe, range: [-5, 1] }, bricks, { range: [-9, 1.5] })).toBe(false);
    // Of one value the server makes a range around it.
    expect(rangeHolds(keyframe, bricks, { range: [1, 1] })).toBe(true);
    expect(rangeHolds(keyframe, bricks, { range: [-3, -3] })).toBe(false);
  });

  test("hold a range of small width far from 0, as single precision has it", () => {
    const [lo, hi] = [101320.3, 101330.33];
    const sent = { step: 3, range: [Math.fround(lo), Math.fround(hi)] as const };
    const pressure = { step: 3, lo: 101300, hi: 101350 };
    expect(rangeHolds(sent, pressure, { range: [lo, hi] })).toBe(true);
    expect(rangeHolds(sent, pressure, { range: [lo - 0.1, hi] })).toBe(false);
    expect(rangeHolds(sent, pressure, { range: [lo, hi + 0.1] })).toBe(false);
    const below = { step: 3, range: [-sent.range[1], -sent.range[0]] as const };
    expect(rangeHolds(below, { step: 3, lo: -101350, hi: -101300 }, { range: [-hi, -lo] })).toBe(true);
  });

  test("serve where nothing is known of the data of their step, or all are outside of the range", () => {
    expect(rangeHolds(keyframe, null, { range: [-2, 1] })).toBe(true);
    expect(rangeHolds(keyframe, { ...bricks, step: 4 }, { range: [-2, 1] })).toBe(true);
    expect(rangeHolds({ ...keyframe, range: [-5, 2] }, bricks, { range: [3, 4] })).toBe(true);
  });
});

test("a part of a box lies in another one, to single precision", () => {
  const part = (from: number, to: number) => [[0, 1], [from, to], [0, 1]] as const; // biome-ignore format: one part
  const sent = part(Math.fround(0.1), Math.fround(0.7));
  expect(isSameCrop(part(0.1, 0.7), sent) && isWithin(part(0.1, 0.7), sent)).toBe(true);
  expect([part(0.2, 0.7), part(0.1, 0.6), part(0, 0.7), part(0.1, 1)].map((crop) => isWithin(crop, sent))).toEqual([
    true,
    true,
    false,
    false,
  ]);
  expect(isSameCrop(part(0.1, 0.7), part(0.1, 0.71))).toBe(false);
});
