/** The view protocol (docs/src/view-protocol.md): bytes to typed messages and back. Owns no socket. */
export * from "./bricks";
export * from "./bulk";
export * from "./control";
export { WireError } from "./errors";
export { type FieldInfo, linearField, logarithmicField, withUnit } from "./fields";
export type { FreshnessMessage, MissingPart } from "./freshness";
export { halfFromNumber, numberFromHalf } from "./half";
export type { BulkHeader } from "./header";
export {
  type ClockMessage,
  type EventsMessage,
  encodeClock,
  encodeLifelines,
  encodeStamps,
  MOST_STAMPS,
  type StageEvent,
} from "./lifelines";
export { encodePick, type PickedMessage, parsePicked, type Spot } from "./pick";
export { isolated, printable, sentence } from "./printable";
export * from "./scalar-slabs";
export * from "./segments";
export { type AtStep, encodeAskSeries, parseSeries, type SeriesMessage } from "./series";
export {
  type Crop,
  type KeyCamera,
  type KeyView,
  MOST_OPACITY_CODE,
  opacityOfCode,
  type PackedTile,
  type Part,
  parseSlabs,
  type SlabsMessage,
  TILE_EDGE,
  type TileTexels,
  UPS,
  type Up,
  unpackSlabTile,
} from "./slabs";
export { encodeSteer, type LoggedAction, type Parameter, type SteerAction, type SteeringMessage } from "./steering";
export * from "./still";
export { differenceOf } from "./symbols";
export { missingFrom, type Place, parseTileList, type TileList } from "./tile-list";
export * from "./view";
export { readyZstd } from "./zstd";
