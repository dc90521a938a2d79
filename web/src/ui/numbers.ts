export type Range = readonly [lo: number, hi: number];

/** What was typed as a number, a comma taken for a point; NaN if it is none. */
export function numberOf(typed: string): number {
  const text = typed.trim().replace(",", ".").replaceAll("\u2212", "-");
  return text === "" ? Number.NaN : Number(text);
}

/** Characters that fit in a box of the panel. */
const ROOM = 9;
const FEWEST_DIGITS = { plain: 6, exponential: 3 };
const MOST_DIGITS = 17;

/** A bound of a range for a box: whole where that fits and is a whole number or no longer, else with the digits that tell the range apart. */
export function boundWords(value: number, [lo, hi]: Range): string {
  const size = Math.abs(value);
  const isPlain = size === 0 || (size >= 1e-3 && size < 1e9);
  const write = (digits: number) => {
    const rounded = Number(value.toPrecision(digits));
    return isPlain ? String(rounded) : rounded.toExponential().replace("e+", "e");
  };
  const isSame = (text: string) => (isSingle(value) ? Math.fround(Number(text)) : Number(text)) === value;
  const whole = firstOf(1, write, isSame);
  const near = (hi - lo) / 1000;
  const fewest = isPlain ? FEWEST_DIGITS.plain : FEWEST_DIGITS.exponential;
  const apart = firstOf(fewest, write, (text) => isSame(text) || Math.abs(Number(text) - value) <= near);
  const isShort = Number.isInteger(value) || whole.length <= apart.length;
  return isShort && whole.length <= ROOM ? whole : apart;
}

function isSingle(value: number): boolean {
  return Math.fround(value) === value;
}

function firstOf(fewest: number, write: (digits: number) => string, serves: (text: string) => boolean): string {
  for (let digits = fewest; digits < MOST_DIGITS; digits++) {
    const text = write(digits);
    if (serves(text)) return text;
  }
  return write(MOST_DIGITS);
}

/** What was typed for the bounds of a range, `null` for one that stays; or in words why it is none. */
export function enteredRange(typed: readonly [string | null, string | null], range: Range): Range | string {
  const bounds = typed.map((text, i) => (text === null ? range[i] : numberOf(text)));
  const wrong = typed.find((text, i) => text !== null && !Number.isFinite(bounds[i]));
  if (wrong !== undefined && wrong !== null) {
    return wrong.trim() === "" ? "A bound is left empty." : `\u201c${wrong.trim()}\u201d is not a number.`;
  }
  const [lo, hi] = bounds;
  if (lo >= hi) return `The lowest value, ${lo}, is not below the highest, ${hi}.`;
  const singles = bounds.map(Math.fround);
  if (!singles.every(Number.isFinite)) return "Values are 32-bit numbers: none is more than 3.4e38.";
  if (singles[0] === singles[1]) return `${lo} and ${hi} are the same as 32-bit numbers.`;
  return [lo, hi];
}
