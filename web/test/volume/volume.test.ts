import { describe, expect, test } from "vitest";
import {
  type BoxOfBricks,
  BrickJoiner,
  type Colours,
  ColourTable,
  emptyDistances,
  geometryOf,
  INTEGRAL_BINS,
  INTEGRAL_PARTS,
  Integrals,
  LevelRanges,
  LOST,
  NO_DATA,
  TABLE_ENTRIES,
  type TransferFunction,
  tableIndexing,
  textureFromWorld,
  transferFromMessage,
  transferToMessage,
  UNSTRETCHED,
} from "../../src/volume/index";
import { CELL_EDGE } from "../../src/volume/ranges";
import { unpackCodes } from "../../src/volume/unpack";
import {
  type BricksMessage,
  halfFromNumber,
  numberFromHalf,
  type PackedBrick,
  type TransferPoint,
} from "../../src/wire/index";
import { rawFrame } from "../wire/build";

const grid = { size: [11, 21, 5], spacing: [2, 0.5, 1], origin: [5, 0, -1], unit: "mm", centering: "point" } as const;

describe("geometry", () => {
  test("the longest edge is one and point samples reach the faces", () => {
    const geometry = geometryOf(grid, UNSTRETCHED);
    expect(geometry.edges).toEqual([1, 0.5, 0.2]);
    expect(-0.5 * geometry.samplesPerWorld[0] + geometry.sampleOffset[0]).toBeCloseTo(0);
    expect(0.5 * geometry.samplesPerWorld[0] + geometry.sampleOffset[0]).toBeCloseTo(10);
    expect(geometry.spacing).toBeCloseTo(0.025);
  });

  test("rays take as many steps as the server's through sheets, and through rows of many samples", () => {
    const sheet = { ...grid, size: [60, 60, 50], spacing: [90_000, 90_000, 0.02] } as const;
    expect(geometryOf(sheet, UNSTRETCHED).spacing).toBe(2 ** -18);
    const row = { ...grid, size: [2 ** 20, 2, 2], spacing: [1, 1, 1] } as const;
    expect(geometryOf(row, UNSTRETCHED).spacing).toBe(1 / (2 ** 20 - 1));
  });

  test("a stretched axis is one of a larger spacing", () => {
    const long = { ...grid, spacing: [2, 0.5, 10] } as const;
    expect(geometryOf(grid, [1, 1, 10])).toEqual({ ...geometryOf(long, UNSTRETCHED), grid });
  });

  test("sample i of level L sits at (i + 1/2) 2^L - 1/2", () => {
    const geometry = geometryOf(grid, UNSTRETCHED);
    const { scale, offset } = textureFromWorld(geometry, 1, [6, 11, 3]);
    const world = (1.5 * 2 - 0.5 - geometry.sampleOffset[0]) / geometry.samplesPerWorld[0];
    expect((world * scale[0] + offset[0]) * 6).toBeCloseTo(1.5);
  });

  test("cells lie half a cell inside the box", () => {
    const geometry = geometryOf({ ...grid, centering: "cell" }, UNSTRETCHED);
    expect(-0.5 * geometry.samplesPerWorld[0] + geometry.sampleOffset[0]).toBeCloseTo(-0.5);
  });
});

describe("half floats", () => {
  test.each([0, 1, 0.5, 0.333251953125, 2 ** -14, 2 ** -24, -60000, 65504])("%f survives", (value) => {
    expect(numberFromHalf(halfFromNumber(value))).toBe(value);
  });

  test("rounding is to nearest", () => {
    for (let i = 0; i <= 1000; i++) {
      const error = Math.abs(numberFromHalf(halfFromNumber(i / 1000)) - i / 1000);
      expect(error).toBeLessThanOrEqual(2 ** -12);
    }
  });
});

