import { type BulkHeader, bulkCursor, readHeader } from "./header";
import { PREDICTORS, undoPrediction } from "./predictors";
import { unpackSymbols } from "./symbols";

export type Size3 = readonly [number, number, number];

/** One brick, still compressed: every second row of every second slice of a box. */
export interface PackedBrick {
  /** First sample of the box, in the level's grid. */
  readonly lo: Size3;
  /** Of the box. */
  readonly size: Size3;
  /** Which rows: from row `part % 2` of the box on, from slice `part / 2` on. */
  readonly part: number;
  /** Values of the first and the last code. */
  readonly valueLo: number;
  readonly valueHi: number;
  /** How its codes are expected from those before them. */
  readonly predictor: number;
  /** One zstd frame, or nothing: every sample is `valueLo`. */
  readonly frame: Uint8Array;
}

export interface BricksMessage {
  readonly kind: "bricks";
  readonly header: BulkHeader;
  readonly level: number;
  /** Of a code: 4 to 8, or 16. */
  readonly bits: number;
  /** Size of the level's grid. */
  readonly size: Size3;
  /** Extremes of the step, or of what the set keeps apart of it around the range that is shown: values beyond are at these ends. NaN both when nothing is finite. */
  readonly lo: number;
  readonly hi: number;
  readonly bricks: readonly PackedBrick[];
}

/** Bits of codes that take more than a byte. */
const WIDE = 16;
/** Of a box. */
const MOST_EDGE = 64;
/** Bricks of a box, at most. */
const PARTS = 4;

export function parseBricks(bytes: Uint8Array): BricksMessage {
  const cursor = bulkCursor(bytes, "bricks");
  const header = readHeader(cursor);
  const level = cursor.u8("level");
  if (level > 20) cursor.fail(`level ${level} is beyond 20`);
  const bits = cursor.u8("bits");
  if (bits !== WIDE && (bits < 4 || bits > 8)) cursor.fail(`${bits} bits per code, expected 4 to 8, or 16`);
  const count = cursor.u16("brick count");
  const size = readSize(cursor, "level size");
  if (Math.min(...size) === 0) cursor.fail("the level's grid is empty");
  cursor.u16("padding");
  const lo = cursor.f32("lo");
  const hi = cursor.f32("hi");
  const bricks: PackedBrick[] = [];
  for (let i = 0; i < count; i++) bricks.push(readBrick(cursor, size));
  cursor.finish();
  return { kind: "bricks", header, level, bits, size, lo, hi, bricks };
}

/** Parts of a box that have samples. */
export function partsOf(size: Size3): number[] {
  return Array.from({ length: PARTS }, (_, part) => part).filter((part) => sampleCount(size, part) > 0);
}

/** Where the rows of a part of a box begin, counted in samples of the box. */
export function rowsOf(size: Size3, part: number): number[] {
  const starts: number[] = [];
  for (let z = part >> 1; z < size[2]; z += 2) {
    for (let y = part & 1; y < size[1]; y += 2) starts.push((z * size[1] + y) * size[0]);
  }
  return starts;
}

/** Samples of a part of a box. */
function sampleCount(size: Size3, part: number): number {
  return size[0] * rowCount(size, part) * ((size[2] + 1 - (part >> 1)) >> 1);
}

/** Rows in a slice of a part of a box. */
function rowCount(size: Size3, part: number): number {
  return (size[1] + 1 - (part & 1)) >> 1;
}

/** Codes of a brick in `[z, y, x]` order; `null` where every sample is `valueLo`. */
export function unpackBrick(brick: PackedBrick, bits: number): Uint8Array | Uint16Array | null {
  if (brick.frame.byteLength === 0) return null;
  const count = sampleCount(brick.size, brick.part);
  const what = `brick at ${brick.lo.join(",")}`;
  const { narrow, wide } = unpackSymbols(brick.frame, bits === WIDE ? 0 : count, bits === WIDE ? [count] : [], what);
  const codes = bits === WIDE ? wide[0] : narrow;
  undoPrediction(codes, brick.predictor, brick.size[0], rowCount(brick.size, brick.part));
  if (bits < 8) holdAt(codes, 2 ** bits - 1);
  return codes;
}

function holdAt(codes: Uint8Array | Uint16Array, most: number): void {
  for (let i = 0; i < codes.length; i++) codes[i] = Math.min(codes[i], most);
}

function readBrick(cursor: ReturnType<typeof bulkCursor>, grid: Size3): PackedBrick {
  const lo = readSize(cursor, "brick position");
  const size = [cursor.u8("box size"), cursor.u8("box size"), cursor.u8("box size")] as const;
  const way = cursor.u8("part and predictor");
  const [part, predictor] = [way % PARTS, Math.floor(way / PARTS)];
  for (let axis = 0; axis < 3; axis++) {
    if (size[axis] < 1 || size[axis] > MOST_EDGE || lo[axis] + size[axis] > grid[axis]) {
      cursor.fail(`box of ${size.join("x")} at ${lo.join(",")} does not lie in the level's ${grid.join("x")}`);
    }
  }
  if (sampleCount(size, part) === 0) cursor.fail(`a box of ${size.join("x")} has no part ${part}`);
  if (predictor >= PREDICTORS) cursor.fail(`predictor ${predictor}, expected 0 to ${PREDICTORS - 1}`);
  const valueLo = cursor.f32("brick lo");
  const valueHi = cursor.f32("brick hi");
  const length = cursor.u32("brick length");
  return { lo, size, part, valueLo, valueHi, predictor, frame: cursor.bytes(length, "brick") };
}

function readSize(cursor: ReturnType<typeof bulkCursor>, name: string): Size3 {
  return [cursor.u16(name), cursor.u16(name), cursor.u16(name)];
}
