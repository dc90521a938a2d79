import type { Camera } from "../render/index";
import { isColourMapName, type OpacityPoint, type TransferFunction } from "../volume/index";
import { type ProxyChoice, proxyChoice } from "../wire/index";

/** What a copied URL restores. */
export interface LinkState {
  readonly camera: Camera;
  readonly field: string | null;
  /** `null` follows the newest. */
  readonly step: number | null;
  /** Steps follow each other. */
  readonly playing: boolean;
  readonly proxy: ProxyChoice;
  readonly panel: boolean;
  readonly axes: boolean;
  /** Of the field. */
  readonly transfer: TransferFunction | null;
  /** Of other fields, by their names. */
  readonly others: ReadonlyMap<string, TransferFunction>;
}

const RANGE_OF = "range.";
/** What a link may say; those of transfer functions also with a dot and the name of another field. */
export const LINK_KEYS = [
  "view",
  "at",
  "step",
  "play",
  "field",
  "proxy",
  "panel",
  "axes",
  "range",
  "map",
  "opacity",
] as const;
const OF_FIELDS = [RANGE_OF, "map.", "opacity."] as const;

export function writeHash(state: LinkState): string {
  const { camera } = state;
  const parts: [string, string][] = [
    ["view", [camera.azimuth, camera.elevation, camera.distance, camera.fov].map(short).join(",")],
    ["step", state.step === null ? "live" : String(state.step)],
  ];
  if (state.playing) parts.push(["play", "1"]);
  if (camera.target.some((n) => n !== 0)) parts.push(["at", camera.target.map(short).join(",")]);
  if (state.field !== null) parts.push(["field", state.field]);
  if (state.proxy !== "auto") parts.push(["proxy", state.proxy]);
  parts.push(["panel", state.panel ? "1" : "0"]);
  parts.push(["axes", state.axes ? "1" : "0"]);
  if (state.transfer) parts.push(...writeTransfer(state.transfer, ""));
  for (const [name, transfer] of state.others) parts.push(...writeTransfer(transfer, `.${name}`));
  return `#${parts.map((words) => words.map(encoded).join("=")).join("&")}`;
}

/** A link as read: what it does not say is `undefined` (step) or `null`. */
export type ReadLink = Omit<LinkState, "camera" | "step" | "panel"> & {
  readonly camera: Camera | null;
  readonly step: number | null | undefined;
  readonly panel: boolean | null;
  /** Keys that no link has. */
  readonly unknown: readonly string[];
};

/** Reads what it can; what is missing or damaged takes its default. */
export function readHash(hash: string): ReadLink {
  const entries = new URLSearchParams(hash.replace(/^#/, ""));
  const view = numbers(entries.get("view"), 4);
  const at = numbers(entries.get("at"), 3);
  const sane = view && Math.abs(view[1]) < 90 && view[2] > 0 && view[2] < 100 && view[3] > 1 && view[3] < 120;
  const target: Camera["target"] = at ? [at[0], at[1], at[2]] : [0, 0, 0];
  const camera = sane ? { azimuth: view[0], elevation: view[1], distance: view[2], fov: view[3], target } : null;
  return {
    camera,
    field: entries.get("field"),
    step: readStep(entries.get("step")),
    playing: entries.get("play") === "1",
    proxy: proxyChoice(entries.get("proxy")),
    panel: entries.has("panel") ? entries.get("panel") !== "0" : null,
    axes: entries.get("axes") !== "0",
    transfer: readTransfer(entries, ""),
    others: readOthers(entries),
    unknown: [...new Set(entries.keys())].filter((key) => !isKnown(key)),
  };
}

function isKnown(key: string): boolean {
  return LINK_KEYS.some((known) => known === key) || OF_FIELDS.some((known) => key.startsWith(known));
}

function readOthers(entries: URLSearchParams): Map<string, TransferFunction> {
  const names = [...entries.keys()].filter((key) => key.startsWith(RANGE_OF)).map((key) => key.slice(RANGE_OF.length));
  const read = names.map((name) => [name, readTransfer(entries, `.${name}`)] as const);
  return new Map(read.flatMap(([name, transfer]) => (transfer ? [[name, transfer] as const] : [])));
}

function readStep(text: string | null): number | null | undefined {
  if (text === "live") return null;
  const step = text === null ? Number.NaN : Number(text);
  return Number.isInteger(step) && step >= 0 ? step : undefined;
}

/** `suffix`: of the keys; that of fields other than the one shown is a dot and their name. */
function writeTransfer(transfer: TransferFunction, suffix: string): [string, string][] {
  const { colours } = transfer;
  const map = colours.kind === "map" ? colours.name : colours.stops.map((stop) => stop.map(short).join(",")).join(";");
  return [
    [`range${suffix}`, transfer.range.map(exact).join(",")],
    [`map${suffix}`, map],
    [`opacity${suffix}`, transfer.opacity.map((point) => point.map(short).join(",")).join(";")],
  ];
}

function readTransfer(entries: URLSearchParams, suffix: string): TransferFunction | null {
  const range = numbers(entries.get(`range${suffix}`), 2);
  const opacity = lists(entries.get(`opacity${suffix}`), 2)?.map(([s, a]): OpacityPoint => [unit(s), unit(a)]);
  const map = entries.get(`map${suffix}`);
  if (!range || !opacity || opacity.length < 2 || map === null) return null;
  const sorted = opacity.sort((p, q) => p[0] - q[0]);
  const base = { range: [range[0], range[1]] as const, opacity: sorted };
  if (isColourMapName(map)) return { ...base, colours: { kind: "map", name: map } };
  const stops = lists(map, 4);
  if (!stops || stops.length === 0) return null;
  return {
    ...base,
    colours: { kind: "stops", stops: stops.map(([s, r, g, b]) => [unit(s), unit(r), unit(g), unit(b)]) },
  };
}

function lists(text: string | null, length: number): number[][] | null {
  if (!text) return null;
  const found = text.split(";", 64).map((part) => numbers(part, length));
  return found.every((part) => part !== null) ? (found as number[][]) : null;
}

function numbers(text: string | null, count: number): number[] | null {
  const found = text?.split(",").map(Number);
  return found && found.length === count && found.every(Number.isFinite) ? found : null;
}

function unit(n: number): number {
  return Math.min(1, Math.max(0, n));
}

function encoded(words: string): string {
  return encodeURIComponent(words).replaceAll("%2C", ",");
}

function short(n: number): string {
  return String(Number(n.toFixed(4)));
}

function exact(n: number): string {
  return String(Number(n.toPrecision(9)));
}
