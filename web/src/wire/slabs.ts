import type { Cursor } from "./cursor";
import { type BulkHeader, bulkCursor, readHeader } from "./header";
import { undoImage, unpackSymbols } from "./symbols";

/** The view a keyframe was made for; angles in degrees, lengths in world units. */
export interface KeyCamera {
  readonly azimuth: number;
  readonly elevation: number;
  readonly distance: number;
  readonly fov: number;
  readonly target: readonly [number, number, number];
  /** How many times as long as it is each axis is shown, beside the others. */
  readonly stretch: readonly [number, number, number];
  /** The axis that is shown upwards. */
  readonly up: Up;
  /** From where to where along each axis the box is shown, 0 being its low face and 1 its high one. */
  readonly crop: Crop;
}

/** A part of each axis of a box, in shares of it. */
export type Crop = readonly [Part, Part, Part];
export type Part = readonly [from: number, to: number];

export const UPS = ["y", "z"] as const;
export type Up = (typeof UPS)[number];

/** A rectangle of texels of one slab or face, still compressed. */
export interface PackedTile {
  /** Of the slab or face; 0 is nearest to the key eye. */
  readonly slab: number;
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
  readonly frame: Uint8Array;
}

/** From where slabs were made, and where they lie. */
export interface KeyView {
  readonly camera: KeyCamera;
  /** Width and height of each layer in rays. */
  readonly rays: readonly [number, number];
  readonly slabCount: number;
  /** Unit vector perpendicular to the slabs, away from the key eye. */
  readonly normal: readonly [number, number, number];
  /** Distances from the key eye along `normal` between which the slabs lie, equally thick. */
  readonly near: number;
  readonly far: number;
}

export interface SlabsMessage extends KeyView {
  readonly kind: "slabs";
  readonly header: BulkHeader;
  readonly tiles: readonly PackedTile[];
}

/** Texels of a tile per side without its overlap, and with it. */
export const TILE_EDGE = 64;
const TILE_EDGE_OVERLAPPED = 66;

export function parseSlabs(bytes: Uint8Array): SlabsMessage {
  const cursor = bulkCursor(bytes, "slabs");
  const header = readHeader(cursor);
  const { key, tileCount } = readKey(cursor);
  const tiles = readTiles(cursor, tileCount, key.slabCount, key.rays, TILE_EDGE_OVERLAPPED);
  return { kind: "slabs", header, ...key, tiles };
}

/** The view that a keyframe was made for. */
export function readKeyCamera(cursor: Cursor): KeyCamera {
  const [azimuth, elevation, distance, fov] = [0, 1, 2, 3].map(() => cursor.f32("key camera"));
  const target = [cursor.f32("key target"), cursor.f32("key target"), cursor.f32("key target")] as const;
  const stretch = [cursor.f32("key stretch"), cursor.f32("key stretch"), cursor.f32("key stretch")] as const;
  const up = UPS[cursor.u32("key up") - 1];
  if (up === undefined) cursor.fail("a key camera without an axis that is up");
  const part = () => [cursor.f32("key crop"), cursor.f32("key crop")] as const;
  const crop = [part(), part(), part()] as const;
  if (![azimuth, elevation, distance, fov, ...target, ...stretch, ...crop.flat()].every(Number.isFinite))
    cursor.fail("the key camera is not finite");
  if (distance <= 0 || fov <= 0 || fov >= 180 || stretch.some((times) => times <= 0))
    cursor.fail("an impossible key camera");
  if (crop.some(([from, to]) => from < 0 || to > 1 || from > to))
    cursor.fail("a key camera that sees no part of a box");
  return { azimuth, elevation, distance, fov, target, stretch, up, crop };
}

/** The key view of a keyframe, and the number of tiles in this message. */
export function readKey(cursor: Cursor): { readonly key: KeyView; readonly tileCount: number } {
  const camera = readKeyCamera(cursor);
  const rays = [cursor.u16("width"), cursor.u16("height")] as const;
  const slabCount = cursor.u16("slab count");
  const tileCount = cursor.u16("tile count");
  const normal = [cursor.f32("normal"), cursor.f32("normal"), cursor.f32("normal")] as const;
  const near = cursor.f32("near");
  const far = cursor.f32("far");
  if (![...normal, near, far].every(Number.isFinite)) cursor.fail("the slabs do not lie in finite places");
  if (rays[0] === 0 || rays[1] === 0 || slabCount === 0) cursor.fail("a keyframe without rays or slabs");
  if (far < near) cursor.fail("slabs whose last lies before their first");
  if (Math.abs(Math.hypot(...normal) - 1) > 1e-3) cursor.fail("the slabs' normal is not a unit vector");
  return { key: { camera, rays, slabCount, normal, near, far }, tileCount };
}

/** The rest of a message: tiles of at most `edge` texels a side in `layers` layers of `rays`. */
export function readTiles(
  cursor: Cursor,
  count: number,
  layers: number,
  rays: readonly [number, number],
  edge: number,
): readonly PackedTile[] {
  const tiles: PackedTile[] = [];
  for (let i = 0; i < count; i++) {
    const tile = readTile(cursor, edge);
    if (tile.slab >= layers || tile.x + tile.width > rays[0] || tile.y + tile.height > rays[1]) {
      cursor.fail(`tile at ${tile.x},${tile.y} of slab ${tile.slab} lies outside the keyframe`);
    }
    tiles.push(tile);
  }
  cursor.finish();
  return tiles;
}

/** Texels of a tile: planes R, G, B of `width * height` bytes each, and codes of the opacity along the slabs' normal. */
export interface TileTexels {
  readonly colours: Uint8Array;
  readonly opacityCodes: Uint16Array;
}

export const MOST_OPACITY_CODE = 1023;

/** Opacity of a code: finer where it is faint, for many faint layers lie behind each other. */
export function opacityOfCode(code: number): number {
  return (Math.min(code, MOST_OPACITY_CODE) / MOST_OPACITY_CODE) ** 2;
}

export function unpackSlabTile(tile: PackedTile): TileTexels {
  const texels = tile.width * tile.height;
  const what = `tile at ${tile.x},${tile.y} of slab ${tile.slab}`;
  const { narrow: colours, wide } = unpackSymbols(tile.frame, 3 * texels, [texels], what);
  const [opacityCodes] = wide;
  for (let plane = 0; plane < 3; plane++) undoImage(colours.subarray(plane * texels, (plane + 1) * texels), tile.width);
  undoImage(opacityCodes, tile.width);
  return { colours, opacityCodes };
}

function readTile(cursor: Cursor, edge: number): PackedTile {
  const slab = cursor.u16("tile slab");
  cursor.u16("tile padding");
  const x = cursor.u16("tile x");
  const y = cursor.u16("tile y");
  const width = cursor.u16("tile width");
  const height = cursor.u16("tile height");
  if (width < 1 || height < 1 || width > edge || height > edge) {
    cursor.fail(`tile of ${width}x${height} texels, expected 1 to ${edge} a side`);
  }
  const length = cursor.u32("tile length");
  return { slab, x, y, width, height, frame: cursor.bytes(length, "tile") };
}
