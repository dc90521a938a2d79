import { type BulkHeader, bulkCursor, readHeader } from "./header";

/** Which tiles a keyframe has, whichever connection they come over: one that is listed and does not come is lost. */
export interface TileListMessage {
  readonly kind: "tileList";
  readonly header: BulkHeader;
  readonly list: TileList;
}

export interface TileList {
  readonly columns: number;
  readonly rows: number;
  /** Slabs or faces; 1 for segments. */
  readonly layers: number;
  /** A bit for each place, from the lowest of each byte up: columns fastest, layers slowest. */
  readonly bits: Uint8Array;
}

/** Of tiles of 2048 x 2048 rays in as many layers. */
const MOST_PLACES = 1 << 21;

export function parseTileList(bytes: Uint8Array): TileListMessage {
  const cursor = bulkCursor(bytes, "tile list");
  const header = readHeader(cursor);
  const [columns, rows, layers] = [cursor.u16("columns"), cursor.u16("rows"), cursor.u16("layers")];
  cursor.u16("padding");
  const places = columns * rows * layers;
  if (places > MOST_PLACES) cursor.fail(`${places} places for tiles, more than ${MOST_PLACES}`);
  const bits = cursor.bytes(Math.ceil(places / 8), "places");
  cursor.finish();
  return { kind: "tileList", header, list: { columns, rows, layers, bits } };
}

/** Column, row and layer of a tile. */
export type Place = readonly [column: number, row: number, layer: number];

/** The places of a list that are not among `here`. */
export function missingFrom({ columns, rows, layers, bits }: TileList, here: readonly Place[]): Place[] {
  const numberOf = ([column, row, layer]: Place) => (layer * rows + row) * columns + column;
  const known = new Set(here.map(numberOf));
  const missing: Place[] = [];
  for (let number = 0; number < columns * rows * layers; number++) {
    if (((bits[number >> 3] >> (number & 7)) & 1) === 0 || known.has(number)) continue;
    const line = Math.floor(number / columns);
    missing.push([number % columns, line % rows, Math.floor(line / rows)]);
  }
  return missing;
}
