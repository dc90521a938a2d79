import type { BrickSet } from "./brick-sets";
import type { FaceSet } from "./face-sets";
import type { SegmentSet } from "./segment-sets";
import type { SlabSet } from "./slab-sets";
import type { Still } from "./stills";

/** `exact`: as RENDERING says; `draft`: rays of bricks ended sooner, for views that move faster than they can be drawn. */
export type Precision = "exact" | "draft";

/** What is on the screen. */
export interface ShownState {
  readonly proxy: "bricks" | "slabs" | "segments" | "still" | "none";
  readonly step: number | null;
  readonly time: number;
  readonly level: number | null;
  readonly bits: number | null;
  readonly field: number | null;
  /** Linear fraction of the full resolution it was drawn at. */
  readonly resolution: number;
  readonly precision: Precision;
}

export const nothingShown: ShownState = {
  proxy: "none",
  step: null,
  time: Number.NaN,
  level: null,
  bits: null,
  field: null,
  resolution: 0,
  precision: "exact",
};

export function bricksShown(set: BrickSet, resolution: number, precision: Precision): ShownState {
  const { step, time, level, bits, field } = set;
  return { proxy: "bricks", step, time, level, bits, field, resolution, precision };
}

export function keyframeShown(
  proxy: "slabs" | "segments",
  { step, time, field }: SlabSet | FaceSet | SegmentSet,
  resolution: number,
): ShownState {
  return { proxy, step, time, level: null, bits: null, field, resolution, precision: "exact" };
}

export function stillShown({ step, time, field }: Still): ShownState {
  return { proxy: "still", step, time, level: 0, bits: null, field, resolution: 1, precision: "exact" };
}
