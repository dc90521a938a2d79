import type { Scale } from "../volume/index";
import type { Range } from "./numbers";
import type { Histogram } from "./transfer-editor";

/** Values of a step beyond the range that is shown: their share, and from where to where all values of the step go. */
export interface Outside {
  readonly share: number;
  readonly extent: Range;
}

/** Share of the range shown by which values may lie beyond it without a word: nobody sees that. */
const SLACK = 0.01;

/** What is beyond the range that is shown, if any of it would look different in a wider one. */
export function whatLiesOutside({ range, counts, finite, extent }: Histogram, shown: Range): Outside | null {
  const slack = SLACK * (shown[1] - shown[0]);
  if (finite === 0 || (extent[0] >= shown[0] - slack && extent[1] <= shown[1] + slack)) return null;
  const bin = (range[1] - range[0]) / counts.length;
  const isInside = (_: number, i: number) => {
    const middle = range[0] + (i + 0.5) * bin;
    return middle >= shown[0] && middle <= shown[1];
  };
  const inside = counts.filter(isInside).reduce((sum, count) => sum + count, 0);
  return { share: 1 - inside / finite, extent };
}

export function shareWords(share: number, scale: Scale): string {
  if (share >= 0.9995) return `All ${valuesOn(scale)}`;
  return `${share < 1e-4 ? "Less than 0.01" : Number((100 * share).toPrecision(2))} % of ${valuesOn(scale)}`;
}

/** What there is to be counted on a scale. */
export function valuesOn(scale: Scale): string {
  return scale === "logarithmic" ? "values above 0" : "values";
}
