/** Replaces differences (mod 256) by running sums over `bytes[start .. start + count]`, in place. */
export function undoDifferences8(bytes: Uint8Array, start: number, count: number): void {
  let code = 0;
  for (let i = start; i < start + count; i++) {
    code = (code + bytes[i]) & 0xff;
    bytes[i] = code;
  }
}

/** Codes of 16 bits from `2 * count` bytes: all low bytes of the differences (mod 65536), then all high bytes. */
export function undoDifferences16(bytes: Uint8Array, count: number): Uint16Array {
  const codes = new Uint16Array(count);
  let code = 0;
  for (let i = 0; i < count; i++) {
    code = (code + bytes[i] + (bytes[count + i] << 8)) & 0xffff;
    codes[i] = code;
  }
  return codes;
}

/**
 * Undoes differences (mod 256) to `left + above - above left` of an image in rows of `width`, in place: running sums along each row,
 * then the finished row above added.
 */
export function undoImageDifferences8(bytes: Uint8Array, start: number, count: number, width: number): void {
  for (let row = start; row < start + count; row += width) {
    undoDifferences8(bytes, row, width);
    if (row === start) continue;
    for (let i = row; i < row + width; i++) bytes[i] = (bytes[i] + bytes[i - width]) & 0xff;
  }
}

/** The same for 16 bits: `2 * count` bytes, low ones first, of differences whose signs are interleaved (0, -1, 1, -2, ...). */
export function undoImageDifferences16(bytes: Uint8Array, count: number, width: number): Uint16Array {
  const values = new Uint16Array(count);
  for (let row = 0; row < count; row += width) {
    let sum = 0;
    for (let i = row; i < row + width; i++) {
      const coded = bytes[i] | (bytes[count + i] << 8);
      sum += coded & 1 ? -((coded + 1) >> 1) : coded >> 1;
      values[i] = sum + (row === 0 ? 0 : values[i - width]);
    }
  }
  return values;
}
