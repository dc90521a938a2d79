import type { Camera } from "../render/index";
import { FARTHEST_TARGET, MOST_STRETCH, NEAREST, UNCROPPED, UNSTRETCHED, type Vec3 } from "../volume/index";
import { type Crop, type Part, PROXY_CHOICES, type ProxyChoice, UPS, type Up } from "../wire/index";
import { LinkEntries, readFlag, readNumbers } from "./link-entries";
import { exact, fieldOfKey, type LinkedTransfer, readTransfer, short, writeTransfer } from "./link-transfer";

/** What a copied URL restores. */
export interface LinkState {
  readonly camera: Camera;
  /** The axis that is up, where that is said. */
  readonly up: Up | null;
  /** The place whose value is told, in sample coordinates. */
  readonly mark: Vec3 | null;
  readonly field: string | null;
  /** `null` follows the newest. */
  readonly step: number | null;
  /** Steps follow each other. */
  readonly playing: boolean;
  /** Steps that playing goes on by. */
  readonly stride: number;
  readonly proxy: ProxyChoice;
  readonly panel: boolean;
  readonly axes: boolean;
  /** The value of that place is shown over time. */
  readonly plot: boolean;
  /** Of the field. */
  readonly transfer: LinkedTransfer | null;
  /** Of other fields, by their names. */
  readonly others: ReadonlyMap<string, LinkedTransfer>;
}

/** What a link may say; those of transfer functions also with a dot and the name of another field. */
export const LINK_KEYS = [
  "view",
  "at",
  "stretch",
  "up",
  "crop",
  "mark",
  "step",
  "play",
  "by",
  "field",
  "proxy",
  "panel",
  "axes",
  "plot",
  "range",
  "map",
  "opacity",
] as const;

export function writeHash(state: LinkState): string {
  const { camera } = state;
  const parts: [string, string][] = [
    ["view", [camera.azimuth, camera.elevation, camera.distance, camera.fov].map(short).join(",")],
    ["step", state.step === null ? "live" : String(state.step)],
  ];
  if (state.playing) parts.push(["play", "1"]);
  if (state.stride !== 1) parts.push(["by", String(state.stride)]);
  if (camera.target.some((n) => n !== 0)) parts.push(["at", camera.target.map(short).join(",")]);
  if (camera.stretch.some((n) => n !== 1)) parts.push(["stretch", camera.stretch.map(exact).join(",")]);
  if (state.up !== null) parts.push(["up", state.up]);
  if (camera.crop.some(([from, to]) => from !== 0 || to !== 1)) parts.push(["crop", writeCrop(camera.crop)]);
  if (state.mark !== null) parts.push(["mark", state.mark.map(short).join(",")]);
  if (state.field !== null) parts.push(["field", state.field]);
  if (state.proxy !== "auto") parts.push(["proxy", state.proxy]);
  parts.push(["panel", state.panel ? "1" : "0"]);
  parts.push(["axes", state.axes ? "1" : "0"]);
  if (state.plot) parts.push(["plot", "1"]);
  if (state.transfer) parts.push(...writeTransfer(state.transfer, ""));
  for (const [name, transfer] of state.others) parts.push(...writeTransfer(transfer, `.${name}`));
  return `#${parts.map((words) => words.map(encoded).join("=")).join("&")}`;
}

/** A link as read: what it does not say is `undefined` (step) or `null`. */
export type ReadLink = Omit<LinkState, "camera" | "step" | "panel"> & {
  readonly camera: Camera | null;
  /** How many times as long axes are shown, whether it has a camera or not. */
  readonly stretch: Vec3;
  /** What is shown of the box, whether it has a camera or not. */
  readonly crop: Crop;
  readonly step: number | null | undefined;
  readonly panel: boolean | null;
  /** Keys that no link has. */
  readonly unknown: readonly string[];
  /** What else it says in vain, as `key=value`. */
  readonly unusable: readonly string[];
};

