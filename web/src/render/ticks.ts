/** About `count` round numbers from `lo` to `hi`: multiples of 1, 2 or 5 times a power of ten. */
export function ticks(lo: number, hi: number, count: number): readonly number[] {
  const step = tickStep(lo, hi, count);
  if (!(step > 0) || count < 1) return Number.isFinite(lo) ? [lo] : [];
  const first = Math.ceil(lo / step - 1e-9);
  const last = Math.floor(hi / step + 1e-9);
  return Array.from({ length: Math.max(0, last - first + 1) }, (_, i) => (first + i) * step);
}

/** How far apart ticks are; 0 where there is nothing between `lo` and `hi`. */
function tickStep(lo: number, hi: number, count: number): number {
  const width = hi - lo;
  if (!(width > 0) || !Number.isFinite(width)) return 0;
  const rough = width / count;
  const power = 10 ** Math.floor(Math.log10(rough));
  return [1, 2, 5, 10].map((m) => m * power).find((s) => s >= rough * 0.999) ?? 10 * power;
}

/** A place on a scale and what stands there. */
export interface Mark {
  readonly value: number;
  readonly words: string;
}

/** About `count` round numbers from `lo` to `hi`, with the digits that tell them apart. */
export function tickMarks(lo: number, hi: number, count: number): readonly Mark[] {
  const words = scaleWords(lo, hi, tickStep(lo, hi, count));
  return ticks(lo, hi, count).map((value) => ({ value, words: words(value) }));
}

/** Both ends of a scale of `length` pixels, and of `count` round numbers those that stay `apart` pixels from them. */
export function marksWithEnds(lo: number, hi: number, count: number, length: number, apart: number): readonly Mark[] {
  const step = tickStep(lo, hi, count);
  if (step === 0 || length < 2 * apart) return tickMarks(lo, hi, count);
  const margin = ((hi - lo) * apart) / length;
  const between = ticks(lo, hi, count).filter((value) => value - lo >= margin && hi - value >= margin);
  const words = scaleWords(lo, hi, step);
  const [first, last] = ends(lo, hi, step);
  return [first, ...between.map((value) => ({ value, words: words(value) })), last];
}

/** Pixels from one round number of an axis to the next, and at least. */
const [AMPLE, CLOSE] = [60, 20];

/** What may stand along an axis of `length` pixels, in order of choice: round numbers, ever closer ones, and both ends. */
export function* axisMarks(lo: number, hi: number, length: number): Generator<readonly Mark[]> {
  const fewest = Math.max(2, Math.min(6, Math.floor(length / AMPLE)));
  const most = Math.max(fewest, Math.floor(length / CLOSE));
  for (let count = fewest; count <= most; count++) yield tickMarks(lo, hi, count);
  if (hi > lo) yield ends(lo, hi, tickStep(lo, hi, fewest));
}

/** The same of an axis on which these stand equally far apart: some of them. */
export function* stopMarks(stops: readonly number[], length: number): Generator<readonly Mark[]> {
  const last = stops.length - 1;
  const fewest = Math.max(1, Math.min(last, 6, Math.floor(length / AMPLE)));
  const most = Math.max(fewest, Math.min(last, Math.floor(length / CLOSE)));
  for (let count = fewest; count <= most; count++) {
    const chosen = new Set(Array.from({ length: count + 1 }, (_, i) => Math.round((i * last) / count)));
    const values = [...chosen].map((i) => stops[i]);
    const apart = Math.min(...values.slice(1).map((value, i) => Math.abs(value - values[i])));
    const words = scaleWords(Math.min(...values), Math.max(...values), apart);
    // Small ones among large ones have their own digits.
    yield values.map((value) => ({ value, words: words(value, Math.min(apart / 10, Math.abs(value) / 100 || apart)) }));
  }
}

function ends(lo: number, hi: number, step: number): readonly [Mark, Mark] {
  const words = scaleWords(lo, hi, step);
  const end = (value: number) => ({ value, words: words(value, (hi - lo) / 1000) });
  return [end(lo), end(hi)];
}

/** A number as short as is right for a scale that spans `width`. */
export function formatNumber(value: number, width = Math.abs(value)): string {
  const span = width > 0 ? width : Math.abs(value);
  const size = Math.max(Math.abs(value), span);
  return scaleWords(size, size, span / 10)(value, span / 100);
}

/** Words for numbers of a scale: digits down to `resolution`, all of them plain or all of them with an exponent, by what is shorter. */
function scaleWords(lo: number, hi: number, step: number): (value: number, resolution?: number) => string {
  const size = Math.max(Math.abs(lo), Math.abs(hi));
  const apart = step > 0 ? step : size / 1000;
  const isPlain = size === 0 || lengthOf(size, apart) <= exponentialLengthOf(size, apart) + 1;
  return (value, resolution = apart) => {
    if (!Number.isFinite(value)) return "-";
    const last = placeOf(resolution);
    if (value === 0 || Math.abs(value) < 0.5 * 10 ** last) return "0";
    const text = isPlain
      ? value.toFixed(Math.min(20, Math.max(0, -last)))
      : value.toExponential(Math.min(15, Math.max(0, placeOf(Math.abs(value)) - last)));
    return text
      .replace(/(\.\d*?)0+(?=e|$)/, "$1")
      .replace(/\.(?=e|$)/, "")
      .replace("e+", "e")
      .replaceAll("-", "\u2212");
  };
}

/** The power of ten of a number's first digit. */
function placeOf(size: number): number {
  return Math.floor(Math.log10(size) + 1e-9);
}

function lengthOf(size: number, step: number): number {
  const last = placeOf(step);
  return Math.max(0, placeOf(size)) + 1 + (last < 0 ? 1 - last : 0);
}

function exponentialLengthOf(size: number, step: number): number {
  const power = placeOf(size);
  const decimals = Math.max(0, power - placeOf(step));
  return 1 + (decimals > 0 ? 1 + decimals : 0) + 1 + String(power).length;
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
