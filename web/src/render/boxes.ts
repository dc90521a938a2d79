import type { Vec3 } from "../volume/index";

/** Samples from `lo` on. */
export interface Box {
  readonly lo: Vec3;
  readonly size: Vec3;
}

/** Boxes that hold what of a grid of `size` none of the others, which do not overlap, holds. */
export function uncovered(size: Vec3, covered: readonly Box[]): Box[] {
  const volume = (of: Vec3) => of[0] * of[1] * of[2];
  if (covered.reduce((sum, box) => sum + volume(box.size), 0) === volume(size)) return [];
  const [xs, ys, zs] = ([0, 1, 2] as const).map((axis) => cuts(size[axis], covered, axis));
  const isCovered = (at: Vec3) =>
    covered.some(({ lo, size: of }) => at.every((n, axis) => n >= lo[axis] && n < lo[axis] + of[axis]));
  const found: Box[] = [];
  for (const [z, depth] of zs) {
    for (const [y, height] of ys) {
      for (const [x, width] of xs) {
        if (!isCovered([x, y, z])) found.push({ lo: [x, y, z], size: [width, height, depth] });
      }
    }
  }
  return found;
}

/** Where boxes begin or end along an axis, and how far it is to the next. */
function cuts(edge: number, covered: readonly Box[], axis: 0 | 1 | 2): [number, number][] {
  const places = new Set([0, edge, ...covered.flatMap(({ lo, size }) => [lo[axis], lo[axis] + size[axis]])]);
  const sorted = [...places].sort((a, b) => a - b);
  return sorted.slice(0, -1).map((from, i) => [from, sorted[i + 1] - from]);
}