describe("bricks", () => {
  const brick = {
    lo: [0, 0, 0],
    size: [4, 1, 1],
    part: 0,
    valueLo: 1,
    valueHi: 2,
    predictor: 0,
    frame: new Uint8Array(0),
  } as const;
  const message = (bricks: readonly PackedBrick[], completes = true): BricksMessage => ({
    kind: "bricks",
    header: { completes, field: 0, set: 1, step: 0, time: 0, view: 0 },
    level: 0,
    bits: 8,
    size: [4, 2, 2],
    lo: 0,
    hi: 4,
    bricks,
  });
  /** Of samples of 16 bits, whose codes differ as these do. */
  const wideFrame = (codes: readonly number[]) => {
    const differences = codes.map((code, i) => ((code - (codes[i - 1] ?? 0)) << 16) >> 16);
    const symbols = differences.map((d) => (d < 0 ? -2 * d - 1 : 2 * d));
    return rawFrame([0, ...symbols.map((symbol) => symbol & 255), ...symbols.map((symbol) => symbol >> 8)]);
  };
  const values = (box: BoxOfBricks) => [...box.samples].map(numberFromHalf);

  test("codes become values normalised over the set's range, code 0 no data", () => {
    const [box] = new BrickJoiner(false).join(message([{ ...brick, frame: rawFrame([0, 2, 3, 2, 0]) }])).boxes;
    expect(values(box)).toEqual([0.25, 0.5, NO_DATA, NO_DATA]);
    const level = new LevelRanges(box.size);
    level.merge(box.ranges);
    expect([...level.min, ...level.max]).toEqual([0.25, 0.5]);
  });

  test("a box of bricks without bytes is constant", () => {
    const [box] = new BrickJoiner(false).join(message([brick])).boxes;
    expect([values(box), box.lost]).toEqual([[0.25, 0.25, 0.25, 0.25], []]);
    const [empty] = new BrickJoiner(false).join(
      message([{ ...brick, valueLo: Number.NaN, valueHi: Number.NaN }]),
    ).boxes;
    expect(values(empty)).toEqual([NO_DATA, NO_DATA, NO_DATA, NO_DATA]);
  });

  test("codes of 16 bits become 32-bit floats, which tell all of them apart, where the page draws from these", () => {
    const wide = {
      ...message([{ ...brick, valueLo: 0, valueHi: 4, frame: wideFrame([60_000, 60_001, 65_535, 0]) }]),
      bits: 16,
    };
    const { asSingles, boxes } = new BrickJoiner(true).join(wide);
    const share = (code: number) => Math.fround(Math.fround(code - 1) * Math.fround(1 / 65534));
    expect([asSingles, ...boxes[0].samples]).toEqual([true, share(60_000), share(60_001), 1, NO_DATA]);
    const halves = new BrickJoiner(false).join(wide);
    expect([halves.asSingles, halves.boxes[0].samples[0]]).toEqual([false, halves.boxes[0].samples[1]]);
    for (const other of [message([brick]), { ...wide, size: [512, 512, 512] as const }])
      expect(new BrickJoiner(true).join(other).boxes[0].samples).toBeInstanceOf(Uint16Array);
    const [empty] = new BrickJoiner(true).join({ ...wide, bricks: [{ ...brick, valueLo: Number.NaN }] }).boxes;
    expect([...empty.samples]).toEqual([NO_DATA, NO_DATA, NO_DATA, NO_DATA]);
  });

  // In code c, counted from 1, sample c of the box.
  const size = [2, 2, 2] as const;
  const parts = [0, 1, 2, 3].map((part) => {
    const frame = rawFrame([0, 4 * part + 2, 2]);
    return { ...brick, size, part, valueLo: 0, valueHi: 254 / 256, frame };
  });
  const share = (code: number) => (code - 1) / 256 / 4;
  const whole = [1, 2, 3, 4, 5, 6, 7, 8].map(share);

  const torn = [...whole.slice(0, 2), LOST, LOST, ...whole.slice(4)];
  const nextSet = { ...message([]).header, set: 2 };

  test("bricks are put together row by row, whenever and in whatever order they come", () => {
    const joiner = new BrickJoiner(false);
    expect(joiner.join(message([parts[3], parts[0]], false)).boxes).toEqual([]);
    expect(joiner.join(message([parts[1]], false)).boxes).toEqual([]);
    const [box] = joiner.join(message([parts[2]], false)).boxes;
    expect([values(box), box.lost]).toEqual([whole, []]);
    expect(joiner.hear(nextSet)?.boxes).toEqual([]);
  });

  test("rows of bricks that are lost are told from values and from no data", () => {
    const joiner = new BrickJoiner(false);
    const [box] = joiner.join(message([parts[0], parts[2], parts[3]])).boxes;
    expect([values(box), box.lost]).toEqual([torn, [1]]);
    expect(joiner.hear(nextSet)).toBeNull();
  });

  test("where the last message of a set is lost, the next set of the step tells what is torn", () => {
    const joiner = new BrickJoiner(false);
    const begun = message([parts[0], parts[2], parts[3]], false);
    expect(joiner.join(begun).boxes).toEqual([]);
    expect(joiner.hear(begun.header)).toBeNull();
    const joined = joiner.hear(nextSet);
    expect(joined?.message).toBe(begun);
    expect(joined?.boxes.map(values)).toEqual([torn]);
    expect(joiner.hear(nextSet)).toBeNull();
  });

  test("what was begun of a set is dropped where another step is sent in place of the rest", () => {
    const joiner = new BrickJoiner(false);
    joiner.join(message([parts[0], parts[2], parts[3]], false));
    expect(joiner.hear({ ...nextSet, step: 1 })).toBeNull();
    const [box] = joiner.join({ ...message([parts[1]]), header: { ...nextSet, step: 1, completes: true } }).boxes;
    expect(values(box).filter((value) => value !== LOST)).toEqual(whole.slice(2, 4));
  });
});

