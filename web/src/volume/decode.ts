import {
  halfFromNumber,
  MOST_OPACITY_CODE,
  MOST_VALUE_CODE,
  opacityOfCode,
  type PackedTile,
  unpackFaceTile,
  unpackSlabTile,
} from "../wire/index";
import { NO_DATA } from "./unpack";

/** A tile of a slab ready to upload. */
export interface DecodedTile {
  readonly slab: number;
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
  /** RGBA half floats, associated alpha, rows from the top. */
  readonly texels: Uint16Array<ArrayBuffer>;
}

export function decodeTile(tile: PackedTile): DecodedTile {
  const { colours, opacityCodes } = unpackSlabTile(tile);
  const count = tile.width * tile.height;
  const texels = new Uint16Array(4 * count);
  halves ??= associatedHalves();
  const table = halves;
  for (let i = 0; i < count; i++) {
    const row = Math.min(opacityCodes[i], MOST_OPACITY_CODE) * COLOURS;
    if (row === 0) continue;
    texels[4 * i] = table[row + colours[i]];
    texels[4 * i + 1] = table[row + colours[count + i]];
    texels[4 * i + 2] = table[row + colours[2 * count + i]];
    texels[4 * i + 3] = table[row + COLOURS - 1];
  }
  return { slab: tile.slab, x: tile.x, y: tile.y, width: tile.width, height: tile.height, texels };
}

const COLOURS = 256;

/** Half floats of each colour, associated with each opacity: made when the first slab comes. */
let halves: Uint16Array | null = null;

function associatedHalves(): Uint16Array {
  return Uint16Array.from({ length: (MOST_OPACITY_CODE + 1) * COLOURS }, (_, at) =>
    halfFromNumber(((at % COLOURS) / (COLOURS - 1)) * opacityOfCode(Math.floor(at / COLOURS))),
  );
}

/** A tile of a face ready to upload. */
export interface DecodedFaceTile {
  readonly face: number;
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
  /** Half floats, rows from the top: values normalised over the keyframe's range, or [`NO_DATA`]. */
  readonly values: Uint16Array<ArrayBuffer>;
}

const halfOfCode = Uint16Array.from({ length: MOST_VALUE_CODE + 1 }, (_, code) =>
  halfFromNumber(code === 0 ? NO_DATA : (code - 1) / (MOST_VALUE_CODE - 1)),
);

export function decodeFaceTile(tile: PackedTile): DecodedFaceTile {
  const codes = unpackFaceTile(tile);
  const values = new Uint16Array(codes.length);
  for (let i = 0; i < codes.length; i++) values[i] = halfOfCode[codes[i]];
  return { face: tile.slab, x: tile.x, y: tile.y, width: tile.width, height: tile.height, values };
}
