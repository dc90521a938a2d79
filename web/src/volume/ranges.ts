/** Samples per edge of a macrocell: the unit in which empty space is skipped. */
export const CELL_EDGE = 4;

/** Greater than any code, and a mask of its bits. */
const NO_CODE = 0xffff;

type Size3 = readonly [number, number, number];

/** Smallest and largest value per macrocell over a box of them, `[z, y, x]`; `min > max` where there is no data. */
export interface CellRanges {
  /** First macrocell; -1 where samples also touch the neighbour below. */
  readonly lo: Size3;
  readonly size: Size3;
  readonly min: Float32Array;
  readonly max: Float32Array;
}

/**
 * Extremes of the codes of one brick per macrocell, code 0 (no data) left out.
 *
 * Trilinear interpolation inside macrocell `m` of edge `e` reads samples `e m - 1` to `e m + e`, so the border samples of a brick count for the
 * neighbouring macrocells too: merging the ranges of all bricks gives exact bounds. `codeValue` must not decrease with the code.
 */
export function brickCellRanges(
  codes: Uint8Array | Uint16Array,
  lo: Size3,
  size: Size3,
  codeValue: (code: number) => number,
): CellRanges {
  const first = lo.map((n) => Math.floor((n - 1) / CELL_EDGE)) as [number, number, number];
  const last = lo.map((n, axis) => Math.floor((n + size[axis]) / CELL_EDGE));
  const cells: Size3 = [last[0] - first[0] + 1, last[1] - first[1] + 1, last[2] - first[2] + 1];
  const count = cells[0] * cells[1] * cells[2];
  const least = new Uint16Array(count).fill(NO_CODE);
  const most = new Uint16Array(count);
  const perPlane = cells[0] * cells[1];
  // Of one plane of samples.
  const leastOfPlane = new Uint16Array(perPlane);
  const mostOfPlane = new Uint16Array(perPlane);
  for (let z = 0; z < size[2]; z++) {
    leastOfPlane.fill(NO_CODE);
    mostOfPlane.fill(0);
    for (let y = 0; y < size[1]; y++) {
      const row = (z * size[1] + y) * size[0];
      const offset = lo[1] + y - first[1] * CELL_EDGE;
      const [from, to] = [lowestTouching(offset), highestTouching(offset, cells[1])];
      for (let cx = 0; cx < cells[0]; cx++) {
        const origin = (first[0] + cx) * CELL_EDGE - lo[0];
        const start = row + Math.max(0, origin - 1);
        const end = row + Math.min(size[0] - 1, origin + CELL_EDGE);
        // Without branches, which noise would mispredict; code 0 becomes the largest.
        let a = NO_CODE;
        let b = 0;
        for (let i = start; i <= end; i++) {
          const code = codes[i];
          const less = ((code - 1) & NO_CODE) - a;
          a += less & (less >> 31);
          const more = b - code;
          b -= more & (more >> 31);
        }
        if (b === 0) continue;
        widen(leastOfPlane, mostOfPlane, cx, cells[0], from, to, a + 1, b);
      }
    }
    const offset = lo[2] + z - first[2] * CELL_EDGE;
    const [from, to] = [lowestTouching(offset), highestTouching(offset, cells[2])];
    for (let i = 0; i < perPlane; i++) {
      if (mostOfPlane[i] > 0) widen(least, most, i, perPlane, from, to, leastOfPlane[i], mostOfPlane[i]);
    }
  }
  return { lo: first, size: cells, ...toValues(least, most, codeValue) };
}

/** Ranges of a brick whose samples all have one value, NaN for none. */
export function constantCellRanges(lo: Size3, size: Size3, value: number): CellRanges {
  const first = lo.map((n) => Math.floor((n - 1) / CELL_EDGE)) as [number, number, number];
  const last = lo.map((n, axis) => Math.floor((n + size[axis]) / CELL_EDGE));
  const cells: Size3 = [last[0] - first[0] + 1, last[1] - first[1] + 1, last[2] - first[2] + 1];
  const count = cells[0] * cells[1] * cells[2];
  const missing = Number.isNaN(value);
  return {
    lo: first,
    size: cells,
    min: new Float32Array(count).fill(missing ? Number.POSITIVE_INFINITY : value),
    max: new Float32Array(count).fill(missing ? Number.NEGATIVE_INFINITY : value),
  };
}

/** Ranges of a box of which nothing is known but that its values lie in [0, 1]. */
export function anyCellRanges(lo: Size3, size: Size3): CellRanges {
  const ranges = constantCellRanges(lo, size, 0);
  ranges.max.fill(1);
  return ranges;
}

/** Extremes of a whole level, merged from its bricks. */
export class LevelRanges {
  readonly size: Size3;
  readonly min: Float32Array;
  readonly max: Float32Array;

  constructor(level: Size3) {
    this.size = [cellCount(level[0]), cellCount(level[1]), cellCount(level[2])];
    const count = this.size[0] * this.size[1] * this.size[2];
    this.min = new Float32Array(count).fill(Number.POSITIVE_INFINITY);
    this.max = new Float32Array(count).fill(Number.NEGATIVE_INFINITY);
  }

  merge(part: CellRanges): void {
    for (let z = 0; z < part.size[2]; z++) {
      for (let y = 0; y < part.size[1]; y++) {
        for (let x = 0; x < part.size[0]; x++) {
          const [cx, cy, cz] = [part.lo[0] + x, part.lo[1] + y, part.lo[2] + z];
          if (cx < 0 || cy < 0 || cz < 0 || cx >= this.size[0] || cy >= this.size[1] || cz >= this.size[2]) continue;
          const from = (z * part.size[1] + y) * part.size[0] + x;
          const to = (cz * this.size[1] + cy) * this.size[0] + cx;
          if (part.min[from] < this.min[to]) this.min[to] = part.min[from];
          if (part.max[from] > this.max[to]) this.max[to] = part.max[from];
        }
      }
    }
  }
}

function cellCount(samples: number): number {
  return Math.ceil(samples / CELL_EDGE);
}

/** Widens the ranges number `from` to `to`, `apart` from each other and the first of them at `at`, to codes `a` to `b`. */
function widen(
  least: Uint16Array,
  most: Uint16Array,
  at: number,
  apart: number,
  from: number,
  to: number,
  a: number,
  b: number,
): void {
  for (let i = at + from * apart; i <= at + to * apart; i += apart) {
    if (a < least[i]) least[i] = a;
    if (b > most[i]) most[i] = b;
  }
}

/** First macrocell whose interpolation reads a sample at this offset from the first macrocell. */
function lowestTouching(sample: number): number {
  return Math.max(0, Math.ceil((sample - CELL_EDGE) / CELL_EDGE));
}

/** Last one of so many. */
function highestTouching(sample: number, cells: number): number {
  return Math.min(cells - 1, Math.floor((sample + 1) / CELL_EDGE));
}

function toValues(least: Uint16Array, most: Uint16Array, codeValue: (code: number) => number) {
  const min = new Float32Array(least.length).fill(Number.POSITIVE_INFINITY);
  const max = new Float32Array(least.length).fill(Number.NEGATIVE_INFINITY);
  for (let i = 0; i < least.length; i++) {
    if (most[i] === 0) continue;
    min[i] = codeValue(least[i]);
    max[i] = codeValue(most[i]);
  }
  return { min, max };
}
