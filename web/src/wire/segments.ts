import type { Cursor } from "./cursor";
import { type BulkHeader, bulkCursor, readHeader } from "./header";
import { type KeyCamera, readKeyCamera, TILE_EDGE } from "./slabs";
import { undoImage, unpackSymbols } from "./symbols";

/** The rays and planes of a keyframe of segments. */
export interface SegmentKey {
  readonly camera: KeyCamera;
  /** Width and height of the key view in rays. */
  readonly rays: readonly [number, number];
  readonly planeCount: number;
  /** Distance of plane 0 from the key eye along its view direction, and from plane to plane. */
  readonly near: number;
  readonly spacing: number;
  /** Edges of the box that holds the field, centred at the origin, world units. */
  readonly edges: readonly [number, number, number];
  /** Values of the smallest and the largest code. */
  readonly range: readonly [number, number];
}

export interface SegmentsMessage extends SegmentKey {
  readonly kind: "segments";
  readonly header: BulkHeader;
  readonly tiles: readonly PackedSegments[];
}

/** A rectangle of rays, still compressed. */
export interface PackedSegments {
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
  /** Of all rays together. */
  readonly knots: number;
  readonly frame: Uint8Array;
}

/** Most knots of a ray. */
export const MOST_KNOTS_PER_RAY = 255;
/** Largest code; codes are shares of the range. */
export const MOST_SEGMENT_CODE = 1023;

/** Tiles that are enough for one to be a small part of the picture. */
const MANY_TILES = 49;

/** Rays along the edge of a tile: smaller where there would be few. */
export function segmentTileEdge(rays: readonly [number, number]): number {
  const tiles = Math.ceil(rays[0] / TILE_EDGE) * Math.ceil(rays[1] / TILE_EDGE);
  return tiles < MANY_TILES ? TILE_EDGE / 2 : TILE_EDGE;
}

/** Most rays in a row or column. */
const MOST_RAYS = 2048;
/** Most planes across the box. */
const MOST_PLANES = 8192;

export function parseSegments(bytes: Uint8Array): SegmentsMessage {
  const cursor = bulkCursor(bytes, "segments");
  const header = readHeader(cursor);
  const { key, tileCount } = readSegmentKey(cursor);
  const tiles: PackedSegments[] = [];
  let last = -1;
  for (let i = 0; i < tileCount; i++) {
    const tile = readTile(cursor, key.rays);
    const place = tile.y * key.rays[0] + tile.x;
    if (place <= last) cursor.fail(`tile at ${tile.x},${tile.y} is not in its order`);
    last = place;
    tiles.push(tile);
  }
  cursor.finish();
  return { kind: "segments", header, ...key, tiles };
}

function readSegmentKey(cursor: Cursor): { readonly key: SegmentKey; readonly tileCount: number } {
  const camera = readKeyCamera(cursor);
  const rays = [cursor.u16("width"), cursor.u16("height")] as const;
  const planeCount = cursor.u16("plane count");
  const tileCount = cursor.u16("tile count");
  const near = cursor.f32("near");
  const spacing = cursor.f32("spacing");
  const edges = [cursor.f32("edges"), cursor.f32("edges"), cursor.f32("edges")] as const;
  const range = [cursor.f32("range"), cursor.f32("range")] as const;
  if (![near, spacing, ...edges, ...range].every(Number.isFinite)) cursor.fail("planes, box or range are not finite");
  if (edges.some((edge) => edge < 0) || range[0] > range[1] || near <= 0 || spacing <= 0) {
    cursor.fail("impossible planes, an impossible box or range");
  }
  if (Math.hypot(...edges) > MOST_PLANES * spacing)
    cursor.fail(`planes ${spacing} apart, more than ${MOST_PLANES} across the box`);
  if (rays[0] === 0 || rays[1] === 0) cursor.fail("a keyframe without rays");
  if (Math.max(...rays) > MOST_RAYS)
    cursor.fail(`${rays[0]}x${rays[1]} rays, more than the ${MOST_RAYS} a side accepted`);
  return { key: { camera, rays, planeCount, near, spacing, edges, range }, tileCount };
}

function readTile(cursor: Cursor, rays: readonly [number, number]): PackedSegments {
  const [x, y, width, height] = ["x", "y", "width", "height"].map((name) => cursor.u16(`tile ${name}`));
  const knots = cursor.u32("tile knots");
  const most = segmentTileEdge(rays);
  const whole = (lo: number, size: number, edge: number) => lo % most === 0 && size === Math.min(most, edge - lo);
  if (x >= rays[0] || y >= rays[1] || !whole(x, width, rays[0]) || !whole(y, height, rays[1])) {
    cursor.fail(`tile of ${width}x${height} rays at ${x},${y} is none of ${rays[0]}x${rays[1]} rays`);
  }
  if (knots > width * height * MOST_KNOTS_PER_RAY) {
    cursor.fail(`tile of ${width}x${height} rays with ${knots} knots, more than ${MOST_KNOTS_PER_RAY} each`);
  }
  const length = cursor.u32("tile length");
  return { x, y, width, height, knots, frame: cursor.bytes(length, "tile") };
}

/** What a tile's frame holds before knots are predicted from their neighbours. */
export interface SegmentLists {
  /** Knots of each ray, rows from the top. */
  readonly counts: Uint8Array;
  /** Of each knot: planes from the one before it, signs interleaved; difference of its code to the one expected, and whether a run starts that is not its ray's first. */
  readonly lengths: Uint16Array;
  readonly differences: Uint16Array;
}

export function unpackSegmentLists(tile: PackedSegments): SegmentLists {
  const rays = tile.width * tile.height;
  const what = `tile of segments at ${tile.x},${tile.y}`;
  const { narrow: counts, wide } = unpackSymbols(tile.frame, rays, [tile.knots, tile.knots], what);
  undoImage(counts, tile.width);
  const [lengths, differences] = wide;
  return { counts, lengths, differences };
}