describe("macrocell ranges", () => {
  test("merged over bricks they bound every sample with data that interpolation in the macrocell reads", () => {
    const size = [19, 12, 9] as const;
    const at = (x: number, y: number, z: number) => (x * 7 + y * 13 + z * 29) % 250;
    const level = new LevelRanges(size);
    for (const [x0, x1] of [
      [0, 9],
      [9, 19],
    ]) {
      const codes = new Uint8Array((x1 - x0) * 12 * 9);
      let i = 0;
      for (let z = 0; z < 9; z++) for (let y = 0; y < 12; y++) for (let x = x0; x < x1; x++) codes[i++] = at(x, y, z);
      level.merge(unpackCodes(codes, [x0, 0, 0], [x1 - x0, 12, 9], 1 / 256, 1 / 256).ranges);
    }
    const cells = size.map((n) => Math.ceil(n / CELL_EDGE));
    expect(level.size).toEqual(cells);
    const reads = (cell: number, sample: number) =>
      sample >= CELL_EDGE * cell - 1 && sample <= CELL_EDGE * cell + CELL_EDGE;
    for (let cz = 0; cz < cells[2]; cz++) {
      for (let cy = 0; cy < cells[1]; cy++) {
        for (let cx = 0; cx < cells[0]; cx++) {
          const values: number[] = [];
          for (let z = 0; z < 9; z++) {
            for (let y = 0; y < 12; y++) {
              for (let x = 0; x < 19; x++) {
                if (reads(cx, x) && reads(cy, y) && reads(cz, z) && at(x, y, z) > 0) values.push(at(x, y, z));
              }
            }
          }
          const i = (cz * cells[1] + cy) * cells[0] + cx;
          expect([256 * level.min[i], 256 * level.max[i]]).toEqual([Math.min(...values), Math.max(...values)]);
        }
      }
    }
  });

  test("distances count macrocells to the nearest visible one", () => {
    const shown = (size: readonly [number, number, number], visible: readonly number[]) => {
      const ranges = new LevelRanges(size.map((n) => n * CELL_EDGE) as [number, number, number]);
      ranges.min.fill(0);
      ranges.max.fill(0);
      for (const cell of visible) ranges.max[cell] = 1;
      return [...emptyDistances(ranges, new ColourTable(ramp, 1 / 128), tableIndexing(ramp, 0, 1))];
    };
    expect(shown([7, 1, 1], [2])).toEqual([2, 1, 0, 1, 2, 3, 4]);
    expect(shown([2, 2, 1], [])).toEqual([255, 255, 255, 255]);
    expect(shown([1, 1, 300], [299]).slice(40, 50)).toEqual([255, 255, 255, 255, 255, 254, 253, 252, 251, 250]);
    const size = [9, 7, 5] as const;
    const places = Array.from({ length: 9 * 7 * 5 }, (_, i) => [i % 9, Math.floor(i / 9) % 7, Math.floor(i / 63)]);
    for (const visible of [[0], [157], [314], [44, 230], [8, 100, 101, 250], [3, 60, 71, 128, 190, 222, 301]]) {
      const apart = (a: number[], b: number[]) => Math.max(...a.map((n, axis) => Math.abs(n - b[axis])));
      const expected = places.map((at) => Math.min(...visible.map((cell) => apart(at, places[cell]))));
      expect(shown(size, visible)).toEqual(expected);
    }
  });
});

const ramp: TransferFunction = {
  range: [0, 1],
  colours: { kind: "map", name: "gray" },
  opacity: [
    [0, 0],
    [0.5, 0],
    [1, 0.5],
  ],
};

/** A step at the low end of the range: what is below is opaque and red, what is in it clear. */
const stepAtTheEnd: TransferFunction = {
  range: [0, 1],
  colours: {
    kind: "stops",
    stops: [
      [0, 1, 0, 0],
      [0, 0, 1, 0],
      [1, 0, 1, 0],
    ],
  },
  opacity: [
    [0, 0.75],
    [0, 0],
    [1, 0],
  ],
};

