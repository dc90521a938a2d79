import type { LevelRanges } from "./ranges";

/** What says which values are visible. */
interface Visibility {
  isVisible(lo: number, hi: number): boolean;
}

/** Greatest distance told; it also stands for *none is visible*. */
const FARTHEST = 255;

/**
 * Per macrocell the Chebyshev distance, in macrocells, to the nearest one that the transfer function makes visible (0: itself), at
 * most 255. `normalised` maps the ranges' values to what `visibility` is asked about: `index = value * scale + offset`.
 */
export function emptyDistances(
  ranges: LevelRanges,
  visibility: Visibility,
  normalised: { readonly scale: number; readonly offset: number },
): Uint8Array<ArrayBuffer> {
  const distances = new Uint8Array(ranges.min.length);
  for (let i = 0; i < distances.length; i++) {
    if (ranges.min[i] > ranges.max[i]) {
      distances[i] = FARTHEST;
      continue;
    }
    const lo = ranges.min[i] * normalised.scale + normalised.offset;
    const hi = ranges.max[i] * normalised.scale + normalised.offset;
    distances[i] = visibility.isVisible(Math.min(lo, hi), Math.max(lo, hi)) ? 0 : FARTHEST;
  }
  spread(distances, ranges.size, 1);
  spread(distances, ranges.size, -1);
  return distances;
}

/**
 * One of two passes that give exact Chebyshev distances: each cell is at most one farther than any of the 13 neighbours that come before
 * it, in memory's order (`step` 1) or against it (-1). The least of neighbours in a plane is that of least ones in rows.
 */
function spread(distances: Uint8Array, [nx, ny, nz]: readonly [number, number, number], step: 1 | -1): void {
  const first = step > 0 ? 0 : distances.length - 1;
  const plane = nx * ny;
  // Of the plane before: the least around in a row, then around in the plane.
  const around = new Uint8Array(plane);
  const before = new Uint8Array(plane).fill(FARTHEST);
  const rowBefore = new Uint8Array(nx);
  for (let z = 0; z < nz; z++) {
    const atPlane = first + step * z * plane;
    for (let y = 0; y < ny; y++) {
      const at = atPlane + step * y * nx;
      let last = FARTHEST;
      for (let x = 0; x < nx; x++) {
        const i = at + step * x;
        let least = before[y * nx + x];
        if (y > 0 && rowBefore[x] < least) least = rowBefore[x];
        if (last < least) least = last;
        last = Math.min(distances[i], least + 1);
        distances[i] = last;
      }
      leastInRow(distances, at, step, rowBefore);
      around.set(rowBefore, y * nx);
    }
    leastOfRows(around, before, nx, ny);
  }
}

/** The least of each cell of a row and its two neighbours. */
function leastInRow(from: Uint8Array, at: number, step: number, to: Uint8Array): void {
  let left = FARTHEST;
  let here = from[at];
  for (let x = 0; x < to.length; x++) {
    const right = x + 1 < to.length ? from[at + step * (x + 1)] : FARTHEST;
    to[x] = Math.min(left, here, right);
    left = here;
    here = right;
  }
}

/** The least of each row and its two neighbours. */
function leastOfRows(from: Uint8Array, to: Uint8Array, nx: number, ny: number): void {
  for (let y = 0; y < ny; y++) {
    const above = y > 0 ? -nx : 0;
    const below = y + 1 < ny ? nx : 0;
    for (let i = y * nx; i < (y + 1) * nx; i++) to[i] = Math.min(from[i + above], from[i], from[i + below]);
  }
}
