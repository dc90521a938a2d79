/** Builds messages byte by byte, to hold the parser against. */
export class Bytes {
  readonly #parts: number[] = [];

  get length(): number {
    return this.#parts.length;
  }

  u8(...values: number[]): this {
    this.#parts.push(...values);
    return this;
  }

  u16(...values: number[]): this {
    for (const value of values) this.#parts.push(value & 255, value >> 8);
    return this;
  }

  u32(value: number): this {
    return this.u16(value & 0xffff, value >>> 16);
  }

  u64(value: bigint): this {
    return this.u32(Number(value & 0xffffffffn)).u32(Number(value >> 32n));
  }

  f32(...values: number[]): this {
    this.#parts.push(...new Uint8Array(new Float32Array(values).buffer));
    return this;
  }

  f64(value: number): this {
    this.#parts.push(...new Uint8Array(new Float64Array([value]).buffer));
    return this;
  }

  bytes(values: ArrayLike<number>): this {
    this.#parts.push(...Array.from(values));
    return this;
  }

  header(kind: number, options: { completes?: boolean; set?: number; step?: bigint } = {}): this {
    const { completes = true, set = 7, step = 12n } = options;
    return this.u8(kind, completes ? 1 : 0)
      .u16(3)
      .u32(set)
      .u64(step)
      .f64(0.25)
      .u32(17);
  }

  done(): Uint8Array {
    return Uint8Array.from(this.#parts);
  }
}

/** A zstd frame with one raw block (RFC 8878): single segment, content size of 4 bytes. */
export function rawFrame(content: ArrayLike<number>): Uint8Array {
  const head = (content.length << 3) | 1;
  return new Bytes()
    .u32(0xfd2fb528)
    .u8(0xa0)
    .u32(content.length)
    .u8(head & 255, (head >> 8) & 255, head >> 16)
    .bytes(content)
    .done();
}
