import { describe, expect, test } from "vitest";
import { homeCamera } from "../../src/render/camera";
import {
  encodeView,
  linearField,
  logarithmicField,
  PROTOCOL_VERSION,
  parseControl,
  WireError,
  withUnit,
} from "../../src/wire/index";

const welcome = {
  protocol: PROTOCOL_VERSION,
  server: "visapult 0.1.0",
  session: "9f3c",
  groups: 2,
  steers: true,
  trace: false,
  source: {
    name: "wave",
    format: "demo",
    live: true,
    time_unit: "s",
    calendar: "",
    grid: { size: [8, 8, 4], spacing: [1, 1, 2], origin: [0, 0, 0], unit: "mm", centering: "cell" },
    along: [null, null, null],
    fields: [{ name: "pressure", unit: "Pa" }],
  },
  steps: { first: 0, last: 12 },
};

function control(kind: number, object: unknown): Uint8Array {
  return Uint8Array.from([kind, ...new TextEncoder().encode(JSON.stringify(object))]);
}

test("reads a welcome and ignores members it does not know", () => {
  const message = parseControl(control(1, { ...welcome, later: true }));
  expect(message).toMatchObject({ kind: "welcome", groups: 2, steps: { first: 0, last: 12 } });
  expect(message?.kind === "welcome" && message.source.grid.centering).toBe("cell");
});

test("coordinates along an axis are read in their order, and those that turn back or are no numbers are refused", () => {
  const read = (values: readonly unknown[]) => {
    const along = [null, { name: "plev", unit: "hPa", values, is_vertical: true }, null];
    return parseControl(control(1, { ...welcome, source: { ...welcome.source, along } }));
  };
  for (const values of [[1000, 500, 10], [0, 1, 5], [3]])
    expect(read(values)).toMatchObject({
      source: { along: [null, { name: "plev", unit: "hPa", values, isVertical: true }, null] },
    });
  for (const values of [[1, 2, 2], [3, 1, 2], [], [1, "2"]]) expect(() => read(values)).toThrow(WireError);
  const two = { ...welcome.source, along: [null, null] };
  expect(() => parseControl(control(1, { ...welcome, source: two }))).toThrow(/along 2 axes/);
});

test("what a source has besides is told where there is something", () => {
  const others = (told: object) => {
    const message = parseControl(control(1, { ...welcome, source: { ...welcome.source, ...told } }));
    return message?.kind === "welcome" && message.source.others;
  };
  expect(others({})).toBeNull();
  expect(others({ others: "Also there: PS (4 x 5)" })).toBe("Also there: PS (4 x 5)");
  expect(others({ others: "P\u202eS\n" })).toBe("PS\ufffd");
  expect(() => others({ others: 3 })).toThrow(WireError);
});

test("a welcome names as many fields as a file of chemistry has", () => {
  const fields = Array.from({ length: 5000 }, (_, i) => ({ name: `mass fraction of species ${i}`, unit: "kg/kg" }));
  const message = parseControl(control(1, { ...welcome, source: { ...welcome.source, fields } }));
  expect(message?.kind === "welcome" && message.source.fields.length).toBe(10_000);
});

test("words of a file are without what would turn those around them, and have a sign for each control character", () => {
  const hostile = "\u202eaP\u2066 \u001b[2Jp\u0085";
  const source = { ...welcome.source, name: hostile, fields: [{ name: hostile, unit: hostile }] };
  const message = parseControl(control(1, { ...welcome, source }));
  const printed = "aP \ufffd[2Jp\ufffd";
  expect(message).toMatchObject({ source: { name: printed, fields: [{ name: printed, unit: printed }, {}] } });
  const notice = { severity: "error", text: `no ${hostile}`, failed: null };
  expect(parseControl(control(5, notice))).toMatchObject({ text: `no ${printed}` });
  const arabic = "\u0636\u063a\u0637";
  for (const mark of ["", "\u200f", "\u200e", "\u061c"]) {
    const named = { ...welcome.source, name: arabic + mark };
    expect(parseControl(control(1, { ...welcome, source: named }))).toMatchObject({ source: { name: arabic } });
  }
});

