import type { Box } from "./boxes";

/** A box of which bricks are lost. */
export interface TornBox extends Box {
  /** Their parts. */
  readonly lost: readonly number[];
}

/** Of which rows of a level all samples in a box came: bit `y % 2 + z % 2 * 2` stands for every row y of a slice z. */
export function rowsThatCame(torn: readonly TornBox[], { lo, size }: Box): number {
  let came = 15;
  for (const other of torn) {
    const meets = other.lo.every((from, axis) => from < lo[axis] + size[axis] && lo[axis] < from + other.size[axis]);
    if (!meets) continue;
    for (const part of other.lost) {
      const [row, slice] = [(other.lo[1] + part) & 1, (other.lo[2] + (part >> 1)) & 1];
      came &= ~(1 << (row | (slice << 1)));
    }
  }
  return came;
}
