import { WireError } from "./errors";
import { type FieldInfo, withLogarithms } from "./fields";
import { type FreshnessMessage, parseFreshness } from "./freshness";
import { asObject, asTuple3, Json } from "./json";
import { type ClockMessage, type EventsMessage, parseClock, parseEvents } from "./lifelines";
import { type PickedMessage, parsePicked } from "./pick";
import { parseSeries, type SeriesMessage } from "./series";
import { parseSteering, type SteeringMessage } from "./steering";

/** Most bytes of a message: *Welcome* names all fields, of which some files have thousands. */
const CONTROL_LIMIT = 8 << 20;
export const PROTOCOL_VERSION = 6;

export interface GridInfo {
  readonly size: readonly [number, number, number];
  readonly spacing: readonly [number, number, number];
  readonly origin: readonly [number, number, number];
  readonly unit: string;
  readonly centering: "point" | "cell";
}

/** Where samples lie along an axis, where the grid does not say as much: unevenly, in a unit of its own, or under a name of its own. */
export interface AlongAxis {
  readonly name: string;
  readonly unit: string;
  /** At equal distances from the first sample to the last; they grow or fall. */
  readonly values: readonly number[];
  /** They tell which way is up. */
  readonly isVertical: boolean;
}

export interface StepSpan {
  readonly first: number;
  readonly last: number;
}

export interface SourceInfo {
  readonly name: string;
  readonly format: string;
  readonly live: boolean;
  readonly timeUnit: string;
  /** In which that counts from a date, as netCDF calls it; empty where none is told. */
  readonly calendar: string;
  readonly grid: GridInfo;
  /** Of x, y, z; `null` where the grid says as much. */
  readonly along: readonly [AlongAxis | null, AlongAxis | null, AlongAxis | null];
  /** Those that *Welcome* names, and their logarithms. */
  readonly fields: readonly FieldInfo[];
  /** What it has besides, of other shapes, and how that is opened. */
  readonly others: string | null;
}

export type TransferPoint = readonly [s: number, r: number, g: number, b: number, a: number];

export interface TransferFunctionMessage {
  readonly range: readonly [number, number];
  readonly points: readonly TransferPoint[];
}

export type ControlMessage =
  | {
      kind: "welcome";
      server: string;
      session: string;
      groups: number;
      /** Whether it may steer a simulation, or only watch. */
      steers: boolean;
      trace: boolean;
      source: SourceInfo;
      steps: StepSpan;
    }
  | { kind: "steps"; steps: StepSpan }
  | FieldMessage
  | PlanMessage
  | SteeringMessage
  | FreshnessMessage
  | ClockMessage
  | EventsMessage
  | PickedMessage
  | SeriesMessage
  | NoticeMessage;

/** One sentence to show. */
export interface NoticeMessage {
  readonly kind: "notice";
  readonly severity: "info" | "warning" | "error";
  readonly text: string;
  /** The step of a field that cannot be shown, where it is about one. */
  readonly failed: StepOfField | null;
}

export interface StepOfField {
  readonly field: number;
  readonly step: number;
}

export interface FieldMessage {
  readonly kind: "field";
  readonly field: number;
  readonly step: number;
  /** All of it is of few values, while the step is still being read: another message follows. */
  readonly provisional: boolean;
  /** Of the histogram, and of the transfer function that the server would choose; `null` where no value is finite. */
  readonly range: readonly [number, number] | null;
  /** Smallest and largest value of the step. */
  readonly extent: readonly [number, number] | null;
  readonly histogram: readonly number[];
  readonly finite: number;
  readonly missing: number;
  readonly transferFunction: TransferFunctionMessage;
}

export interface PlanMessage {
  readonly kind: "plan";
  /** Sequence of the newest view that the server knew. */
  readonly view: number;
  readonly proxy: "bricks" | "slabs" | "segments";
  readonly level: number;
  readonly bits: number;
  readonly reason: string;
  readonly throughputBps: number;
  readonly bytes: number;
}

/** Parses a control message; `null` for a kind this page does not know, which is to be skipped. */
export function parseControl(bytes: Uint8Array): ControlMessage | null {
  if (bytes.byteLength === 0) throw new WireError("an empty control message");
  if (bytes.byteLength > CONTROL_LIMIT) throw new WireError(`a control message of ${bytes.byteLength} bytes`);
  const parse = parsers[bytes[0]];
  if (!parse) return null;
  return parse(Json.parse(bytes.subarray(1), `control message ${bytes[0]}`));
}

const parsers: Readonly<Record<number, (json: Json) => ControlMessage>> = {
  1: parseWelcome,
  2: (json) => ({ kind: "steps", steps: parseSpan(json) }),
  3: parseField,
  4: parsePlan,
  5: parseNotice,
  6: parseSteering,
  7: parseFreshness,
  8: parseClock,
  9: parseEvents,
  10: parsePicked,
  11: parseSeries,
};

