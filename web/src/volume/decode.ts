import {
  type BricksMessage,
  halfFromNumber,
  MOST_OPACITY_CODE,
  MOST_VALUE_CODE,
  opacityOfCode,
  type PackedBrick,
  type PackedTile,
  unpackBrick,
  unpackFaceTile,
  unpackSlabTile,
} from "../wire/index";
import { brickCellRanges, type CellRanges, constantCellRanges } from "./ranges";

/** Stands for *no data*: any trilinear mix with it that matters is far below every value, which are in [0, 1]. */
export const NO_DATA = -60000;

/** A brick ready to upload. */
export interface DecodedBrick {
  readonly lo: readonly [number, number, number];
  readonly size: readonly [number, number, number];
  /** Half floats, `[z, y, x]`: values normalised over the set's lo..hi, or [`NO_DATA`]. */
  readonly samples: Uint16Array<ArrayBuffer>;
  readonly ranges: CellRanges;
}

export function decodeBrick(message: BricksMessage, brick: PackedBrick): DecodedBrick {
  const { lo, size } = brick;
  const span = message.hi - message.lo;
  const normalise = (value: number) => (span > 0 ? Math.min(1, Math.max(0, (value - message.lo) / span)) : 0);
  const codes = unpackBrick(brick, message.bits);
  if (codes === null) {
    const value = Number.isNaN(brick.valueLo) ? Number.NaN : normalise(brick.valueLo);
    const samples = new Uint16Array(size[0] * size[1] * size[2]);
    samples.fill(halfFromNumber(Number.isNaN(value) ? NO_DATA : value));
    return { lo, size, samples, ranges: constantCellRanges(lo, size, value) };
  }
  const perCode = (brick.valueHi - brick.valueLo) / (2 ** message.bits - 2);
  const codeValue = (code: number) => normalise(brick.valueLo + perCode * (code - 1));
  return {
    lo,
    size,
    samples: toHalves(codes, message.bits, codeValue),
    ranges: brickCellRanges(codes, lo, size, codeValue),
  };
}

function toHalves(
  codes: Uint8Array | Uint16Array,
  bits: number,
  codeValue: (code: number) => number,
): Uint16Array<ArrayBuffer> {
  const halves = new Uint16Array(codes.length);
  const direct = bits === 16 && codes.length < 1 << 15;
  if (direct) {
    for (let i = 0; i < codes.length; i++) halves[i] = halfFromNumber(codes[i] === 0 ? NO_DATA : codeValue(codes[i]));
    return halves;
  }
  const table = new Uint16Array(2 ** bits);
  table[0] = halfFromNumber(NO_DATA);
  for (let code = 1; code < table.length; code++) table[code] = halfFromNumber(codeValue(code));
  for (let i = 0; i < codes.length; i++) halves[i] = table[codes[i]];
  return halves;
}

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
