import type { TransferFunctionMessage, TransferPoint } from "../wire/index";
import { type ColourMapName, colourMapKnots, colourMapNames, type Rgb } from "./colormaps";

/** A colour stop: position in [0, 1] and display colour. */
export type ColourStop = readonly [s: number, ...Rgb];
/** An opacity point: position in [0, 1] and opacity over the reference length. */
export type OpacityPoint = readonly [s: number, a: number];

export type Colours =
  | { readonly kind: "map"; readonly name: ColourMapName }
  | { readonly kind: "stops"; readonly stops: readonly ColourStop[] };

/** What the editor edits: colours and opacities over a range of values. */
export interface TransferFunction {
  readonly range: readonly [number, number];
  readonly colours: Colours;
  /** At least two, positions not decreasing. */
  readonly opacity: readonly OpacityPoint[];
}

/** Opacity is given over this length (world units): RENDERING, *Transfer function*. */
export const REFERENCE_LENGTH = 1 / 128;

export function transferFromMessage(message: TransferFunctionMessage): TransferFunction {
  const sorted = [...message.points].sort((a, b) => a[0] - b[0]);
  const points = sorted.length === 1 ? [sorted[0], sorted[0]] : sorted;
  const stops = points.map(([s, r, g, b]): ColourStop => [s, r, g, b]);
  const name = colourMapNames.find((candidate) => liesOnMap(stops, candidate));
  return {
    range: message.range,
    colours: name ? { kind: "map", name } : { kind: "stops", stops },
    opacity: withoutCollinear(points.map(([s, , , , a]): OpacityPoint => [s, a])),
  };
}

/** Largest difference in a channel at which stops count as samples of a known map. */
const SAME_COLOUR = 0.03;
const FEWEST_STOPS_OF_A_MAP = 5;

function liesOnMap(stops: readonly ColourStop[], name: ColourMapName): boolean {
  if (stops.length < FEWEST_STOPS_OF_A_MAP && name !== "gray") return false;
  const map = colourStops({ kind: "map", name });
  return stops.every(([s, ...rgb]) => colourAt(map, s).every((c, i) => Math.abs(c - rgb[i]) < SAME_COLOUR));
}

/** Largest difference of the square root of the opacity, the editor's scale, at which a point counts as lying on a line. */
const ON_THE_LINE = 0.01;

/** Leaves out points that lie on the line between those kept around them: fewer to edit, the same to the eye. */
function withoutCollinear(points: readonly OpacityPoint[]): readonly OpacityPoint[] {
  const kept: OpacityPoint[] = [points[0]];
  let lastKept = 0;
  for (let i = 1; i < points.length - 1; i++) {
    const line = [points[lastKept], points[i + 1]];
    const between = points.slice(lastKept + 1, i + 1);
    const isOff = ([s, a]: OpacityPoint) => Math.abs(Math.sqrt(opacityAt(line, s)) - Math.sqrt(a)) > ON_THE_LINE;
    if (!between.some(isOff)) continue;
    kept.push(points[i]);
    lastKept = i;
  }
  return [...kept, points[points.length - 1]];
}

/** Points at every position where colour or opacity bends: linear interpolation of them gives both back exactly. */
export function transferToMessage(transfer: TransferFunction): TransferFunctionMessage {
  const stops = colourStops(transfer.colours);
  const positions = [...stops.map((stop) => stop[0]), ...transfer.opacity.map((point) => point[0])];
  const edges = new Set([...jumps(stops), ...jumps(transfer.opacity)]);
  const unique = [...new Set(positions)].sort((a, b) => a - b);
  const points = unique.flatMap((s): TransferPoint[] => {
    const after: TransferPoint = [s, ...colourAt(stops, s), opacityAt(transfer.opacity, s)];
    if (!edges.has(s)) return [after];
    const [stop, point] = [firstAt(stops, s), firstAt(transfer.opacity, s)];
    const [, red, green, blue] = stop ?? after;
    return [[s, red, green, blue, point?.[1] ?? after[4]], after];
  });
  return { range: transfer.range, points };
}

export function colourStops(colours: Colours): readonly ColourStop[] {
  if (colours.kind === "stops") return colours.stops;
  const knots = colourMapKnots(colours.name);
  return knots.map((rgb, i): ColourStop => [i / (knots.length - 1), ...rgb]);
}

/** Whether they look the same: a link holds few digits of them. */
export function sameColours(a: Colours, b: Colours): boolean {
  const [stops, others] = [colourStops(a), colourStops(b)];
  const isNear = (stop: ColourStop, other: ColourStop) => stop.every((n, i) => Math.abs(n - other[i]) < 1e-3);
  return stops.length === others.length && stops.every((stop, i) => isNear(stop, others[i]));
}

export function colourAt(stops: readonly ColourStop[], s: number): Rgb {
  const [below, above, t] = bracket(stops, s);
  return [lerp(below[1], above[1], t), lerp(below[2], above[2], t), lerp(below[3], above[3], t)];
}

export function opacityAt(points: readonly OpacityPoint[], s: number): number {
  const [below, above, t] = bracket(points, s);
  return lerp(below[1], above[1], t);
}

