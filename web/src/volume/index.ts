/** Volumes in the page: where they lie, what they look like, which parts are empty. Owns no GL object and no socket. */

export { AXIS_NAMES, type AxisScale, type AxisScales, axisScales } from "./axis-scale";
export { type BoxOfBricks, BrickJoiner, type DecodedBox, type Joined, LOST } from "./bricks";
export * from "./colormaps";
export * from "./decode";
export * from "./geometry";
export { INTEGRAL_BINS, INTEGRAL_PARTS, Integrals } from "./integrals";
export { emptyDistances } from "./occupancy";
export { anyCellRanges, CELL_EDGE, type CellRanges, LevelRanges } from "./ranges";
export { placeOf, type Scale, valueAt } from "./scale";
export { decodeSegments, planeStride, valuesAlongRay } from "./segments";
export * from "./transfer";
export { NO_DATA, readyUnpacking } from "./unpack";
