import { type BricksMessage, halfFromNumber, PARTS, type PackedBrick, rowsOf, unpackBrick } from "../wire/index";
import { constantCellRanges, type Size3 } from "./ranges";
import { NO_DATA, type Unpacked, unpackCodes } from "./unpack";

/** Samples of a box ready to upload: values normalised over the set's lo..hi. */
export interface DecodedBox extends Unpacked {
  readonly lo: Size3;
  readonly size: Size3;
}

/** One put together of bricks. */
export interface BoxOfBricks extends DecodedBox {
  /** Whether some of its bricks are lost: their samples are [`LOST`]. */
  readonly isTorn: boolean;
}

/** Stands for a sample that did not come: neither a value nor [`NO_DATA`]. */
export const LOST = -30000;

const noDataHalf = halfFromNumber(NO_DATA);
const lostHalf = halfFromNumber(LOST);

type Codes = Uint8Array | Uint16Array;

interface Begun {
  /** Any of its bricks. */
  readonly brick: PackedBrick;
  /** Codes by part; `null` where all are of the least value. */
  readonly parts: Map<number, Codes | null>;
}

/** Puts boxes together of the bricks of a set as they come over one connection. */
export class BrickJoiner {
  readonly #begun = new Map<string, Begun>();
  #message: BricksMessage | null = null;

  /** The newest message of the set that has begun. */
  get message(): BricksMessage | null {
    return this.#message;
  }

  /** Boxes that a message completes; all that have begun where it completes its set. */
  join(message: BricksMessage): BoxOfBricks[] {
    this.#message = message;
    const whole: BoxOfBricks[] = [];
    for (const brick of message.bricks) {
      const key = [...brick.lo, ...brick.size].join();
      const begun = this.#begun.get(key) ?? { brick, parts: new Map() };
      begun.parts.set(brick.part, unpackBrick(brick, message.bits));
      this.#begun.set(key, begun);
      if (begun.parts.size < partsOf(begun.brick.size).length) continue;
      this.#begun.delete(key);
      whole.push(joined(message, begun));
    }
    return message.header.completes ? [...whole, ...this.rest()] : whole;
  }

  /** Nothing more of the set comes: the boxes of which bricks are lost. */
  rest(): BoxOfBricks[] {
    const message = this.#message;
    const torn = message ? [...this.#begun.values()].map((begun) => joined(message, begun)) : [];
    this.#begun.clear();
    this.#message = null;
    return torn;
  }
}

function partsOf(size: Size3): number[] {
  return Array.from({ length: PARTS }, (_, part) => part).filter((part) => rowsOf(size, part).length > 0);
}

function joined({ lo: setLo, hi: setHi, bits }: BricksMessage, { brick, parts }: Begun): BoxOfBricks {
  const { lo, size, valueLo, valueHi } = brick;
  const lost = partsOf(size).filter((part) => !parts.has(part));
  const span = setHi - setLo;
  const isTorn = lost.length > 0;
  if (!isTorn && [...parts.values()].every((codes) => codes === null)) {
    return { lo, size, isTorn, ...constant(size, lo, span > 0 ? (valueLo - setLo) / span : valueLo * 0) };
  }
  const codes = new Uint16Array(size[0] * size[1] * size[2]);
  for (const [part, own] of parts) fill(codes, size, part, own ?? (Number.isNaN(valueLo) ? 0 : 1));
  const perCode = (valueHi - valueLo) / (2 ** bits - 2);
  const [first, step] = span > 0 ? [(valueLo - setLo) / span, perCode / span] : [0, 0];
  const unpacked = unpackCodes(codes, lo, size, first, step);
  for (const part of lost) fill(unpacked.samples, size, part, lostHalf);
  return { lo, size, isTorn, ...unpacked };
}

/** Of one value, NaN for none. */
function constant(size: Size3, lo: Size3, value: number): Unpacked {
  const samples = new Uint16Array(size[0] * size[1] * size[2]);
  const held = Math.min(1, Math.max(0, value));
  samples.fill(Number.isNaN(value) ? noDataHalf : halfFromNumber(held));
  return { samples, ranges: constantCellRanges(lo, size, held) };
}

/** Writes the rows of a part of a box: those of `own` one after another, or one number. */
function fill(box: Uint16Array, size: Size3, part: number, own: Codes | number): void {
  const width = size[0];
  for (const [i, start] of rowsOf(size, part).entries()) {
    if (typeof own === "number") box.fill(own, start, start + width);
    else box.set(own.subarray(i * width, (i + 1) * width), start);
  }
}
