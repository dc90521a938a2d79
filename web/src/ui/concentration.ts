import type { Range } from "./numbers";
import type { Histogram } from "./transfer-editor";

/** Share of the values that is spoken of. */
export const MOST_VALUES = 0.98;
/** Share of the range shown that they take, at most, where it is worth a word. */
const SMALL_PART = 0.1;

/** Where most values lie, if that is a small part of the range that is shown: the picture hardly tells them apart. */
export function whereMostLie({ range, counts }: Histogram, shown: Range): Range | null {
  const bin = (range[1] - range[0]) / counts.length;
  const [first, last] = fewestBins(counts);
  const [lo, hi] = [range[0] + first * bin, range[0] + last * bin];
  const isApart = Math.fround(lo) < Math.fround(hi);
  return isApart && hi - lo < SMALL_PART * (shown[1] - shown[0]) ? [lo, hi] : null;
}

/** The shortest run of bins, from the first until before the last, with most values in it. */
function fewestBins(counts: readonly number[]): readonly [number, number] {
  const enough = MOST_VALUES * counts.reduce((sum, count) => sum + count, 0);
  let best: readonly [number, number] = [0, counts.length];
  let [first, inside] = [0, 0];
  counts.forEach((count, i) => {
    inside += count;
    while (first < i && inside - counts[first] >= enough) {
      inside -= counts[first];
      first += 1;
    }
    if (inside > 0 && inside >= enough && i + 1 - first < best[1] - best[0]) best = [first, i + 1];
  });
  return best;
}
