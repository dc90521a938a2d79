import { widened } from "../volume/index";
import type { KeyView, ProxyChoice } from "../wire/index";
import { angleBetween, basisOf, type Camera, dot } from "./camera";

/** What the user wants to see. */
export interface Wanted {
  readonly field: number;
  /** `null` follows the newest. */
  readonly step: number | null;
  /** How it is to be sent. */
  readonly proxy: ProxyChoice;
}

interface Candidate {
  readonly id: number;
  readonly field: number;
  readonly step: number;
  readonly level: number;
}

/**
 * Whether a complete brick set replaces the one shown.
 *
 * Of one step the finer level wins; of different steps the newer set, unless the shown one is exactly what is wanted.
 */
export function bricksReplace(shown: Candidate | null, next: Candidate, wanted: Wanted): boolean {
  if (next.field !== wanted.field) return false;
  if (shown === null || shown.field !== next.field) return true;
  if (next.step === shown.step) return next.level < shown.level || (next.level === shown.level && next.id > shown.id);
  if (wanted.step !== null && shown.step === wanted.step) return false;
  return next.id > shown.id;
}

/** Where every step is followed, a keyframe stands for the newest step until it is this old. */
const KEYFRAME_LIFE_MS = 1500;

interface Keyframe {
  readonly id: number;
  readonly field: number;
  readonly step: number;
  /** When it was complete, page clock. */
  readonly since: number;
}

/** Whether a keyframe shows what is wanted at least as well as the brick set does, camera aside. */
export function keyframeFits(keyframe: Keyframe, bricks: Candidate | null, wanted: Wanted, now: number): boolean {
  if (keyframe.field !== wanted.field) return false;
  if (wanted.proxy === "bricks" && bricks?.field === wanted.field) return false;
  if (bricks === null || bricks.field !== wanted.field || keyframe.step === bricks.step) return true;
  if (wanted.step !== null) return keyframe.step === wanted.step;
  // Of a simulation that began anew, what was sent earlier is of the run before.
  const isNewer = keyframe.step > bricks.step && keyframe.id > bricks.id;
  return isNewer || now - keyframe.since < KEYFRAME_LIFE_MS;
}

/** When a keyframe that fits gives way to the bricks that are there, page clock; `null` if it does not. */
export function lapseOf(keyframe: Keyframe, bricks: Candidate | null, wanted: Wanted): number | null {
  const lapses = keyframe.since + KEYFRAME_LIFE_MS;
  return keyframeFits(keyframe, bricks, wanted, lapses) ? null : lapses;
}

/** Of a number of single precision: a few of its last digits. */
const ROUNDING = 4 * 2 ** -24;

/**
 * Whether a keyframe's codes hold all that a transfer function tells apart of its step: values beyond its range are at its ends.
 *
 * The server makes them over what the transfer function's range and the data's have in common and, where there are data, half as much again to
 * either side; new ones where that changes. One that was made for a wider range serves a narrower one meanwhile.
 */
export function rangeHolds(
  keyframe: { readonly step: number; readonly range: readonly [number, number] },
  bricks: { readonly step: number; readonly lo: number; readonly hi: number } | null,
  transfer: { readonly range: readonly [number, number] },
): boolean {
  if (bricks === null || bricks.step !== keyframe.step) return true;
  // As the server has them, which may round once more where it makes a range of two bounds.
  const [from, to] = widened(transfer.range).map(Math.fround);
  const [lo, hi] = [Math.max(from, bricks.lo), Math.min(to, bricks.hi)];
  const largest = Math.max(...keyframe.range.map(Math.abs));
  const slack = 1e-4 * (keyframe.range[1] - keyframe.range[0]) + ROUNDING * largest;
  return !(lo < hi) || (lo >= keyframe.range[0] - slack && hi <= keyframe.range[1] + slack);
}

/** Beyond these angles from the key view, in degrees, slabs of colours and of values are worse than coarse bricks. */
export const WIDEST_ANGLE = { colours: 35, values: 50 } as const;

/** Whether a keyframe of slabs may stand for the volume as seen by `camera`, up to an angle from its key view. */
export function slabsServe(set: KeyView, camera: Camera, widestAngle: number): boolean {
  if (angleBetween(set.camera, camera) > widestAngle) return false;
  const key = basisOf(set.camera);
  const { eye } = basisOf(camera);
  const depth = dot([eye[0] - key.eye[0], eye[1] - key.eye[1], eye[2] - key.eye[2]], set.normal);
  return depth < set.near + 0.25 * (set.far - set.near);
}

/** Of keyframes that serve, the one that was sent last; of the kind that is asked for, if there is one. */
export function newestOf<Serving extends { readonly kind: string; readonly id: number }>(
  keyframes: readonly Serving[],
  proxy: ProxyChoice,
): Serving | null {
  const asked = keyframes.filter((keyframe) => keyframe.kind === proxy);
  const among = asked.length > 0 ? asked : keyframes;
  return among.reduce<Serving | null>((newest, next) => (newest && newest.id > next.id ? newest : next), null);
}
