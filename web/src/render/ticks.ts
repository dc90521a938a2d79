/** About `count` round numbers from `lo` to `hi`: multiples of 1, 2 or 5 times a power of ten. */
export function ticks(lo: number, hi: number, count: number): readonly number[] {
  const width = hi - lo;
  if (!(width > 0) || !Number.isFinite(width) || count < 1) return Number.isFinite(lo) ? [lo] : [];
  const rough = width / count;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((m) => m * power).find((s) => s >= rough * 0.999) ?? 10 * power;
  const first = Math.ceil(lo / step - 1e-9);
  const last = Math.floor(hi / step + 1e-9);
  return Array.from({ length: Math.max(0, last - first + 1) }, (_, i) => (first + i) * step);
}

/** A number as short as is right for a scale that spans `width`. */
export function formatNumber(value: number, width = Math.abs(value)): string {
  if (!Number.isFinite(value)) return "-";
  if (value === 0 || (width > 0 && Math.abs(value) < width * 1e-9)) return "0";
  const size = Math.max(Math.abs(value), width);
  if (size >= 1e5 || size < 1e-3) {
    const digits = Math.min(6, Math.max(0, Math.ceil(Math.log10(Math.abs(value) / (width || Math.abs(value)))) + 2));
    return value
      .toExponential(digits)
      .replace(/\.?0+e/, "e")
      .replace("e+", "e")
      .replace("-", "\u2212")
      .replace("e-", "e\u2212");
  }
  const decimals = Math.min(8, Math.max(0, 2 - Math.floor(Math.log10(width || size))));
  const text = value.toFixed(decimals);
  return (text.includes(".") ? text.replace(/\.?0+$/, "") : text).replace("-", "\u2212");
}

/** Bytes with a decimal prefix. */
export function formatBytes(bytes: number): string {
  return withPrefix(bytes, "B");
}

/** Bits per second with a decimal prefix. */
export function formatRate(bitsPerSecond: number): string {
  return withPrefix(bitsPerSecond, "bit/s");
}

function withPrefix(value: number, unit: string): string {
  const prefixes = ["", "k", "M", "G", "T"];
  let at = 0;
  let scaled = value;
  while (scaled >= 999.5 && at < prefixes.length - 1) {
    scaled /= 1000;
    at += 1;
  }
  return `${scaled >= 100 || at === 0 ? scaled.toFixed(0) : scaled.toPrecision(3)} ${prefixes[at]}${unit}`;
}
