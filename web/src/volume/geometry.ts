import type { Crop, GridInfo } from "../wire/index";

export type Vec3 = readonly [number, number, number];

/** Where the grid's box lies in the world, its axes stretched: longest edge 1, centred (RENDERING, *World*). */
export interface Geometry {
  /** The grid whose box it is. */
  readonly grid: GridInfo;
  /** Edge lengths of the box, world units. */
  readonly edges: Vec3;
  /** Smallest world distance between neighbouring samples, as far as [`MOST_STEPS`] allow: the unit of the sampling step. */
  readonly spacing: number;
  /** Per axis: sample coordinate = world * samplesPerWorld + sampleOffset. */
  readonly samplesPerWorld: Vec3;
  readonly sampleOffset: Vec3;
}

/** How far from the middle of the box a camera may look, along each axis: beyond that nothing is seen. */
export const FARTHEST_TARGET = 4;
/** How many times as long, or as short, an axis may be shown as it is. */
export const MOST_STRETCH = 1e6;
/** How near a camera may come to what it looks at. */
export const NEAREST = 0.02;

/** Sampling steps along the longest edge at most, where no axis has more samples (`Grid::MOST_STEPS` of the server). */
const MOST_STEPS = 2 ** 18;

/** No axis is shown longer than it is. */
export const UNSTRETCHED: Vec3 = [1, 1, 1];

/** All of the box is shown. */
export const UNCROPPED: Crop = [
  [0, 1],
  [0, 1],
  [0, 1],
];

/** Corners of a box, world units. */
export interface Corners {
  readonly lo: Vec3;
  readonly hi: Vec3;
}

/** What is shown of a box of these edges, centred at the origin. */
export function croppedBox(edges: Vec3, crop: Crop): Corners {
  const at = (end: 0 | 1) => map3((axis) => (crop[axis][end] - 0.5) * edges[axis]);
  return { lo: at(0), hi: at(1) };
}

/** How many steps it is along an axis: from sample to sample, or from face to face of cells. */
export function intervalsOf({ size, centering }: GridInfo, axis: 0 | 1 | 2): number {
  return centering === "cell" ? size[axis] : Math.max(1, size[axis] - 1);
}

/** Edges of the grid's box in its unit. */
export function edgesOf(grid: GridInfo): Vec3 {
  return map3((axis) => intervalsOf(grid, axis) * grid.spacing[axis]);
}

/** That of a grid whose axes are shown so many times as long as they are. */
export function geometryOf(grid: GridInfo, stretch: Vec3): Geometry {
  const cell = grid.centering === "cell";
  const physical = edgesOf(grid);
  const longest = Math.max(...map3((axis) => physical[axis] * stretch[axis]));
  const worldPerUnit = map3((axis) => stretch[axis] / longest);
  const edges = map3((axis) => physical[axis] * worldPerUnit[axis]);
  const along = [0, 1, 2].filter((axis) => grid.size[axis] > 1).map((axis) => grid.spacing[axis] * worldPerUnit[axis]);
  const samplesPerWorld = map3((axis) => 1 / (grid.spacing[axis] * worldPerUnit[axis]));
  const first = cell ? -0.5 : 0;
  return {
    grid,
    edges,
    spacing: Math.max(along.length > 0 ? Math.min(...along) : 1, 1 / Math.max(MOST_STEPS, ...grid.size)),
    samplesPerWorld,
    sampleOffset: map3((axis) => (edges[axis] / 2) * samplesPerWorld[axis] + first),
  };
}

/** Where a sample of the finest level lies, or what lies between samples. */
export function worldFromSample({ samplesPerWorld, sampleOffset }: Geometry, sample: Vec3): Vec3 {
  return map3((axis) => (sample[axis] - sampleOffset[axis]) / samplesPerWorld[axis]);
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
