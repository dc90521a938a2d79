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
