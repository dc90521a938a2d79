import { type Scale, type Vec3, valueAt } from "../volume/index";
import { type AtStep, isolated, type PickedMessage, type SeriesMessage, type SourceInfo } from "../wire/index";
import { valueWords } from "./picking";
import { scaleOf } from "./scales";

/** Values of a place over time, as they are shown. */
export interface OverTimeShown {
  /** What is known, or why nothing is. */
  readonly words: string;
  readonly curve: Curve | null;
  /** No more values come of a file; of a simulation there always are more. */
  readonly isWhole: boolean;
}

/** At least one value is known. */
export interface Curve {
  readonly steps: readonly number[];
  /** Times of these steps, or they themselves where not all have one of their own. */
  readonly times: readonly number[];
  /** `null` where one is missing. */
  readonly values: readonly (number | null)[];
  readonly scale: Scale;
  /** What is along the axes. */
  readonly timeName: string;
  readonly valueName: string;
  readonly unit: string;
  readonly place: Vec3;
}

type Source = Pick<SourceInfo, "live" | "fields" | "timeUnit">;

/** Of a simulation so many steps are kept, the latest. */
const MOST_KEPT = 4096;
const POINT = "Click in the picture, or press V: the value there is plotted over time.";
const NOBODY = "The server is not there to be asked for the other steps.";

/** The values of the place that is pointed at, at all steps that are known. */
export class OverTime {
  /** Sends a question, or that nothing is asked any more; whether there is somebody to be asked. */
  readonly #ask: (number: number, field: number, place: Vec3 | null) => boolean;
  #number = 0;
  #isWatched = false;
  #of: { readonly field: number; readonly place: Vec3 } | null = null;
  #values = new Map<number, AtStep>();
  /** What is being read, where that is asked for. */
  #read: { readonly count: number; readonly of: number; readonly isOver: boolean } | null = null;
  #said: string | null = null;
  #curve: { readonly of: Source; readonly curve: Curve | null } | null = null;

  constructor(ask: (number: number, field: number, place: Vec3 | null) => boolean) {
    this.#ask = ask;
  }

  /** Whether somebody looks. */
  get isWatched(): boolean {
    return this.#isWatched;
  }