describe("the logarithm of a field", () => {
  const fieldsOf = (...names: readonly string[]) => {
    const fields = names.map((name) => ({ name, unit: "Pa" }));
    const message = parseControl(control(1, { ...welcome, source: { ...welcome.source, fields } }));
    return message?.kind === "welcome" ? message.source.fields : [];
  };

  test("can be asked for behind all fields that the source has, under a name of its own", () => {
    const fields = fieldsOf("p", "log10(p)");
    expect(fields).toEqual([
      { name: "p", unit: "Pa", logarithmOf: null },
      { name: "log10(p)", unit: "Pa", logarithmOf: null },
      { name: "log10(p)'", unit: "Pa", logarithmOf: 0 },
      { name: "log10(log10(p))", unit: "Pa", logarithmOf: 1 },
    ]);
    expect([0, 1, 2, 3].map((field) => linearField(fields, field))).toEqual([0, 1, 0, 1]);
    expect([0, 1, 2, 3].map((field) => logarithmicField(fields, field))).toEqual([2, 3, 2, 3]);
  });

  test("cannot where a view has no number for it", () => {
    const names = Array.from({ length: 32_769 }, (_, i) => `p${i}`);
    expect(fieldsOf(...names.slice(1)).length).toBe(65_536);
    expect(fieldsOf(...names).length).toBe(32_769);
    expect(logarithmicField(fieldsOf(...names), 0)).toBeNull();
  });
});

test.each([
  ["another protocol", { ...welcome, protocol: 1 }, /^protocol 1, where this page knows \d+$/],
  ["no groups", { ...welcome, groups: 0 }, /groups/],
  [
    "a grid without samples",
    { ...welcome, source: { ...welcome.source, grid: { ...welcome.source.grid, size: [8, 0, 4] } } },
    /grid size/,
  ],
  ["steps that end before they begin", { ...welcome, steps: { first: 3, last: 2 } }, /last/],
])("a welcome with %s is refused", (_, object, reason) => {
  expect(() => parseControl(control(1, object))).toThrow(reason);
});

test("a field without finite values has no range", () => {
  const field = {
    field: 0,
    step: 1,
    provisional: false,
    range: null,
    extent: null,
    histogram: [],
    finite: 0,
    missing: 8,
    transfer_function: { range: null, points: [[0, 0, 0, 0, 0]] },
  };
  expect(parseControl(control(3, field))).toMatchObject({
    kind: "field",
    range: null,
    transferFunction: { range: [0, 1] },
  });
});

test("rubbish is refused with the reason", () => {
  expect(() => parseControl(Uint8Array.from([1, 0xff, 0xfe]))).toThrow(WireError);
  expect(() => parseControl(control(5, { severity: "loud", text: "x" }))).toThrow(/severity/);
  expect(() => parseControl(control(3, { field: "0" }))).toThrow(WireError);
});

test("a message of an unknown kind is skipped", () => {
  expect(parseControl(control(42, {}))).toBeNull();
});

test("a view is its kind and JSON", () => {
  const view = {
    sequence: 17,
    camera: {
      ...homeCamera(1),
      crop: [
        [0, 1],
        [0.25, 1],
        [0, 0.5],
      ],
    },
    viewport: [1024, 768],
    field: 0,
    step: null,
    moving: false,
    proxy: "auto",
    transfer_function: { range: [-1, 1], points: [[0, 0, 0, 0, 0]] },
  } as const;
  const bytes = encodeView(view);
  expect(bytes[0]).toBe(64);
  expect(JSON.parse(new TextDecoder().decode(bytes.subarray(1)))).toEqual(view);
});

test("names within a sentence that are written from right to left leave the rest of it in its place", () => {
  const text = "step 3 of \u05dc\u05d7\u05e5 2 \u05d0, 12 of (\u0636\u063a\u0637): 4 bytes";
  const apart = "step 3 of \u2068\u05dc\u05d7\u05e5 2 \u05d0\u2069, 12 of (\u2068\u0636\u063a\u0637\u2069): 4 bytes";
  expect(parseControl(control(5, { severity: "error", text }))).toMatchObject({ text: apart });
});

test("a name that is written from right to left leaves its unit, and what else is beside it, in its place", () => {
  expect(withUnit({ name: "pressure", unit: "Pa" })).toBe("pressure [Pa]");
  for (const name of ["\u0636\u063a\u0637", "\u05dc\u05d7\u05e5", "\ufe8d", "\u{1e900}"])
    expect(withUnit({ name, unit: "Pa" })).toBe(`\u2068${name}\u2069 [Pa]`);
});
