import type { Scale } from "../volume/index";
import type { Range } from "./numbers";
import type { Histogram } from "./transfer-editor";

/** Values of a step beyond the range that is shown: between which shares they are, and from where to where all values of the step go. */
export interface Outside {
  readonly least: number;
  readonly most: number;
  readonly extent: Range;
}

/** Share of the range shown by which values may lie beyond it without a word: nobody sees that. */
const SLACK = 0.01;

/** Values that were counted together, and whether all of them are certain to be outside the range shown, or inside. */
interface Group {
  readonly count: number;
  readonly isOutside: boolean;
  readonly isInside: boolean;
}

/** What is beyond the range that is shown, if any of it would look different in a wider one. */
export function whatLiesOutside(histogram: Histogram, asked: Range): Outside | null {
  const { finite, extent } = histogram;
  // As the server has them: of the same number a link and a message may have other digits.
  const [range, ends, shown] = [histogram.range, extent, asked].map(single);
  const slack = SLACK * (shown[1] - shown[0]);
  if (finite === 0 || (ends[0] >= shown[0] - slack && ends[1] <= shown[1] + slack)) return null;
  const groups = [...ofBins(histogram.counts, range, shown), ofTheRest(histogram, range, ends, shown)];
  const share = (is: (group: Group) => boolean) =>
    groups.reduce((sum, group) => sum + (is(group) ? group.count : 0), 0) / finite;
  return { least: share(({ isOutside }) => isOutside), most: share(({ isInside }) => !isInside), extent };
}

function ofBins(counts: readonly number[], range: Range, shown: Range): readonly Group[] {
  const bin = (range[1] - range[0]) / counts.length;
  const edge = (i: number) => (i === counts.length ? range[1] : range[0] + i * bin);
  return counts.map((count, i) => {
    const [lo, hi] = [edge(i), edge(i + 1)];
    return { count, isOutside: hi < shown[0] || lo > shown[1], isInside: lo >= shown[0] && hi <= shown[1] };
  });
}

/** Of those that no bin has: they are beyond the histogram, at either end of it, and none of them on its bounds. */
function ofTheRest({ counts, finite }: Histogram, range: Range, ends: Range, shown: Range): Group {
  const [hasBelow, hasAbove] = [ends[0] < range[0], ends[1] > range[1]];
  const isOutsideBelow = !hasBelow || shown[0] >= range[0] || shown[1] < ends[0];
  const isOutsideAbove = !hasAbove || shown[1] <= range[1] || shown[0] > ends[1];
  const isInsideBelow = !hasBelow || (shown[0] <= ends[0] && shown[1] >= range[0]);
  const isInsideAbove = !hasAbove || (shown[1] >= ends[1] && shown[0] <= range[1]);
  return {
    count: finite - counts.reduce((sum, count) => sum + count, 0),
    isOutside: isOutsideBelow && isOutsideAbove,
    isInside: (hasBelow || hasAbove) && isInsideBelow && isInsideAbove,
  };
}

function single([lo, hi]: Range): Range {
  return [Math.fround(lo), Math.fround(hi)];
}

const FEW = 1e-4;

/** How many of the values lie outside, as well as that is known. */
export function shareWords({ least, most }: Pick<Outside, "least" | "most">, scale: Scale): string {
  const values = valuesOn(scale);
  if (least === 1) return `All ${values}`;
  if (most < FEW) return `Less than ${100 * FEW} % of ${values}`;
  const [from, to] = [least, most].map((share) => Number((100 * share).toPrecision(2)));
  if (from === to && from < 100) return `${from} % of ${values}`;
  return least < FEW ? `At most ${upTo(most)} % of ${values}` : `At least ${downTo(least)} % of ${values}`;
}

/** Per cent with two digits, rounded towards 0. */
function downTo(share: number): number {
  const digit = 10 ** (Math.floor(Math.log10(100 * share)) - 1);
  return Number((Math.floor((100 * share) / digit) * digit).toPrecision(2));
}

/** Rounded away from 0. */
function upTo(share: number): number {
  const digit = 10 ** (Math.floor(Math.log10(100 * share)) - 1);
  return Math.min(100, Number((Math.ceil((100 * share) / digit) * digit).toPrecision(2)));
}

/** What there is to be counted on a scale. */
export function valuesOn(scale: Scale): string {
  return scale === "logarithmic" ? "values above 0" : "values";
}
