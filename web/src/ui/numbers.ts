import { placeOf, type Scale, valueAt } from "../volume/index";

/** Places on a scale. */
export type Range = readonly [lo: number, hi: number];

/** Of thousands, or of three digits behind a point. */
const OPEN_COMMA = /^([-+\u2212]?[1-9]\d{0,2}),(\d{3})$/;
const DECIMAL = /^[-+]?(\d+\.?\d*|\.\d+)(e[-+]?\d+)?$/i;
/** Of thousands. */
const SEPARATED = /^[-+\u2212]?\d{1,3}([,.' _\u00a0\u2009\u202f\u2019]\d{3})+([.,]\d*)?$/;
const WITH_UNIT = /^(?!0[xbo])([-+\u2212]?[\d.,]+(?:e[-+\u2212]?\d+)?)\s*[\p{L}%\u00b0\u00b5].*$/iu;

/** Why a comma may be either of two numbers; `null` if it is not. */
export function commaWords(typed: string): string | null {
  const found = typed.trim().match(OPEN_COMMA);
  if (!found) return null;
  const [words, whole, rest] = found;
  return `\u201c${words}\u201d may be ${whole}${rest} or ${whole}.${rest}: write it without a comma.`;
}

/** What was typed as a number, a comma taken for a point; NaN if it is none, or may be either of two. */
export function numberOf(typed: string): number {
  if (OPEN_COMMA.test(typed.trim())) return Number.NaN;
  const text = typed.trim().replace(",", ".").replaceAll("\u2212", "-");
  return DECIMAL.test(text) ? Number(text) : Number.NaN;
}

/** Why what was typed is no number; `null` if it is one. */
export function noNumberWords(typed: string): string | null {
  const words = typed.trim();
  const either = commaWords(words);
  if (either !== null || Number.isFinite(numberOf(words))) return either;
  const refusal = `\u201c${words}\u201d is not a number`;
  if (SEPARATED.test(words)) return `${refusal}: write it without separators.`;
  const [, number] = words.match(WITH_UNIT) ?? [];
  return number && Number.isFinite(numberOf(number)) ? `${refusal}: write it without the unit.` : `${refusal}.`;
}

/** How many values single precision tells apart from `lo` to `hi`, at most. */
export function toldApart([lo, hi]: Range): number {
  const largest = new Float32Array([Math.max(Math.abs(lo), Math.abs(hi))]);
  const next = new Float32Array(new Uint32Array([new Uint32Array(largest.buffer)[0] + 1]).buffer);
  return Math.round((hi - lo) / (next[0] - largest[0])) + 1;
}

/** Characters that fit in a box of the panel. */
const ROOM = 9;
const FEWEST_DIGITS = { plain: 6, exponential: 3 };
const MOST_DIGITS = 17;

/** A bound with all the digits that a range has. */
export function fullWords(place: number, scale: Scale): string {
  return scale === "logarithmic" ? String(Number((10 ** place).toPrecision(9))) : String(place);
}

/** A bound of a range for a box: whole where that fits and is a whole number or no longer, else with the digits that tell the range apart. */
export function boundWords(place: number, [lo, hi]: Range, scale: Scale): string {
  const value = valueAt(place, scale);
  const size = Math.abs(value);
  const isPlain = size === 0 || (size >= 1e-3 && size < 1e9);
  const write = (digits: number) => {
    const rounded = Number(value.toPrecision(digits));
    return isPlain ? String(rounded) : rounded.toExponential().replace("e+", "e");
  };
  const placeIn = (text: string) => placeOf(Number(text), scale);
  const isSame = (text: string) => isSamePlace(placeIn(text), place, scale);
  const whole = firstOf(1, write, isSame);
  const near = (hi - lo) / 1000;
  const fewest = isPlain ? FEWEST_DIGITS.plain : FEWEST_DIGITS.exponential;
  const apart = firstOf(fewest, write, (text) => isSame(text) || Math.abs(placeIn(text) - place) <= near);
  const isShort = Number.isInteger(value) || whole.length <= apart.length;
  return isShort && whole.length <= ROOM ? whole : apart;
}

/** A logarithm is told by values that have another one with all their digits. */
function isSamePlace(other: number, place: number, scale: Scale): boolean {
  const single = Math.fround(place);
  return scale === "logarithmic" || single === place ? Math.fround(other) === single : other === place;
}

function firstOf(fewest: number, write: (digits: number) => string, serves: (text: string) => boolean): string {
  for (let digits = fewest; digits < MOST_DIGITS; digits++) {
    const text = write(digits);
    if (serves(text)) return text;
  }
  return write(MOST_DIGITS);
}

type Typed = readonly [lo: string | null, hi: string | null];

/** What was typed for the bounds of a range, `null` for one that stays; or in words why it is none. */
export function enteredRange(typed: Typed, range: Range, scale: Scale): Range | string {
  const values = typed.map((text, i) => (text === null ? valueAt(range[i], scale) : numberOf(text)));
  const wrong = problemOf(typed, values, scale);
  if (wrong !== null) return wrong;
  const [lo, hi] = typed.map((text, i) => (text === null ? range[i] : placeOf(values[i], scale)));
  const isRounded = (i: number) => scale === "logarithmic" && typed[i] === null;
  const [lowest, highest] = values.map((value, i) =>
    isRounded(i) ? boundWords(range[i], range, scale) : String(value),
  );
  if (lo >= hi) return `The lowest value, ${lowest}, is not below the highest, ${highest}.`;
  const singles = values.map(Math.fround);
  if (!singles.every(Number.isFinite)) return "Values are 32-bit numbers: none is more than 3.4e38.";
  if (scale === "logarithmic" && singles[0] === 0)
    return "Values are 32-bit numbers: none above 0 is less than 1.4e-45.";
  const isOne = singles[0] === singles[1] || Math.fround(lo) === Math.fround(hi);
  return isOne ? `${lowest} and ${highest} are the same as 32-bit numbers.` : [lo, hi];
}

/** Why one of the bounds that were typed is none by itself. */
function problemOf(typed: Typed, values: readonly number[], scale: Scale): string | null {
  for (const [i, text] of typed.entries()) {
    if (text === null) continue;
    const words = text.trim();
    if (words === "") return "A bound is left empty.";
    const problem = noNumberWords(words);
    if (problem !== null) return problem;
    if (scale === "logarithmic" && values[i] <= 0)
      return `\u201c${words}\u201d is not above 0, where a logarithmic scale begins.`;
  }
  return null;
}
