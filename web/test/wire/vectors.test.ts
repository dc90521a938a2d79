/** The vectors in testdata/wire, which the server's encoder is tested against too. */
import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { withLogarithms } from "../../src/wire/fields";
import {
  encodeAck,
  encodeAskSeries,
  encodeClock,
  encodeLifelines,
  encodePick,
  encodeStamps,
  encodeSteer,
  encodeView,
  missingFrom,
  type Place,
  parseBricks,
  parseControl,
  parseScalarSlabs,
  parseSlabs,
  parseStill,
  parseTileList,
  type Spot,
  type SteerAction,
  unpackBrick,
  unpackFaceTile,
  unpackSlabTile,
  unpackStillTile,
  type ViewMessage,
} from "../../src/wire/index";

const folder = new URL("../../../testdata/wire/", import.meta.url);
const bytes = (name: string) => new Uint8Array(readFileSync(new URL(`${name}.bin`, folder)));
const json = <T>(name: string) => JSON.parse(readFileSync(new URL(`${name}.json`, folder), "utf8")) as T;

interface Header {
  completes: boolean;
  field: number;
  set: number;
  step: number;
  time: number;
  view: number;
}

interface Bricks {
  header: Header;
  level: number;
  bits: number;
  size: number[];
  range: [number, number];
  bricks: { lo: number[]; size: number[]; part: number; range: [number, number]; values: (number | null)[] }[];
}

test("the list of a keyframe's tiles tells which are missing", () => {
  const expected = json<{ header: Header; columns: number; rows: number; layers: number; tiles: Place[] }>("tile-list");
  const { header, list } = parseTileList(bytes("tile-list"));
  expect(header).toEqual(expected.header);
  expect([list.columns, list.rows, list.layers]).toEqual([expected.columns, expected.rows, expected.layers]);
  expect(missingFrom(list, [])).toEqual(expected.tiles);
  expect(missingFrom(list, expected.tiles.slice(0, 1))).toEqual(expected.tiles.slice(1));
  expect(() => parseTileList(bytes("tile-list").subarray(0, -1))).toThrow("places needs");
  const vast = bytes("tile-list");
  vast.fill(0xff, 28, 34);
  expect(() => parseTileList(vast)).toThrow(/places for tiles, more than/);
});

describe.each(["bricks-5", "bricks-8", "bricks-16"])("%s", (name) => {
  test("decodes to the values that were encoded", () => {
    const expected = json<Bricks>(name);
    const parsed = parseBricks(bytes(name));
    expect(parsed.header).toEqual(expected.header);
    expect([parsed.level, parsed.bits, parsed.size]).toEqual([expected.level, expected.bits, expected.size]);
    expect([parsed.lo, parsed.hi]).toEqual(expected.range);
    expect(parsed.bricks.length).toBe(expected.bricks.length);
    for (const [i, brick] of parsed.bricks.entries()) {
      const due = expected.bricks[i];
      expect([brick.lo, brick.size, brick.part]).toEqual([due.lo, due.size, due.part]);
      const codes = unpackBrick(brick, parsed.bits);
      for (const [k, value] of due.values.entries()) {
        const got = codes ? codeValue(codes[k], brick.valueLo, brick.valueHi, parsed.bits) : brick.valueLo;
        if (value === null) expect(got).toBeNaN();
        else expect(got).toBeCloseTo(value, 5);
      }
    }
  });
});

function codeValue(code: number, lo: number, hi: number, bits: number): number {
  return code === 0 ? Number.NaN : lo + ((hi - lo) * (code - 1)) / (2 ** bits - 2);
}

interface Slabs {
  header: Header;
  camera: Record<string, unknown>;
  width: number;
  height: number;
  slabs: number;
  normal: number[];
  near: number;
  far: number;
  tiles: { slab: number; lo: number[]; size: number[]; rgb: number[][]; alpha: number[] }[];
}

test("slabs decode to the colours and opacities that were encoded", () => {
  const expected = json<Slabs>("slabs");
  const parsed = parseSlabs(bytes("slabs"));
  expect(parsed.header).toEqual(expected.header);
  expect(parsed.camera).toEqual(expected.camera);
  expect([...parsed.rays, parsed.slabCount]).toEqual([expected.width, expected.height, expected.slabs]);
  expect([parsed.normal, parsed.near, parsed.far]).toEqual([expected.normal, expected.near, expected.far]);
  expect(parsed.tiles.length).toBe(expected.tiles.length);
  for (const [i, tile] of parsed.tiles.entries()) {
    const due = expected.tiles[i];
    expect([tile.slab, [tile.x, tile.y], [tile.width, tile.height]]).toEqual([due.slab, due.lo, due.size]);
    const texels = unpackSlabTile(tile);
    expect([...texels.colours]).toEqual(due.rgb.flat());
    expect([...texels.opacityCodes]).toEqual(due.alpha);
  }
});

