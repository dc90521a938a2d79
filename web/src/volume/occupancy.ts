import type { LevelRanges } from "./ranges";

/** What says which values are visible. */
interface Visibility {
  isVisible(lo: number, hi: number): boolean;
}

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
      distances[i] = 255;
      continue;
    }
    const lo = ranges.min[i] * normalised.scale + normalised.offset;
    const hi = ranges.max[i] * normalised.scale + normalised.offset;
    distances[i] = visibility.isVisible(Math.min(lo, hi), Math.max(lo, hi)) ? 0 : 255;
  }
  chebyshev(distances, ranges.size);
  return distances;
}

/** Two-pass distance transform with unit weights to all 26 neighbours: exact for the Chebyshev metric. */
function chebyshev(distances: Uint8Array, size: readonly [number, number, number]): void {
  const [nx, ny, nz] = size;
  const at = (x: number, y: number, z: number) => (z * ny + y) * nx + x;
  const relax = (x: number, y: number, z: number, sign: 1 | -1) => {
    let best = distances[at(x, y, z)];
    if (best === 0) return;
    for (let dz = -1; dz <= 0; dz++) {
      const zz = z + sign * dz;
      if (zz < 0 || zz >= nz) continue;
      for (let dy = -1; dy <= (dz === 0 ? 0 : 1); dy++) {
        const yy = y + sign * dy;
        if (yy < 0 || yy >= ny) continue;
        for (let dx = -1; dx <= (dz === 0 && dy === 0 ? -1 : 1); dx++) {
          const xx = x + sign * dx;
          if (xx < 0 || xx >= nx) continue;
          const near = distances[at(xx, yy, zz)] + 1;
          if (near < best) best = near;
        }
      }
    }
    distances[at(x, y, z)] = best;
  };
  for (let z = 0; z < nz; z++) for (let y = 0; y < ny; y++) for (let x = 0; x < nx; x++) relax(x, y, z, 1);
  for (let z = nz - 1; z >= 0; z--) {
    for (let y = ny - 1; y >= 0; y--) for (let x = nx - 1; x >= 0; x--) relax(x, y, z, -1);
  }
}
