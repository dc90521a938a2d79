import {
  type BricksMessage,
  type BulkHeader,
  halfFromNumber,
  type PackedBrick,
  partsOf,
  rowsOf,
  unpackBrick,
} from "../wire/index";
import { constantCellRanges, type Size3 } from "./ranges";
import { type Codes, NO_DATA, type Samples, type Unpacked, unpackCodes, unpackSingles } from "./unpack";

/** Samples of a box ready to upload: values normalised over the set's lo..hi. */
export interface DecodedBox<S extends Samples = Uint16Array<ArrayBuffer>> extends Unpacked<S> {
  readonly lo: Size3;
  readonly size: Size3;
}

/** One put together of bricks. */
export interface BoxOfBricks extends DecodedBox<Samples> {
  /** Parts of it that are lost: their samples are [`LOST`]. */
  readonly lost: readonly number[];
}

/** Boxes of a set, of which this is the newest message. */
export interface Joined {
  readonly message: BricksMessage;
  /** Samples are 32-bit floats; half floats otherwise. */
  readonly asSingles: boolean;
  readonly boxes: readonly BoxOfBricks[];
}

/** Stands for a sample that did not come: neither a value nor [`NO_DATA`]. */
export const LOST = -30000;

const lostHalf = halfFromNumber(LOST);

/** Most samples of a level as 32-bit floats: 256 MiB, as the most half floats. */
const MOST_SINGLES = 1 << 26;

interface Begun {
  /** Any of its bricks: they have place, size and range in common. */
  readonly brick: PackedBrick;
  /** Codes by part; `null` where all are of the least value. */
  readonly parts: Map<number, Codes | null>;
}

/** Puts boxes together of bricks as they come over one connection, set after set. */
export class BrickJoiner {
  readonly #hasSingles: boolean;
  readonly #begun = new Map<string, Begun>();
  /** The newest one of the set that is under way. */
  #message: BricksMessage | null = null;

  /** `hasSingles`: textures of 32-bit floats can be drawn from. */
  constructor(hasSingles: boolean) {
    this.#hasSingles = hasSingles;
  }

  /** To be told of every message first: what is torn of the set that was under way, where this one tells that its last message is lost. */
  hear({ set, field, step }: BulkHeader): Joined | null {
    const message = this.#message;
    if (!message || message.header.set === set) return null;
    const begun = this.#end();
    // In place of the rest another step or field was sent: the set will not be shown.
    if (message.header.step !== step || message.header.field !== field) return null;
    const asSingles = this.#isOfSingles(message);
    return { message, asSingles, boxes: begun.map((torn) => boxOf(message, torn, asSingles)) };
  }

  /** Boxes that a message completes; all that have begun where it completes its set. */
  join(message: BricksMessage): Joined {
    this.#message = message;
    const asSingles = this.#isOfSingles(message);
    const boxes: BoxOfBricks[] = [];
    for (const brick of message.bricks) {
      const key = [...brick.lo, ...brick.size].join();
      const begun = this.#begun.get(key) ?? { brick, parts: new Map() };
      begun.parts.set(brick.part, unpackBrick(brick, message.bits));
      this.#begun.set(key, begun);
      if (begun.parts.size < partsOf(brick.size).length) continue;
      this.#begun.delete(key);
      boxes.push(boxOf(message, begun, asSingles));
    }
    if (message.header.completes) boxes.push(...this.#end().map((torn) => boxOf(message, torn, asSingles)));
    return { message, asSingles, boxes };
  }

  /** Half floats tell fewer values apart than codes of 16 bits do; codes of 8 they tell apart. */
  #isOfSingles({ bits, size }: BricksMessage): boolean {
    return this.#hasSingles && bits > 8 && size[0] * size[1] * size[2] <= MOST_SINGLES;
  }

  /** Nothing more of the set comes: the boxes of which bricks have. */
  #end(): Begun[] {
    const begun = [...this.#begun.values()];
    this.#begun.clear();
    this.#message = null;
    return begun;
  }
}

function boxOf(message: BricksMessage, { brick, parts }: Begun, asSingles: boolean): BoxOfBricks {
  const { lo: setLo, hi: setHi, bits } = message;
  const { lo, size, valueLo, valueHi } = brick;
  const lost = partsOf(size).filter((part) => !parts.has(part));
  const span = setHi - setLo;
  const isEmpty = Number.isNaN(valueLo);
  const first = span > 0 ? (valueLo - setLo) / span : 0;
  if (lost.length === 0 && [...parts.values()].every((codes) => codes === null)) {
    return { lo, size, lost, ...constant(lo, size, isEmpty ? Number.NaN : first, asSingles) };
  }
  const codes = new Uint16Array(size[0] * size[1] * size[2]);
  for (const [part, own] of parts) {
    if (own) copyRows(codes, size, part, own);
    else fillRows(codes, size, part, isEmpty ? 0 : 1);
  }
  const step = span > 0 ? (valueHi - valueLo) / (2 ** bits - 2) / span : 0;
  const unpacked = (asSingles ? unpackSingles : unpackCodes)(codes, lo, size, first, step);
  for (const part of lost) fillRows(unpacked.samples, size, part, asSingles ? LOST : lostHalf);
  return { lo, size, lost, ...unpacked };
}

/** Of one value, NaN for none. */
function constant(lo: Size3, size: Size3, value: number, asSingles: boolean): Unpacked<Samples> {
  const count = size[0] * size[1] * size[2];
  const held = Math.min(1, Math.max(0, value));
  const sample = Number.isNaN(value) ? NO_DATA : held;
  const samples = asSingles
    ? new Float32Array(count).fill(sample)
    : new Uint16Array(count).fill(halfFromNumber(sample));
  return { samples, ranges: constantCellRanges(lo, size, held) };
}

/** Writes the rows of a part of a box, which follow one another in `own`. */
function copyRows(box: Uint16Array, size: Size3, part: number, own: Codes): void {
  let from = 0;
  for (const start of rowsOf(size, part)) {
    for (let x = 0; x < size[0]; x++) box[start + x] = own[from + x];
    from += size[0];
  }
}

function fillRows(box: Uint16Array | Float32Array, size: Size3, part: number, value: number): void {
  for (const start of rowsOf(size, part)) box.fill(value, start, start + size[0]);
}