/** Reads what it can; what is missing or damaged takes its default. */
export function readHash(hash: string): ReadLink {
  const entries = new LinkEntries(hash);
  const up = entries.take("up", (name) => UPS.find((up) => up === name)) ?? null;
  const stretch = entries.take("stretch", readStretch) ?? UNSTRETCHED;
  const crop = entries.take("crop", readCrop) ?? UNCROPPED;
  const read = {
    camera: readCamera(entries, { stretch, up: up ?? "y", crop }),
    up,
    stretch,
    crop,
    mark: entries.take("mark", readMark) ?? null,
    field: entries.take("field", (name) => name) ?? null,
    step: entries.take("step", readStep),
    playing: entries.take("play", readFlag) ?? false,
    stride: entries.take("by", readStride) ?? 1,
    proxy: entries.take("proxy", (name) => PROXY_CHOICES.find((choice) => choice === name)) ?? "auto",
    panel: entries.take("panel", readFlag) ?? null,
    axes: entries.take("axes", readFlag) ?? true,
    plot: entries.take("plot", readFlag) ?? false,
    transfer: readTransfer(entries, ""),
    others: readOthers(entries),
  };
  return { ...read, unknown: entries.keys.filter((key) => !isKnown(key)), unusable: entries.unusable };
}

function isKnown(key: string): boolean {
  return LINK_KEYS.some((known) => known === key) || fieldOfKey(key) !== null;
}

/** A place to look at is one of a view, and of no use without it. */
function readCamera(entries: LinkEntries, stance: Pick<Camera, "stretch" | "up" | "crop">): Camera | null {
  const view = entries.take("view", (text) => {
    const read = readNumbers(text, 4);
    if (!read) return undefined;
    const [azimuth, elevation, distance, fov] = read;
    const isTurned = Math.abs(azimuth) <= 360 && Math.abs(elevation) < 90;
    return isTurned && distance >= NEAREST && distance < 100 && fov > 1 && fov < 120 ? read : undefined;
  });
  const at = entries.take("at", (text) => {
    const read = view && readNumbers(text, 3);
    return read?.every((n) => Math.abs(n) <= FARTHEST_TARGET) ? read : undefined;
  });
  if (!view) return null;
  const target: Camera["target"] = at ? [at[0], at[1], at[2]] : [0, 0, 0];
  return { azimuth: view[0], elevation: view[1], distance: view[2], fov: view[3], target, ...stance };
}

function readStretch(text: string): Vec3 | undefined {
  const times = readNumbers(text, 3);
  return times?.every((n) => n >= 1 / MOST_STRETCH && n <= MOST_STRETCH) ? [times[0], times[1], times[2]] : undefined;
}

/** As `visapult render --crop` takes it: a part of each axis, of which an end that is that of the box may be left out. */
function readCrop(text: string): Crop | undefined {
  const [x, y, z, ...rest] = text.split(",").map(readPart);
  return x && y && z && rest.length === 0 ? [x, y, z] : undefined;
}

function readPart(text: string): Part | undefined {
  const [from, to, ...rest] = text.split(":").map((end, i) => (end.trim() === "" ? i : Number(end)));
  return rest.length === 0 && from >= 0 && from < to && to <= 1 ? [from, to] : undefined;
}

function writeCrop(crop: Crop): string {
  return crop.map((part) => part.map(share).join(":")).join(",");
}

/** Exact enough for one of a million samples. */
function share(n: number): string {
  return String(Number(n.toFixed(7)));
}

/** Half a sample may lie before the first. */
function readMark(text: string): Vec3 | undefined {
  const place = readNumbers(text, 3);
  return place?.every((n) => n >= -0.5) ? [place[0], place[1], place[2]] : undefined;
}

function readOthers(entries: LinkEntries): Map<string, LinkedTransfer> {
  const names = new Set(entries.keys.flatMap((key) => fieldOfKey(key) ?? []));
  const read = [...names].map((name) => [name, readTransfer(entries, `.${name}`)] as const);
  return new Map(read.flatMap(([name, transfer]) => (transfer ? [[name, transfer] as const] : [])));
}

function readStep(text: string): number | null | undefined {
  if (text === "live") return null;
  const step = text.trim() === "" ? Number.NaN : Number(text);
  return Number.isSafeInteger(step) && step >= 0 ? step : undefined;
}

function readStride(text: string): number | undefined {
  const stride = readStep(text);
  return stride ? stride : undefined;
}

function encoded(words: string): string {
  return encodeURIComponent(words).replaceAll("%2C", ",").replaceAll("%3A", ":");
}
