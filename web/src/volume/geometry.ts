import type { GridInfo } from "../wire/index";

export type Vec3 = readonly [number, number, number];

/** Where the grid's box lies in the world: longest edge 1, centred (RENDERING, *World*). */
export interface Geometry {
  /** Edge lengths of the box, world units. */
  readonly edges: Vec3;
  /** World units per physical unit. */
  readonly scale: number;
  /** Smallest world distance between neighbouring samples, as far as [`MOST_STEPS`] allow: the unit of the sampling step. */
  readonly spacing: number;
  /** Per axis: sample coordinate = world * samplesPerWorld + sampleOffset. */
  readonly samplesPerWorld: Vec3;
  readonly sampleOffset: Vec3;
  /** Physical coordinates of the box's corners. */
  readonly physicalLo: Vec3;
  readonly physicalHi: Vec3;
}

/** How far from the middle of the box a camera may look, along each axis: beyond that nothing is seen. */
export const FARTHEST_TARGET = 4;
/** How near a camera may come to what it looks at. */
export const NEAREST = 0.02;

/** Sampling steps along the longest edge at most, where no axis has more samples (`Grid::MOST_STEPS` of the server). */
const MOST_STEPS = 2 ** 18;

export function geometryOf(grid: GridInfo): Geometry {
  const cell = grid.centering === "cell";
  const physical = map3((axis) => (cell ? grid.size[axis] : Math.max(1, grid.size[axis] - 1)) * grid.spacing[axis]);
  const scale = 1 / Math.max(...physical);
  const edges = map3((axis) => physical[axis] * scale);
  const along = [0, 1, 2].filter((axis) => grid.size[axis] > 1).map((axis) => grid.spacing[axis] * scale);
  const samplesPerWorld = map3((axis) => 1 / (grid.spacing[axis] * scale));
  const first = cell ? -0.5 : 0;
  const physicalLo = map3((axis) => grid.origin[axis] + first * grid.spacing[axis]);
  return {
    edges,
    scale,
    spacing: Math.max(along.length > 0 ? Math.min(...along) : 1, 1 / Math.max(MOST_STEPS, ...grid.size)),
    samplesPerWorld,
    sampleOffset: map3((axis) => (edges[axis] / 2) * samplesPerWorld[axis] + first),
    physicalLo,
    physicalHi: map3((axis) => physicalLo[axis] + physical[axis]),
  };
}

/**
 * Texture coordinate in a level of `size` samples = world * scale + offset, per axis.
 *
 * Sample `i` of level `L` sits at `(i + 1/2) * 2^L - 1/2` of level 0, and at `(i + 1/2) / n` of its texture.
 */
export function textureFromWorld(geometry: Geometry, level: number, size: Vec3): { scale: Vec3; offset: Vec3 } {
  const extent = map3((axis) => 2 ** level * size[axis]);
  return {
    scale: map3((axis) => geometry.samplesPerWorld[axis] / extent[axis]),
    offset: map3((axis) => (geometry.sampleOffset[axis] + 0.5) / extent[axis]),
  };
}

function map3(of: (axis: 0 | 1 | 2) => number): Vec3 {
  return [of(0), of(1), of(2)];
}