interface ScalarSlabs extends Omit<Slabs, "tiles"> {
  edges: number[];
  range: number[];
  tiles: { face: number; lo: number[]; size: number[]; codes: number[] }[];
}

test("scalar slabs decode to the codes that were encoded", () => {
  const expected = json<ScalarSlabs>("scalar-slabs");
  const parsed = parseScalarSlabs(bytes("scalar-slabs"));
  expect(parsed.header).toEqual(expected.header);
  expect(parsed.camera).toEqual(expected.camera);
  expect([...parsed.rays, parsed.slabCount]).toEqual([expected.width, expected.height, expected.slabs]);
  expect([parsed.normal, parsed.near, parsed.far]).toEqual([expected.normal, expected.near, expected.far]);
  expect([parsed.edges, parsed.range]).toEqual([expected.edges, expected.range]);
  expect(parsed.tiles.length).toBe(expected.tiles.length);
  for (const [i, tile] of parsed.tiles.entries()) {
    const due = expected.tiles[i];
    expect([tile.slab, [tile.x, tile.y], [tile.width, tile.height]]).toEqual([due.face, due.lo, due.size]);
    expect([...unpackFaceTile(tile)]).toEqual(due.codes);
  }
});

interface Still {
  header: Header;
  width: number;
  height: number;
  tiles: { lo: number[]; size: number[]; rgba: number[] }[];
}

test("a still decodes to its pixels", () => {
  const expected = json<Still>("still");
  const parsed = parseStill(bytes("still"));
  expect(parsed.header).toEqual(expected.header);
  expect([parsed.width, parsed.height]).toEqual([expected.width, expected.height]);
  for (const [i, tile] of parsed.tiles.entries()) {
    const due = expected.tiles[i];
    expect([
      [tile.x, tile.y],
      [tile.width, tile.height],
    ]).toEqual([due.lo, due.size]);
    expect([...unpackStillTile(tile)]).toEqual(due.rgba);
  }
});

const told = [
  "welcome",
  "steps",
  "field",
  "plan",
  "notice",
  "steering",
  "freshness",
  "events",
  "clock",
  "picked",
  "series",
];

test.each(told)("%s is understood", (name) => {
  const message = parseControl(bytes(name));
  expect(message?.kind).toBe(name);
});

type Source = Readonly<Record<string, unknown>> & {
  readonly fields: Parameters<typeof withLogarithms>[0];
  readonly along: readonly ({ readonly is_vertical: boolean } | null)[];
};

test("control messages keep what they say", () => {
  const { protocol: _, source, ...welcome } = json<{ protocol: number; source: Source }>("welcome");
  const { time_unit: timeUnit, fields: named, along: axes, ...told } = source;
  const fields = withLogarithms(named);
  const along = axes.map((axis) => {
    if (axis === null) return null;
    const { is_vertical: isVertical, ...rest } = axis;
    return { ...rest, isVertical };
  });
  expect(parseControl(bytes("welcome"))).toEqual({
    kind: "welcome",
    ...welcome,
    source: { ...told, timeUnit, along, fields },
  });
  const { throughput_bps: throughputBps, ...plan } = json<{ throughput_bps: number }>("plan");
  expect(parseControl(bytes("plan"))).toEqual({ kind: "plan", ...plan, throughputBps });
  expect(parseControl(bytes("steps"))).toEqual({ kind: "steps", steps: json("steps") });
  expect(parseControl(bytes("notice"))).toEqual({ kind: "notice", ...json<object>("notice") });
  const { range, histogram, provisional } = json<{ range: number[]; histogram: number[]; provisional: boolean }>(
    "field",
  );
  expect(parseControl(bytes("field"))).toMatchObject({ range, histogram, provisional });
});

test("freshness keeps which share is fresh, and whose part is missing", () => {
  const { age_ms, ...told } = json<{ age_ms: number }>("freshness");
  expect(parseControl(bytes("freshness"))).toEqual({ kind: "freshness", ageMs: age_ms, refused: null, ...told });
  expect(parseControl(bytes("refused"))).toMatchObject({
    missing: 1,
    refused: "another grid: start the back end anew",
  });
});