/** Red, green and blue at the places `(first + i) / parts`: [`colourAt`] of each, in one walk along the stops. */
export function coloursAlong(
  stops: readonly ColourStop[],
  count: number,
  first: number,
  parts: number,
): readonly [Float64Array, Float64Array, Float64Array] {
  return [
    along(stops, 1, count, first, parts),
    along(stops, 2, count, first, parts),
    along(stops, 3, count, first, parts),
  ];
}

/** [`opacityAt`] of the places `(first + i) / parts`, in one walk along the points. */
export function opacitiesAlong(
  points: readonly OpacityPoint[],
  count: number,
  first: number,
  parts: number,
): Float64Array {
  return along(points, 1, count, first, parts);
}

/** Entries of a colour table, without the last, transparent one that stands for *no data*. The first is for what is below the range, the next for s = 0. */
export const TABLE_ENTRIES = 4095;

/** The transfer function as a table of associated colours for one sampling distance. */
export class ColourTable {
  /** `(TABLE_ENTRIES + 1) * 4` floats, RGBA, associated alpha. */
  readonly texels: Float32Array<ArrayBuffer>;
  readonly #visibleBelow: Uint32Array;

  /** `dt`: distance between samples along the ray, world units. */
  constructor(transfer: TransferFunction, dt: number) {
    this.texels = new Float32Array((TABLE_ENTRIES + 1) * 4);
    this.#visibleBelow = new Uint32Array(TABLE_ENTRIES + 1);
    const [red, green, blue] = coloursAlong(colourStops(transfer.colours), TABLE_ENTRIES, -1, TABLE_ENTRIES - 2);
    const opacities = opacitiesAlong(transfer.opacity, TABLE_ENTRIES, -1, TABLE_ENTRIES - 2);
    const perReference = dt / REFERENCE_LENGTH;
    for (let i = 0; i < TABLE_ENTRIES; i++) {
      const opacity = Math.min(1, Math.max(0, opacities[i]));
      const alpha = opacity === 0 ? 0 : 1 - (1 - opacity) ** perReference;
      this.texels[4 * i] = red[i] * alpha;
      this.texels[4 * i + 1] = green[i] * alpha;
      this.texels[4 * i + 2] = blue[i] * alpha;
      this.texels[4 * i + 3] = alpha;
      this.#visibleBelow[i + 1] = this.#visibleBelow[i] + (alpha > 0 ? 1 : 0);
    }
  }

  /** Whether any entry from index `lo` to `hi` (clamped, one entry of margin for rounding) has opacity. */
  isVisible(lo: number, hi: number): boolean {
    const last = TABLE_ENTRIES - 1;
    const first = Math.min(last, Math.max(0, Math.floor(lo) - 1));
    const end = Math.min(last, Math.max(0, Math.ceil(hi) + 1));
    return this.#visibleBelow[end + 1] > this.#visibleBelow[first];
  }
}

/** `index = value * scale + offset` into a colour table, for values normalised over `[lo, hi]`. */
export function tableIndexing(
  transfer: TransferFunction,
  lo: number,
  hi: number,
): { readonly scale: number; readonly offset: number } {
  const [from, to] = widened(transfer.range);
  const width = to - from;
  const parts = TABLE_ENTRIES - 2;
  const span = hi > lo ? hi - lo : 0;
  return { scale: (span / width) * parts, offset: ((lo - from) / width) * parts + 1 };
}

/** A range that has more than one value, as the server has it: what has one is in its middle. */
export function widened([lo, hi]: readonly [number, number]): readonly [number, number] {
  if (lo < hi) return [lo, hi];
  const margin = Math.max(Math.abs(lo) * 1e-3, LEAST_MARGIN);
  return [lo - margin, hi + margin];
}

/** A million times the least number that single precision holds in full. */
const LEAST_MARGIN = 1.1754943508222875e-32;

function bracket<P extends readonly [number, ...number[]]>(points: readonly P[], s: number): readonly [P, P, number] {
  let i = 0;
  while (i < points.length && points[i][0] <= s) i++;
  const below = points[Math.max(0, i - 1)];
  const above = points[Math.min(points.length - 1, i)];
  return [below, above, shareOf(below, above, s)];
}

/** How far `s` is on the way from one point to the next. */
function shareOf(below: readonly number[], above: readonly number[], s: number): number {
  const width = above[0] - below[0];
  return width > 0 && s > below[0] ? (s - below[0]) / width : 0;
}

/** Number `column` of the points at `count` places `(first + i) / parts`. */
function along(
  points: readonly (readonly number[])[],
  column: number,
  count: number,
  first: number,
  parts: number,
): Float64Array {
  const values = new Float64Array(count);
  const last = points.length - 1;
  let next = 0;
  for (let i = 0; i < count; i++) {
    const at = (first + i) / parts;
    while (next <= last && points[next][0] <= at) next++;
    const below = points[Math.max(0, next - 1)];
    const above = points[Math.min(last, next)];
    values[i] = lerp(below[column], above[column], shareOf(below, above, at));
  }
  return values;
}

/** Of points at one place, that which ends what is below it. */
function firstAt<P extends readonly [number, ...number[]]>(points: readonly P[], s: number): P | undefined {
  return points.find((point) => point[0] === s);
}

/** Places with more than one point. */
function jumps(points: readonly (readonly number[])[]): number[] {
  return points.filter((point, i) => i > 0 && points[i - 1][0] === point[0]).map((point) => point[0]);
}

function lerp(a: number, b: number, t: number): number {
  return a + (b - a) * t;
}
