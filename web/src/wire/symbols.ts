import { WireError } from "./errors";
import { unzstd } from "./zstd";

/** The nibble of what does not fit into one. */
const LARGE = 15;

const PLAIN = 0;
const PACKED = 1;

/** How samples differ from what those before them lead one to expect (mod 2^bits), signs interleaved: 0, -1, 1, -2, ... are 0, 1, 2, 3, ... */
export interface Symbols {
  /** Of 8 bits. */
  readonly narrow: Uint8Array;
  /** Of 16 bits: parts of them. */
  readonly wide: readonly Uint16Array[];
}

/** So many symbols of 8 bits, and parts of so many of 16 bits, from a frame that is to hold them. */
export function unpackSymbols(frame: Uint8Array, narrow: number, wide: readonly number[], what: string): Symbols {
  const plain = (count: number, bytes: number) => (count === 0 ? 0 : 1 + bytes * count);
  const most = wide.reduce((sum, count) => sum + plain(count, 2), plain(narrow, 1));
  const reader = new PartReader(unzstd(frame, most, what), what);
  const symbols = {
    narrow: reader.fill(new Uint8Array(narrow)),
    wide: wide.map((count) => reader.fill(new Uint16Array(count))),
  };
  reader.finish();
  return symbols;
}

/** Reads parts of symbols, one after the other. */
class PartReader {
  #read = 0;

  constructor(
    readonly bytes: Uint8Array,
    readonly what: string,
  ) {}

  fill<Part extends Uint8Array | Uint16Array>(part: Part): Part {
    if (part.length === 0) return part;
    const [way] = this.#take(1);
    if (way !== PLAIN && way !== PACKED)
      throw new WireError(`${this.what}: a part begins with the byte ${way}, where 0 or 1 is due`);
    if (way === PLAIN) {
      join(this.#take(part.BYTES_PER_ELEMENT * part.length), part);
      return part;
    }
    const large = spread(this.#take((part.length + 1) >> 1), part);
    const whole = part.BYTES_PER_ELEMENT === 1 ? new Uint8Array(large) : new Uint16Array(large);
    join(this.#take(part.BYTES_PER_ELEMENT * large), whole);
    replaceLarge(part, whole);
    return part;
  }

  finish(): void {
    if (this.#read < this.bytes.byteLength) throw this.#due(this.#read);
  }

  #take(count: number): Uint8Array {
    const start = this.#read;
    this.#read += count;
    if (this.#read > this.bytes.byteLength) throw this.#due(this.#read);
    return this.bytes.subarray(start, this.#read);
  }

  #due(count: number): WireError {
    return new WireError(`${this.what}: ${this.bytes.byteLength} bytes where ${count} are due`);
  }
}

/** Nibbles, the lower half of each byte first; gives how many are large. */
function spread(bytes: Uint8Array, out: Uint8Array | Uint16Array): number {
  let large = 0;
  for (let i = 0; i < out.length; i++) {
    const nibble = (bytes[i >> 1] >> ((i & 1) << 2)) & LARGE;
    out[i] = nibble;
    if (nibble === LARGE) large++;
  }
  return large;
}

function replaceLarge(symbols: Uint8Array | Uint16Array, whole: Uint8Array | Uint16Array): void {
  if (whole.length === 0) return;
  let next = 0;
  for (let i = 0; i < symbols.length; i++) {
    if (symbols[i] === LARGE) symbols[i] = whole[next++];
  }
}

/** Numbers from all their low bytes and then, where they have 16 bits, all their high bytes. */
function join(bytes: Uint8Array, out: Uint8Array | Uint16Array): void {
  const count = out.length;
  if (out.BYTES_PER_ELEMENT === 1) out.set(bytes);
  else for (let i = 0; i < count; i++) out[i] = bytes[i] | (bytes[count + i] << 8);
}

/** The difference that a symbol stands for. */
export function differenceOf(symbol: number): number {
  return (symbol >> 1) ^ -(symbol & 1);
}

/**
 * Turns the symbols of an image in rows of `width` into its samples, in place: running sums of the differences along each row, then the
 * finished row above added.
 */
export function undoImage(plane: Uint8Array | Uint16Array, width: number): void {
  for (let row = 0; row < plane.length; row += width) {
    let sum = 0;
    for (let i = row; i < row + width; i++) {
      sum += differenceOf(plane[i]);
      plane[i] = sum + (row === 0 ? 0 : plane[i - width]);
    }
  }
}
