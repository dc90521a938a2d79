import { type BulkHeader, bulkCursor, readHeader } from "./header";
import { undoImage, unpackSymbols } from "./symbols";

/** A rectangle of the exact image, still compressed. */
export interface StillTile {
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
  readonly frame: Uint8Array;
}

export interface StillMessage {
  readonly kind: "still";
  readonly header: BulkHeader;
  readonly width: number;
  readonly height: number;
  readonly tiles: readonly StillTile[];
}

const IMAGE_EDGE = 4096;

export function parseStill(bytes: Uint8Array): StillMessage {
  const cursor = bulkCursor(bytes, "still");
  const header = readHeader(cursor);
  const width = cursor.u16("width");
  const height = cursor.u16("height");
  if (width < 1 || height < 1 || width > IMAGE_EDGE || height > IMAGE_EDGE) {
    cursor.fail(`image of ${width}x${height}, expected 1 to ${IMAGE_EDGE} a side`);
  }
  const tileCount = cursor.u16("tile count");
  cursor.u16("padding");
  const tiles: StillTile[] = [];
  let texels = 0;
  for (let i = 0; i < tileCount; i++) {
    const [x, y, w, h] = [
      cursor.u16("tile x"),
      cursor.u16("tile y"),
      cursor.u16("tile width"),
      cursor.u16("tile height"),
    ];
    if (w < 1 || h < 1 || x + w > width || y + h > height) cursor.fail(`tile at ${x},${y} lies outside the image`);
    texels += w * h;
    if (texels > width * height) cursor.fail(`tiles of ${texels} pixels in an image of ${width}x${height}`);
    const length = cursor.u32("tile length");
    tiles.push({ x, y, width: w, height: h, frame: cursor.bytes(length, "tile") });
  }
  cursor.finish();
  return { kind: "still", header, width, height, tiles };
}

/** RGBA of a tile, interleaved, associated alpha. */
export function unpackStillTile(tile: StillTile): Uint8Array {
  const texels = tile.width * tile.height;
  const { narrow: planes } = unpackSymbols(tile.frame, 4 * texels, [], `still tile at ${tile.x},${tile.y}`);
  for (let plane = 0; plane < 4; plane++) undoImage(planes.subarray(plane * texels, (plane + 1) * texels), tile.width);
  const rgba = new Uint8Array(texels * 4);
  for (let i = 0; i < texels; i++) {
    for (let plane = 0; plane < 4; plane++) rgba[4 * i + plane] = planes[plane * texels + i];
  }
  return rgba;
}
