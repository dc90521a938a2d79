import { type BulkHeader, bulkCursor, readHeader } from "./header";
import { type KeyView, type PackedTile, readKey, readTiles, TILE_EDGE } from "./slabs";
import { undoImage, unpackSymbols } from "./symbols";

/** The field at the faces of slabs: one face more than there are slabs; a tile's `slab` is its face. */
export interface ScalarSlabsMessage extends KeyView {
  readonly kind: "scalarSlabs";
  readonly header: BulkHeader;
  /** Edges of the box that holds the field, centred at the origin, world units. */
  readonly edges: readonly [number, number, number];
  /** Values of the smallest and the largest code. */
  readonly range: readonly [number, number];
  readonly tiles: readonly PackedTile[];
}

/** Codes are 1 to this; 0 is *no data*. */
export const MOST_VALUE_CODE = 1023;

/** Most texels of all faces together: 256 MiB of half floats. */
const MOST_TEXELS = 1 << 27;

export function parseScalarSlabs(bytes: Uint8Array): ScalarSlabsMessage {
  const cursor = bulkCursor(bytes, "scalar slabs");
  const header = readHeader(cursor);
  const { key, tileCount } = readKey(cursor);
  const edges = [cursor.f32("edges"), cursor.f32("edges"), cursor.f32("edges")] as const;
  const range = [cursor.f32("range"), cursor.f32("range")] as const;
  if (![...edges, ...range].every(Number.isFinite) || edges.some((edge) => edge < 0) || range[0] > range[1]) {
    cursor.fail("an impossible box or range");
  }
  const faces = key.slabCount + 1;
  if (faces * key.rays[0] * key.rays[1] > MOST_TEXELS) {
    cursor.fail(`${faces} faces of ${key.rays[0]}x${key.rays[1]} texels, more than the ${MOST_TEXELS} accepted`);
  }
  const tiles = readTiles(cursor, tileCount, faces, key.rays, TILE_EDGE);
  return { kind: "scalarSlabs", header, ...key, edges, range, tiles };
}

/** Codes of a tile's texels, rows from the top, none above [`MOST_VALUE_CODE`]. */
export function unpackFaceTile(tile: PackedTile): Uint16Array {
  const texels = tile.width * tile.height;
  const [codes] = unpackSymbols(tile.frame, 0, [texels], `tile at ${tile.x},${tile.y} of face ${tile.slab}`).wide;
  undoImage(codes, tile.width);
  for (let i = 0; i < texels; i++) codes[i] = Math.min(codes[i], MOST_VALUE_CODE);
  return codes;
}
