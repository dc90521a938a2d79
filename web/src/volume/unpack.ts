import { wasm } from "../generated/page";
import { halfFromNumber } from "../wire/index";
import { type CellRanges, cellsAround, type Size3 } from "./ranges";

/** Stands for *no data*: any trilinear mix with it that matters is far below every value, which are in [0, 1]. */
export const NO_DATA = -60000;

const noDataHalf = halfFromNumber(NO_DATA);

/** `bindings/page/src/exports.rs`. */
interface Kernels {
  readonly memory: WebAssembly.Memory;
  codes(count: number): number;
  unpack(...numbers: readonly number[]): void;
  singles(): number;
  extremes(which: 0 | 1): number;
}

export type Codes = Uint8Array | Uint16Array;

let kernels: Kernels | null = null;

/** Readies what unpacks: to be waited for before anything is. */
export async function readyUnpacking(): Promise<void> {
  const bytes = Uint8Array.from(atob(wasm), (letter) => letter.charCodeAt(0));
  const { instance } = await WebAssembly.instantiate(bytes);
  kernels = instance.exports as unknown as Kernels;
}

/** Half floats, or 32-bit ones. */
export type Samples = Uint16Array<ArrayBuffer> | Float32Array<ArrayBuffer>;

/** What codes of a box stand for. */
export interface Unpacked<S extends Samples = Uint16Array<ArrayBuffer>> {
  /** `[z, y, x]`, or [`NO_DATA`]. */
  readonly samples: S;
  readonly ranges: CellRanges;
}

/**
 * Values `first + (code - 1) * perCode`, held to [0, 1], and their extremes per macrocell; code 0 is no data.
 *
 * Trilinear interpolation inside macrocell `m` of edge `e` reads samples `e m - 1` to `e m + e`, so the border samples of a box count for the
 * neighbouring macrocells too: merging the ranges of all boxes gives exact bounds.
 */
export function unpackCodes(codes: Codes, lo: Size3, size: Size3, first: number, perCode: number): Unpacked {
  const { memory, at, ranges } = unpack(codes, lo, size, first, perCode, false);
  return { samples: new Uint16Array(memory, at, codes.length).slice(), ranges };
}

/** The same as 32-bit floats, which tell all codes of 16 bits apart. */
export function unpackSingles(
  codes: Codes,
  lo: Size3,
  size: Size3,
  first: number,
  perCode: number,
): Unpacked<Float32Array<ArrayBuffer>> {
  const { memory, at, ranges } = unpack(codes, lo, size, first, perCode, true);
  return { samples: new Float32Array(memory, at, codes.length).slice(), ranges };
}

/** Where in the memory of the kernels samples lie until the next are unpacked. */
function unpack(codes: Codes, lo: Size3, size: Size3, first: number, perCode: number, toSingles: boolean) {
  if (kernels === null) throw new Error("readyUnpacking was not waited for");
  const { memory } = kernels;
  const at = kernels.codes(codes.length);
  new Uint16Array(memory.buffer, at, codes.length).set(codes);
  kernels.unpack(...lo, ...size, first, perCode, NO_DATA, noDataHalf, Number(toSingles));
  const cells = cellsAround(lo, size);
  const count = cells.size[0] * cells.size[1] * cells.size[2];
  const extreme = (which: 0 | 1) => new Float32Array(memory.buffer, kernels?.extremes(which), count).slice();
  const ranges: CellRanges = { ...cells, min: extreme(0), max: extreme(1) };
  return { memory: memory.buffer, at: toSingles ? kernels.singles() : at, ranges };
}
