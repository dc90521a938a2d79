const scratchFloat = new Float32Array(1);
const scratchBits = new Uint32Array(scratchFloat.buffer);

/** Nearest IEEE binary16 of a number within its range; ties to even. */
export function halfFromNumber(value: number): number {
  scratchFloat[0] = value;
  const bits = scratchBits[0];
  const sign = (bits >>> 16) & 0x8000;
  const magnitude = bits & 0x7fffffff;
  if (magnitude >= 0x47800000) return sign | (magnitude > 0x7f800000 ? 0x7e00 : 0x7c00);
  if (magnitude < 0x38800000) {
    const shift = 126 - (magnitude >>> 23);
    if (shift > 24) return sign;
    const mantissa = (magnitude & 0x7fffff) | 0x800000;
    return sign | roundShift(mantissa, shift);
  }
  return sign | roundShift(magnitude - 0x38000000, 13);
}

function roundShift(value: number, shift: number): number {
  const half = 1 << (shift - 1);
  const odd = (value >>> shift) & 1;
  return (value + half - 1 + odd) >>> shift;
}

/** The number that an IEEE binary16 stands for. */
export function numberFromHalf(half: number): number {
  const sign = half & 0x8000 ? -1 : 1;
  const exponent = (half >>> 10) & 31;
  const mantissa = half & 0x3ff;
  if (exponent === 31) return mantissa === 0 ? sign * Number.POSITIVE_INFINITY : Number.NaN;
  return exponent === 0 ? sign * mantissa * 2 ** -24 : sign * (1024 + mantissa) * 2 ** (exponent - 25);
}
