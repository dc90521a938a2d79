/** Samples per edge of a macrocell: the unit in which empty space is skipped. */
export const CELL_EDGE = 4;

export type Size3 = readonly [number, number, number];

/** Smallest and largest value per macrocell over a box of them, `[z, y, x]`; `min > max` where there is no data. */
export interface CellRanges {
  /** First macrocell; -1 where samples also touch the neighbour below. */
  readonly lo: Size3;
  readonly size: Size3;
  readonly min: Float32Array;
  readonly max: Float32Array;
}

/** Ranges of a box whose samples all have one value, NaN for none. */
export function constantCellRanges(lo: Size3, size: Size3, value: number): CellRanges {
  const cells = cellsAround(lo, size);
  const count = cells.size[0] * cells.size[1] * cells.size[2];
  const missing = Number.isNaN(value);
  return {
    ...cells,
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

/** The macrocells whose interpolation reads samples of a box. */
export function cellsAround(lo: Size3, size: Size3): { readonly lo: Size3; readonly size: Size3 } {
  const first = lo.map((n) => Math.floor((n - 1) / CELL_EDGE)) as [number, number, number];
  const last = lo.map((n, axis) => Math.floor((n + size[axis]) / CELL_EDGE));
  return { lo: first, size: [last[0] - first[0] + 1, last[1] - first[1] + 1, last[2] - first[2] + 1] };
}