describe("transfer function", () => {
  test("what is below the range looks like the first of two points at its start", () => {
    const table = new ColourTable(stepAtTheEnd, 1 / 128);
    const { scale, offset } = tableIndexing(stepAtTheEnd, 0, 1);
    const entry = (value: number) => {
      const place = Math.min(TABLE_ENTRIES - 1, Math.max(0, Math.floor(value * scale + offset + 0.5)));
      return [...table.texels.subarray(4 * place, 4 * place + 4)];
    };
    expect(entry(-0.1)).toEqual([0.75, 0, 0, 0.75]);
    expect(entry(0)).toEqual([0, 0, 0, 0]);
    expect(entry(1)).toEqual([0, 0, 0, 0]);
    const integrals = new Integrals(stepAtTheEnd);
    const density = (part: number) => integrals.texels[4 * (INTEGRAL_PARTS + part) + 3];
    const sum = (part: number) => integrals.texels[4 * part + 3];
    expect(density(0)).toBeCloseTo(-128 * Math.log(0.25), 3);
    expect(sum(0)).toBeCloseTo(-density(0) / INTEGRAL_BINS, 3);
    expect([1, 2, INTEGRAL_PARTS - 1].map((part) => [sum(part), density(part)])).toEqual([0, 1, 2].map(() => [0, 0]));
    expect(integrals.isVisible(-1, -0.5)).toBe(true);
    expect(integrals.isVisible(0.1, 2)).toBe(false);
  });

  test("opacity is corrected for the sampling distance", () => {
    const table = new ColourTable(ramp, 1 / 64);
    expect(table.texels[4 * (TABLE_ENTRIES - 1) + 3]).toBeCloseTo(1 - 0.5 ** 2);
    expect([...table.texels.slice(-4)]).toEqual([0, 0, 0, 0]);
  });

  test("visibility of a range of values follows the opacity", () => {
    const table = new ColourTable(ramp, 1 / 128);
    expect(table.isVisible(0, 0.49 * TABLE_ENTRIES)).toBe(false);
    expect(table.isVisible(0, 0.51 * TABLE_ENTRIES)).toBe(true);
    expect(table.isVisible(-100, -50)).toBe(false);
    expect(table.isVisible(2 * TABLE_ENTRIES, 3 * TABLE_ENTRIES)).toBe(true);
  });

  test("a received function survives the way through the editor", () => {
    const points: TransferPoint[] = [
      [0, 0.2, 0.3, 0.7, 0.5],
      [0.25, 1, 1, 1, 0],
      [1, 0.7, 0, 0.1, 0.5],
    ];
    expect(transferToMessage(transferFromMessage({ range: [-1, 1], points }))).toEqual({ range: [-1, 1], points });
  });

  test("a sharp edge of opacity keeps both its sides", () => {
    const opacity = [
      [0, 0],
      [0.5, 0],
      [0.5, 1],
      [1, 1],
    ] as const;
    const message = transferToMessage({ range: [0, 1], colours: { kind: "map", name: "gray" }, opacity });
    expect(message.points.map((point) => [point[0], point[4]])).toEqual(opacity.map((point) => [...point]));
  });

  test("a sharp edge of colour keeps both its sides, where opacity has one as well and where it has none", () => {
    const colours: Colours = {
      kind: "stops",
      stops: [
        [0, 0, 0, 1],
        [0.5, 0, 0, 1],
        [0.5, 1, 0, 0],
        [1, 1, 0, 0],
      ],
    };
    const smooth = transferToMessage({
      range: [0, 1],
      colours,
      opacity: [
        [0, 0],
        [1, 1],
      ],
    });
    expect(smooth.points).toEqual([
      [0, 0, 0, 1, 0],
      [0.5, 0, 0, 1, 0.5],
      [0.5, 1, 0, 0, 0.5],
      [1, 1, 0, 0, 1],
    ]);
    const both = transferToMessage({
      range: [0, 1],
      colours,
      opacity: [
        [0, 0],
        [0.5, 0],
        [0.5, 0.3],
        [0.5, 1],
        [1, 1],
      ],
    });
    expect(both.points).toEqual([
      [0, 0, 0, 1, 0],
      [0.5, 0, 0, 1, 0],
      [0.5, 1, 0, 0, 1],
      [1, 1, 0, 0, 1],
    ]);
  });

  test("a constant field is in the middle of its empty range", () => {
    for (const value of [5, -3e30, 0]) {
      const indexing = tableIndexing({ ...ramp, range: [value, value] }, value, value);
      expect(indexing.scale).toBe(0);
      expect(indexing.offset).toBeCloseTo(TABLE_ENTRIES / 2);
    }
  });
});

test("integrals sum optical depth and weighted colour over the range", () => {
  const opacity = [
    [0, 0.3],
    [1, 0.3],
  ] as const;
  const colours = { kind: "stops", stops: [[0, 1, 0.5, 0]] } as const;
  const { texels } = new Integrals({ range: [0, 1], colours, opacity });
  const tau = -128 * Math.log(0.7);
  const last = 4 * (INTEGRAL_PARTS - 1);
  const sums = texels.subarray(last, last + 4);
  const means = [...texels.subarray(-4)];
  for (const found of [sums, means]) {
    for (const [channel, share] of [1, 0.5, 0, 1].entries()) expect(found[channel]).toBeCloseTo(share * tau, 3);
  }
});
