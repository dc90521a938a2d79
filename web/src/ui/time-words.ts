import { dateWords } from "./dates";
import type { TimelineState } from "./timeline";

/** A time and the step that has it. */
export interface StepTime {
  readonly step: number;
  readonly time: number;
}

/** Digits of a time that takes more to be told in full, where no other is known. */
const DIGITS = 9;
const FEWEST_DIGITS = 4;
const MOST_DIGITS = 15;
/** Of times of neighbouring steps, what is told of how far they are apart. */
const OF_THEIR_DISTANCE = 100;

/** A step's time; `other` is known of another step, and told apart from it and all between them. */
export function timeWords({ step, time }: StepTime, other: StepTime | null): string {
  const size = Math.abs(time);
  const apart = other ? Math.abs((time - other.time) / (step - other.step)) : 0;
  const due = apart > 0 ? Math.ceil(Math.log10((size * OF_THEIR_DISTANCE) / apart)) : DIGITS;
  const told = shortest(time, Math.min(MOST_DIGITS, Math.max(FEWEST_DIGITS, due, wholeDigits(size))));
  const isPlain = size === 0 || (size >= 1e-3 && size < 10 ** MOST_DIGITS);
  const text = isPlain ? String(told) : told.toExponential();
  return text.replace("e+", "e").replaceAll("-", "\u2212");
}

function wholeDigits(size: number): number {
  return size < 1 ? 0 : Math.floor(Math.log10(size)) + 1;
}

/** The time with the fewest digits that give it back, or so many; one in single precision is given back as such. */
function shortest(time: number, most: number): number {
  const isSingle = !Number.isInteger(time) && Math.fround(time) === time;
  for (let digits = 1; digits < most; digits++) {
    const rounded = Number(time.toPrecision(digits));
    if ((isSingle ? Math.fround(rounded) : rounded) === time) return rounded;
  }
  return Number(time.toPrecision(most));
}

/** The step that is shown and its time; `other` as of [`timeWords`]. */
export function shownWords(state: TimelineState, other: StepTime | null): string {
  const { shownStep: step, shownTime: time, timeUnit, calendar, live, steps } = state;
  if (step === null) return "no step yet";
  const number = () => `t = ${timeWords({ step, time }, other)}${timeUnit && ` ${timeUnit}`}`;
  const told = Number.isFinite(time) ? ` \u00b7 ${dateWords(time, timeUnit, calendar) ?? number()}` : "";
  return `step ${step}${live ? "" : ` / ${steps.last}`}${told}`;
}

/** What the slider of steps says of itself, which may be ahead of what is shown. */
export function sliderWords(at: number, shownStep: number | null, shown: string): string {
  if (at === shownStep) return shown;
  return `step ${at}, ${shownStep === null ? "no step" : `step ${shownStep}`} is shown`;
}
