import { WireError } from "./errors";

/** Reads little-endian numbers one after another and refuses to read past the end. */
export class Cursor {
  readonly #view: DataView;
  readonly #bytes: Uint8Array;
  readonly #what: string;
  #at = 0;

  constructor(bytes: Uint8Array, what: string) {
    this.#bytes = bytes;
    this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    this.#what = what;
  }

  get offset(): number {
    return this.#at;
  }

  get remaining(): number {
    return this.#bytes.byteLength - this.#at;
  }

  u8(name: string): number {
    return this.#view.getUint8(this.#take(1, name));
  }

  u16(name: string): number {
    return this.#view.getUint16(this.#take(2, name), true);
  }

  u32(name: string): number {
    return this.#view.getUint32(this.#take(4, name), true);
  }

  /** A u64 that must fit a double exactly. */
  u64(name: string): number {
    const value = this.#view.getBigUint64(this.#take(8, name), true);
    if (value > BigInt(Number.MAX_SAFE_INTEGER)) {
      throw new WireError(`${this.#what}: ${name} ${value} is larger than this page can count`);
    }
    return Number(value);
  }

  f32(name: string): number {
    return this.#view.getFloat32(this.#take(4, name), true);
  }

  f64(name: string): number {
    return this.#view.getFloat64(this.#take(8, name), true);
  }

  /** A view of the next `count` bytes, not a copy. */
  bytes(count: number, name: string): Uint8Array {
    const start = this.#take(count, name);
    return this.#bytes.subarray(start, start + count);
  }

  finish(): void {
    if (this.remaining !== 0) {
      throw new WireError(`${this.#what}: ${this.remaining} bytes left over at byte ${this.#at}`);
    }
  }

  fail(reason: string): never {
    throw new WireError(`${this.#what}: ${reason} (at byte ${this.#at})`);
  }

  #take(count: number, name: string): number {
    const start = this.#at;
    if (count > this.#bytes.byteLength - start) {
      throw new WireError(
        `${this.#what}: ${name} needs ${count} bytes at byte ${start}, but only ${this.#bytes.byteLength - start} are left`,
      );
    }
    this.#at = start + count;
    return start;
  }
}
