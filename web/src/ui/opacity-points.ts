import type { OpacityPoint } from "../volume/index";

/** Between the point at `index` and the next one, or the one before where it is the last and at the end; and which one it becomes. */
export function pointBeside(
  opacity: readonly OpacityPoint[],
  index: number,
): readonly [point: OpacityPoint, at: number] {
  const here = opacity[index];
  const isEnd = index === opacity.length - 1 && here[0] >= 1;
  const other = isEnd ? opacity[index - 1] : (opacity[index + 1] ?? [1, here[1]]);
  return [[(here[0] + other[0]) / 2, (here[1] + other[1]) / 2], isEnd ? index : index + 1];
}
