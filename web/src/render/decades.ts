import type { Scale } from "../volume/index";
import { formatNumber, type Mark, ticks } from "./ticks";

/** Decades from one mark to the next where not every one has room. */
const STRIDES = [1, 2, 5, 10, 20] as const;
/** Marks within a decade, and how many times the distance of marks they keep from each other. */
const WITHIN = [2, 5] as const;
const ROOMY = 1.5;
const MOST_WITHIN_ONE = 6;

/**
 * Both ends of a logarithmic scale of `length` pixels from 10^`lo` to 10^`hi`, and between them what stays `apart` pixels from them and each other:
 * decades, 2 and 5 times each where there is room, other round numbers where it spans less than one.
 *
 * Places are exponents, words the values themselves.
 */
export function decadeMarks(lo: number, hi: number, length: number, apart: number): readonly Mark[] {
  const end = (value: number) => ({ value, words: formatPlace(value, [lo, hi], "logarithmic") });
  const room = ((hi - lo) * apart) / length;
  if (!(hi > lo) || !Number.isFinite(room)) return Number.isFinite(lo) ? [end(lo)] : [];
  const kept: Mark[] = [end(lo)];
  if (hi - lo >= room) kept.push(end(hi));
  for (const mark of between(lo, hi, room)) {
    const isFree = kept.every(({ value }) => Math.abs(value - mark.value) >= room);
    if (isFree && mark.value > lo && mark.value < hi) kept.push(mark);
  }
  return kept.sort((a, b) => a.value - b.value);
}

/** Round numbers on the way, the most welcome first. */
function between(lo: number, hi: number, room: number): readonly Mark[] {
  const stride = STRIDES.find((decades) => decades >= room) ?? 50;
  const first = Math.ceil(lo / stride);
  const count = Math.max(0, Math.floor(hi / stride) - first + 1);
  const whole = Array.from({ length: count }, (_, i) => mark(1, (first + i) * stride));
  if (hi - lo < 1) return [...whole, ...withinOne(lo, hi)];
  if (Math.log10(2) < ROOMY * room) return whole;
  const decades = Array.from({ length: Math.ceil(hi) - Math.floor(lo) }, (_, i) => Math.floor(lo) + i);
  return [...whole, ...decades.flatMap((power) => WITHIN.map((times) => mark(times, power)))];
}

function mark(times: number, power: number): Mark {
  return { value: Math.log10(times) + power, words: formatNumber(Number(`${times}e${power}`)) };
}

function withinOne(lo: number, hi: number): readonly Mark[] {
  const [from, to] = [10 ** lo, 10 ** hi];
  return ticks(from, to, MOST_WITHIN_ONE).map((value) => ({
    value: Math.log10(value),
    words: formatNumber(value, to - from),
  }));
}

/** The value at a place of a scale, as short as is right for the range of places that is shown. */
export function formatPlace(place: number, [lo, hi]: readonly [number, number], scale: Scale): string {
  if (scale === "linear") return formatNumber(place, hi - lo);
  const value = 10 ** place;
  return formatNumber(value, hi - lo < 1 ? Math.min(value, 10 ** hi - 10 ** lo) : value);
}