interface WireEvent {
  stage: string;
  step: number;
  start_ms: number;
  end_ms: number;
  bytes: number;
}

test("events and the time keep what they say", () => {
  const events = json<{ events: WireEvent[] }>("events").events.map(({ stage, step, start_ms, end_ms, bytes }) => {
    return { stage, step, startMs: start_ms, endMs: end_ms, bytes };
  });
  expect(parseControl(bytes("events"))).toEqual({ kind: "events", events });
  const { asked_ms, heard_ms, answered_ms } = json<Record<string, number>>("clock");
  const clock = { kind: "clock", askedMs: asked_ms, heardMs: heard_ms, answeredMs: answered_ms };
  expect(parseControl(bytes("clock"))).toEqual(clock);
  const { picked, ...answer } = json<{ picked: object }>("picked");
  expect(parseControl(bytes("picked"))).toEqual({ kind: "picked", ...answer, ...picked });
  const { is_over: isOver, ...series } = json<{ is_over: boolean }>("series");
  expect(parseControl(bytes("series"))).toEqual({ kind: "series", ...series, isOver });
});

test("what a page tells and asks of lifelines and of values over time is encoded as the server decodes it", () => {
  const stamps = json<{ events: WireEvent[] }>("stamps").events.map(({ start_ms, end_ms, ...event }) => {
    return { ...event, startMs: start_ms, endMs: end_ms };
  });
  const encoded = {
    "ask-clock": encodeClock(12.5),
    stamps: encodeStamps(stamps),
    "ask-lifelines": encodeLifelines(true),
    "ask-series": encodeAskSeries(6, 1, [12.5, 3, 0.25]),
  };
  for (const [name, message] of Object.entries(encoded)) {
    expect(message[0]).toBe(bytes(name)[0]);
    expect(JSON.parse(new TextDecoder().decode(message.subarray(1)))).toEqual(json(name));
  }
});

test("a value is asked for as the server decodes it", () => {
  const { number, ...spot } = json<{ number: number } & Spot>("pick");
  const message = encodePick(number, spot);
  expect(message[0]).toBe(bytes("pick")[0]);
  expect(JSON.parse(new TextDecoder().decode(message.subarray(1)))).toEqual(json("pick"));
});

test("steering keeps who asked for what, before which step, and why not", () => {
  const logged = json<{ log: { who: string; unix_s: number; at: number | null; problem: string | null }[] }>(
    "steering",
  );
  const message = parseControl(bytes("steering"));
  if (message?.kind !== "steering") throw new Error("steering is not understood");
  expect({ ...message, log: [] }).toEqual({ kind: "steering", ...json<object>("steering"), log: [] });
  expect(
    message.log.map(({ who, unixS, what, at, problem }) => ({ who, unix_s: unixS, ...what, at, problem })),
  ).toEqual(logged.log);
});

test("what is asked of a simulation is encoded as the server decodes it", () => {
  const encoded = encodeSteer(json<SteerAction>("steer"));
  expect(encoded[0]).toBe(bytes("steer")[0]);
  expect(JSON.parse(new TextDecoder().decode(encoded.subarray(1)))).toEqual(json("steer"));
});

test("a view is encoded as the server decodes it", () => {
  const encoded = encodeView(json<ViewMessage>("view"));
  expect(encoded[0]).toBe(bytes("view")[0]);
  expect(JSON.parse(new TextDecoder().decode(encoded.subarray(1)))).toEqual(json("view"));
});

test("an acknowledgement is encoded byte by byte as the server decodes it", () => {
  expect(encodeAck(json<{ received_bytes: number }>("ack").received_bytes)).toEqual(bytes("ack"));
});

test("scalar slabs too large to hold, with an impossible box or a tile past their end are refused", () => {
  const changed = (change: (view: DataView) => void) => {
    const copy = Uint8Array.from(bytes("scalar-slabs"));
    change(new DataView(copy.buffer));
    return () => parseScalarSlabs(copy);
  };
  expect(changed((view) => view.setUint16(100, 65_535, true))).not.toThrow();
  expect(changed((view) => [96, 98, 100].map((at) => view.setUint16(at, 65_535, true)))).toThrow(/more than/);
  expect(changed((view) => view.setFloat32(124, Number.NaN, true))).toThrow(/impossible/);
  expect(changed((view) => view.setFloat32(136, 9, true))).toThrow(/impossible/);
  expect(changed((view) => view.setUint16(144, 4, true))).toThrow(/outside/);
  expect(changed((view) => view.setUint16(152, 65, true))).toThrow(/1 to 64/);
});