  watch(on: boolean): void {
    if (on === this.#isWatched) return;
    this.#isWatched = on;
    if (this.#read?.isOver) return;
    if (on) this.#begin();
    else this.#end();
  }

  /** There is a new session; of the `same` source, what is known holds. */
  begin(same: boolean): void {
    if (!same) this.#forget(null);
    // Nobody answers what was asked in the one before.
    if (this.#isWatched && !this.#read?.isOver) this.#begin();
  }

  /** The value that is told of where somebody points; `null`: none is. */
  follow(found: PickedMessage | null): void {
    if (!found?.place) {
      if (this.#of !== null && this.#isWatched && !this.#read?.isOver) this.#end();
      return this.#forget(null);
    }
    const { field, place, step, time, value } = found;
    const isOther = this.#of?.field !== field || this.#of.place.some((n, axis) => n !== place[axis]);
    if (isOther) this.#forget({ field, place });
    const known = this.#values.get(step);
    if (!known || known.value !== value) this.#add([{ step, time, value }]);
    if (isOther && this.#isWatched) this.#begin();
  }

  /** A simulation counts from the beginning again. */
  restart(): void {
    this.#forget(this.#of);
  }

  /** Whether it is news. */
  receive({ number, field, values, of, isOver, problem }: SeriesMessage): boolean {
    if (number !== this.#number || field !== this.#of?.field || !this.#isWatched) return false;
    this.#add(values);
    this.#read = { count: (this.#read?.count ?? 0) + values.length, of, isOver };
    this.#said ??= problem;
    return true;
  }

  /** `null` where nobody looks. */
  shown(source: Source): OverTimeShown | null {
    if (!this.#isWatched) return null;
    if (this.#curve?.of !== source) this.#curve = { of: source, curve: this.#curveOf(source) };
    const { curve } = this.#curve;
    const isWhole = source.live || this.#read?.isOver === true;
    if (this.#of === null) return { words: POINT, curve, isWhole };
    const [summary, said] = [curve && summaryOf(curve), this.#said];
    return { words: [this.#progress(source), summary, said].filter(Boolean).join(" "), curve, isWhole };
  }

  #progress({ live }: Source): string {
    if (this.#said === NOBODY) return "";
    if (live) return "Steps as they are seen.";
    const { count, of, isOver } = this.#read ?? { count: 0, of: 0, isOver: false };
    if (isOver) return "";
    return of > 0 ? `Reading: ${count} of ${of} steps.` : "Reading\u2026";
  }

  #curveOf({ fields, timeUnit }: Source): Curve | null {
    if (this.#of === null || this.#values.size === 0) return null;
    const { field, place } = this.#of;
    const known = [...this.#values.values()].sort((a, b) => a.step - b.step);
    const steps = known.map(({ step }) => step);
    const times = known.map(({ time }) => time ?? Number.NaN);
    const isTimed = times.every((time, i) => Number.isFinite(time) && (i === 0 || time > times[i - 1]));
    const scale = scaleOf(fields, field);
    const { name, unit } = fields[field] ?? { name: "", unit: "" };
    return {
      steps,
      times: isTimed ? times : steps,
      values: known.map(({ value }) => (value === null ? null : valueAt(value, scale))),
      scale,
      timeName: isTimed ? ["time", timeUnit && `(${timeUnit})`].filter(Boolean).join(" ") : "step",
      // That of the field itself.
      valueName: fields[fields[field]?.logarithmOf ?? field]?.name ?? name,
      unit,
      place,
    };
  }

  #add(values: readonly AtStep[]): void {
    for (const at of values) this.#values.set(at.step, at);
    for (const oldest of this.#values.keys()) {
      if (this.#values.size <= MOST_KEPT) break;
      this.#values.delete(oldest);
    }
    this.#curve = null;
  }

  #forget(of: { readonly field: number; readonly place: Vec3 } | null): void {
    this.#of = of;
    this.#values = new Map();
    this.#read = null;
    this.#said = null;
    this.#curve = null;
  }

  #begin(): void {
    if (this.#of === null) return;
    this.#number += 1;
    this.#read = null;
    this.#said = this.#ask(this.#number, this.#of.field, this.#of.place) ? null : NOBODY;
  }

  #end(): void {
    this.#number += 1;
    this.#read = null;
    if (this.#of !== null) this.#ask(this.#number, this.#of.field, null);
  }
}

/** From where to where the values go, for who does not see it. */
function summaryOf({ steps, values, unit }: Curve): string {
  const known = values.flatMap((value, i) => (value === null ? [] : [{ value, step: steps[i] }]));
  if (known.length === 0) return "All values are missing.";
  const least = known.reduce((a, b) => (b.value < a.value ? b : a));
  const most = known.reduce((a, b) => (b.value > a.value ? b : a));
  const words = ({ value, step }: typeof least) => `${valueWords(value)}${unit && ` ${unit}`} at step ${step}`;
  const count = steps.length === 1 ? "1 step" : `${steps.length} steps`;
  return least.value === most.value
    ? `${count}: ${valueWords(least.value)}${unit && ` ${unit}`}.`
    : `${count}: from ${words(least)} to ${words(most)}.`;
}

/** As a table of numbers: comma-separated values with a line of names. */
export function csvOf({ steps, times, timeName, values, valueName, unit, place }: Curve): string {
  const quoted = (words: string) => (/[",\n\r]/.test(words) ? `"${words.replaceAll('"', '""')}"` : words);
  const isTimed = timeName !== "step";
  const name = `${valueName}${unit && ` (${unit})`} at sample ${place.map((n) => Number(n.toFixed(4))).join(" ")}`;
  const head = ["step", ...(isTimed ? [timeName] : []), name].map(quoted).join(",");
  const rows = steps.map((step, i) => [step, ...(isTimed ? [times[i]] : []), values[i] ?? ""].join(","));
  return `${[head, ...rows].join("\n")}\n`;
}

/** What a table of them is called. */
export function csvName({ valueName }: Curve): string {
  return `${isolated(valueName).replace(/[^\p{L}\p{N}.-]+/gu, "_")}-over-time.csv`;
}
