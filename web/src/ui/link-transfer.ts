import { type Colours, isColourMapName, type OpacityPoint, type TransferFunction } from "../volume/index";
import { type LinkEntries, readLists, readNumbers } from "./link-entries";

/** What a link says of a transfer function; the rest is the server's. */
export type LinkedTransfer = Partial<TransferFunction>;

/** Together what the server takes of one function: 256 points. */
const MOST_STOPS = 192;
const MOST_POINTS = 64;

const KEYS = ["range", "map", "opacity"] as const;

/** The name of the field that a key of a link is about; `null` where it is about none, or that shown. */
export function fieldOfKey(key: string): string | null {
  const about = KEYS.find((known) => key.startsWith(`${known}.`));
  return about ? key.slice(about.length + 1) : null;
}

export function isWhole(linked: LinkedTransfer): linked is TransferFunction {
  return linked.range !== undefined && linked.colours !== undefined && linked.opacity !== undefined;
}

/** `suffix`: of the keys; that of fields other than the one shown is a dot and their name. */
export function writeTransfer({ range, colours, opacity }: LinkedTransfer, suffix: string): [string, string][] {
  const parts: [string, string][] = [];
  if (range) parts.push([`range${suffix}`, range.map(exact).join(",")]);
  if (colours) parts.push([`map${suffix}`, colours.kind === "map" ? colours.name : listed(colours.stops)]);
  if (opacity) parts.push([`opacity${suffix}`, listed(opacity)]);
  return parts;
}

/** `null` where the link says nothing of it that can be used. */
export function readTransfer(entries: LinkEntries, suffix: string): LinkedTransfer | null {
  const range = entries.take(`range${suffix}`, readRange);
  const colours = entries.take(`map${suffix}`, readColours);
  const opacity = entries.take(`opacity${suffix}`, readOpacity);
  const read = { ...(range && { range }), ...(colours && { colours }), ...(opacity && { opacity }) };
  return Object.keys(read).length > 0 ? read : null;
}

/** The server takes the bounds in single precision, and none that are not in order. */
function readRange(text: string): TransferFunction["range"] | undefined {
  const bounds = readNumbers(text, 2);
  if (!bounds) return undefined;
  const [lo, hi] = bounds.map(Math.fround);
  return Number.isFinite(lo) && Number.isFinite(hi) && lo <= hi ? [bounds[0], bounds[1]] : undefined;
}

function readColours(text: string): Colours | undefined {
  if (isColourMapName(text)) return { kind: "map", name: text };
  const stops = readShares(text, 4, MOST_STOPS)?.map(([s, r, g, b]) => [s, r, g, b] as const);
  return stops && { kind: "stops", stops: stops.sort((p, q) => p[0] - q[0]) };
}

function readOpacity(text: string): readonly OpacityPoint[] | undefined {
  const points = readShares(text, 2, MOST_POINTS)?.map(([s, a]): OpacityPoint => [s, a]);
  return points && points.length >= 2 ? points.sort((p, q) => p[0] - q[0]) : undefined;
}

/** Lists of numbers of which each lies between 0 and 1. */
function readShares(text: string, length: number, most: number): readonly (readonly number[])[] | undefined {
  const lists = readLists(text, length, most);
  return lists?.every((list) => list.every((n) => n >= 0 && n <= 1)) ? lists : undefined;
}

function listed(points: readonly (readonly number[])[]): string {
  return points.map((point) => point.map(short).join(",")).join(";");
}

export function short(n: number): string {
  return String(Number(n.toFixed(4)));
}

/** To as many digits as single precision has. */
export function exact(n: number): string {
  return String(Number(n.toPrecision(9)));
}