function parseNotice(json: Json): ControlMessage {
  const failed = json.isNull("failed") ? null : json.child("failed");
  return {
    kind: "notice",
    severity: json.oneOf("severity", ["info", "warning", "error"]),
    text: json.sentence("text"),
    failed: failed && { field: failed.integer("field", 0), step: failed.integer("step", 0) },
  };
}

function parseWelcome(json: Json): ControlMessage {
  const protocol = json.integer("protocol", 0);
  if (protocol !== PROTOCOL_VERSION) {
    throw new WireError(`protocol ${protocol}, where this page knows ${PROTOCOL_VERSION}`);
  }
  return {
    kind: "welcome",
    server: json.text("server"),
    session: json.text("session"),
    groups: json.integer("groups", 1, 64),
    steers: json.flag("steers"),
    trace: json.flag("trace"),
    source: parseSource(json.child("source")),
    steps: parseSpan(json.child("steps")),
  };
}

function parseSource(json: Json): SourceInfo {
  const named = json.list("fields").map((item) => {
    const field = asObject(item, "field");
    return { name: field.words("name"), unit: field.words("unit") };
  });
  if (named.length === 0) throw new WireError("the source has no field");
  return {
    name: json.words("name"),
    format: json.words("format"),
    live: json.flag("live"),
    timeUnit: json.words("time_unit"),
    calendar: json.words("calendar"),
    grid: parseGrid(json.child("grid")),
    along: parseAlong(json.list("along")),
    fields: withLogarithms(named),
    others: json.isNull("others") ? null : json.sentence("others"),
  };
}

function parseGrid(json: Json): GridInfo {
  const size = asTuple3(json.numbers("size"), "grid size");
  const spacing = asTuple3(json.numbers("spacing"), "grid spacing");
  if (!size.every((n) => Number.isInteger(n) && n >= 1)) throw new WireError(`impossible grid size ${size.join(", ")}`);
  if (!spacing.every((n) => Number.isFinite(n) && n > 0))
    throw new WireError(`impossible spacing ${spacing.join(", ")}`);
  const origin = asTuple3(json.numbers("origin"), "grid origin");
  return { size, spacing, origin, unit: json.words("unit"), centering: json.oneOf("centering", ["point", "cell"]) };
}

function parseAlong(axes: readonly unknown[]): SourceInfo["along"] {
  if (axes.length !== 3) throw new WireError(`coordinates along ${axes.length} axes`);
  const along = (i: 0 | 1 | 2) => (axes[i] === null ? null : parseAxis(asObject(axes[i], "coordinates")));
  return [along(0), along(1), along(2)];
}

function parseAxis(json: Json): AlongAxis {
  const values = json.numbers("values");
  const rises = values[values.length - 1] > values[0];
  const isInOrder = values.every(
    (n, i) => Number.isFinite(n) && (i === 0 || (n !== values[i - 1] && n > values[i - 1] === rises)),
  );
  if (values.length === 0 || !isInOrder) throw new WireError("coordinates that turn back");
  return { name: json.words("name"), unit: json.words("unit"), values, isVertical: json.flag("is_vertical") };
}

function parseSpan(json: Json): StepSpan {
  const first = json.integer("first", 0);
  return { first, last: json.integer("last", first) };
}

function parseField(json: Json): FieldMessage {
  const bounds = (name: string) => (json.isNull(name) ? null : pair(json.numbers(name), name));
  const range = bounds("range");
  return {
    kind: "field",
    field: json.integer("field", 0),
    step: json.integer("step", 0),
    provisional: json.flag("provisional"),
    range,
    extent: bounds("extent"),
    histogram: json.numbers("histogram"),
    finite: json.number("finite"),
    missing: json.number("missing"),
    transferFunction: parseTransferFunction(json.child("transfer_function"), range ?? [0, 1]),
  };
}

function parseTransferFunction(json: Json, range: readonly [number, number]): TransferFunctionMessage {
  const points = json.list("points").map((item): TransferPoint => {
    if (!Array.isArray(item) || item.length !== 5 || !item.every((n) => typeof n === "number")) {
      throw new WireError("a transfer function point is not [s, r, g, b, a]");
    }
    return [item[0], item[1], item[2], item[3], item[4]];
  });
  if (points.length === 0) throw new WireError("a transfer function without points");
  return { range: json.isNull("range") ? range : pair(json.numbers("range"), "range"), points };
}

function parsePlan(json: Json): PlanMessage {
  return {
    kind: "plan",
    view: json.integer("view", 0),
    proxy: json.oneOf("proxy", ["bricks", "slabs", "segments"]),
    level: json.integer("level", 0),
    bits: json.integer("bits", 0),
    reason: json.sentence("reason"),
    throughputBps: json.number("throughput_bps"),
    bytes: json.number("bytes"),
  };
}

function pair(values: readonly number[], name: string): readonly [number, number] {
  if (values.length !== 2) throw new WireError(`${name} has ${values.length} numbers, expected 2`);
  return [values[0], values[1]];
}
