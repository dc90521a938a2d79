import type { AlongAxis, GridInfo, SourceInfo } from "../wire/index";
import { edgesOf } from "./geometry";

/** The numbers along an axis of the box. */
export interface AxisScale {
  /** The axis, and what the source calls what is told along it. */
  readonly name: string;
  readonly unit: string;
  /** At the face where the axis begins, and at the other; they may fall. */
  readonly ends: readonly [number, number];
  /** The coordinates themselves, where samples lie unevenly: round numbers would crowd where they are far apart. */
  readonly stops: readonly number[] | null;
  /** Where a number stands between the ends: 0 at the first, 1 at the other. */
  placeOf(value: number): number;
  /** The number at such a place. */
  valueAt(place: number): number;
}

export const AXIS_NAMES = ["x", "y", "z"] as const;
/** Coordinates are even that lie elsewhere by so much of all of their axis at most. */
const EVEN = 0.01;

/** Of x, y, z. */
export type AxisScales = readonly [AxisScale, AxisScale, AxisScale];

/** Those of a source: as its grid has it, but where its coordinates tell more. */
export function axisScales({ grid, along }: Pick<SourceInfo, "grid" | "along">): AxisScales {
  const scale = (axis: 0 | 1 | 2) => {
    const told = along[axis];
    if (!told) return gridScale(grid, axis);
    return told.values.length > 1 ? toldScale(grid, axis, told) : soleScale(axis, told);
  };
  return [scale(0), scale(1), scale(2)];
}

function gridScale(grid: GridInfo, axis: 0 | 1 | 2): AxisScale {
  const first = grid.origin[axis] - (grid.centering === "cell" ? grid.spacing[axis] / 2 : 0);
  const ends = [first, first + edgesOf(grid)[axis]] as const;
  return {
    name: AXIS_NAMES[axis],
    unit: grid.unit,
    ends,
    stops: null,
    placeOf: (value) => share(value, ends[0], ends[1]),
    valueAt: (place) => ends[0] + place * (ends[1] - ends[0]),
  };
}

/** Of one sample: where it lies, in the middle of the box. */
function soleScale(axis: 0 | 1 | 2, { name, unit, values: [value] }: AlongAxis): AxisScale {
  const at = { placeOf: () => 0.5, valueAt: () => value };
  return { name: nameOf(axis, name), unit, ends: [value, value], stops: null, ...at };
}

/** The axis, and what it is called where that is another name. */
function nameOf(axis: 0 | 1 | 2, name: string): string {
  return name === "" || name.toLowerCase() === AXIS_NAMES[axis] ? AXIS_NAMES[axis] : `${AXIS_NAMES[axis]}: ${name}`;
}

/** Of two samples or more: linear between them, and on to the faces of cells. */
function toldScale(grid: GridInfo, axis: 0 | 1 | 2, { name, unit, values }: AlongAxis): AxisScale {
  const last = values.length - 1;
  // Samples of cells lie half a cell inside: in parts of the way from the first to the last.
  const beyond = grid.centering === "cell" ? 0.5 / (grid.size[axis] - 1) : 0;
  const valueBetween = (place: number) => {
    const before = Math.min(last - 1, Math.max(0, Math.floor(place)));
    return values[before] + (place - before) * (values[before + 1] - values[before]);
  };
  const valueAt = (place: number) => valueBetween((place * (1 + 2 * beyond) - beyond) * last);
  const rises = values[last] > values[0];
  const placeOf = (value: number) => {
    let [below, above] = [0, last];
    while (above - below > 1) {
      const middle = (below + above) >> 1;
      if (value > values[middle] === rises) below = middle;
      else above = middle;
    }
    const place = (below + share(value, values[below], values[above])) / last;
    return (place + beyond) / (1 + 2 * beyond);
  };
  const ends = [valueAt(0), valueAt(1)] as const;
  const even = (i: number) => values[0] + ((values[last] - values[0]) * i) / last;
  const isUneven = values.some((value, i) => Math.abs(value - even(i)) > EVEN * Math.abs(values[last] - values[0]));
  return { name: nameOf(axis, name), unit, ends, stops: isUneven ? values : null, placeOf, valueAt };
}

function share(value: number, lo: number, hi: number): number {
  return hi === lo ? 0 : (value - lo) / (hi - lo);
}
