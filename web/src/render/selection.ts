import type { ProxyChoice } from "../wire/index";

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
  readonly field: number;
  readonly step: number;
  /** When it was complete, page clock. */
  readonly since: number;
}

/** Whether a keyframe shows what is wanted at least as well as the brick set does, camera aside. */
export function slabsFit(slabs: Keyframe, bricks: Candidate | null, wanted: Wanted, now: number): boolean {
  if (slabs.field !== wanted.field) return false;
  if (wanted.proxy === "bricks" && bricks?.field === wanted.field) return false;
  if (bricks === null || bricks.field !== wanted.field || slabs.step === bricks.step) return true;
  if (wanted.step !== null) return slabs.step === wanted.step;
  return slabs.step > bricks.step || now - slabs.since < KEYFRAME_LIFE_MS;
}

/**
 * Whether a keyframe's codes hold all that a transfer function tells apart of its step: values beyond its range are at its ends.
 *
 * The server makes scalar slabs over what the transfer function's range and the data's have in common, segments over all of the transfer
 * function's, and new ones where that changes.
 */
export function rangeHolds(
  keyframe: { readonly step: number; readonly range: readonly [number, number] },
  bricks: { readonly step: number; readonly lo: number; readonly hi: number } | null,
  transfer: { readonly range: readonly [number, number] },
): boolean {
  if (bricks === null || bricks.step !== keyframe.step) return true;
  const [lo, hi] = [Math.max(transfer.range[0], bricks.lo), Math.min(transfer.range[1], bricks.hi)];
  const slack = 1e-4 * (keyframe.range[1] - keyframe.range[0]);
  return !(lo < hi) || (lo >= keyframe.range[0] - slack && hi <= keyframe.range[1] + slack);
}
