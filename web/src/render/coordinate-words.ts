import type { AxisScale } from "../volume/index";
import { formatNumber } from "./ticks";

/** Signs for units whose names are long. */
const DEGREES: readonly (readonly [names: RegExp, sign: string])[] = [
  [/^degrees?_?n(orth)?$/i, "\u00b0N"],
  [/^degrees?_?e(ast)?$/i, "\u00b0E"],
  [/^degrees?$/i, "\u00b0"],
];

/** A unit as it is written along an axis. */
export function unitSign(unit: string): string {
  return DEGREES.find(([names]) => names.test(unit))?.[1] ?? unit;
}

/** The coordinate at a place between the faces of a box, 0 to 1, to a tenth of the distance of the samples there. */
export function coordinateWords(scale: AxisScale, place: number, samples: number): string {
  const beside = [-1, 1].map((side) => scale.valueAt(Math.min(1, Math.max(0, place + side / Math.max(1, samples)))));
  const apart = Math.abs(beside[1] - beside[0]) / 2;
  return formatNumber(scale.valueAt(place), apart > 0 ? 10 * apart : undefined).replaceAll("\u2212", "-");
}
