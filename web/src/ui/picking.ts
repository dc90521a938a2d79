import { coordinateWords, type Mark, unitSign } from "../render/index";
import { AXIS_NAMES, type AxisScales, type Vec3, valueAt } from "../volume/index";
import type { GridInfo, PickedMessage, SourceInfo, Spot } from "../wire/index";
import { scaleOf } from "./scales";

/** What is said of a place that somebody has pointed at. */
export interface PickedShown {
  /** The value and where it is, or why there is none. */
  readonly words: string;
  /** The value, where it is to be written beside its place. */
  readonly mark: Mark | null;
}

/** Digits that single precision holds. */
const DIGITS = 7;
const ASKED = "Waiting for the value\u2026";
const NOBODY = "The server is not there to be asked for the value.";
const NOTHING = "Nothing shows there.";

/** The server may be at another step than is shown: then it is asked again after this time. */
const AGAIN_MS = 250;

/** The place whose value is shown, and the question that is open. */
export class Picking {
  /** Sends a question; whether there is somebody to be asked. */
  readonly #ask: (number: number, spot: Spot) => boolean;
  #number = 0;
  #isOpen = false;
  #last: PickedMessage | null = null;
  #said: string | null = null;
  /** Field and step that are shown. */
  #shown: readonly [field: number | null, step: number | null] = [null, null];
  #again: ReturnType<typeof setTimeout> | null = null;

  constructor(ask: (number: number, spot: Spot) => boolean) {
    this.#ask = ask;
  }

  /** There is a new session; of the `same` source, what was found holds. */
  begin(same: boolean): void {
    // Nobody answers what was asked in the one before.
    this.#isOpen = false;
    if (this.#said === ASKED) this.#said = null;
    if (!same) this.clear();
  }

  /** Asks where somebody points. */
  point(spot: Spot): void {
    this.#last = null;
    this.#said = this.#send(spot) ? ASKED : NOBODY;
  }

  /** The value that is told, and where. */
  get found(): PickedMessage | null {
    return this.#last;
  }

  /** What is shown; of another step or field the value of the place is another one. Whether what is said of the last is another thing now. */
  follow(field: number | null, step: number | null): boolean {
    if (field === this.#shown[0] && step === this.#shown[1]) return false;
    this.#shown = [field, step];
    this.#catchUp();
    return this.#last !== null;
  }

  /** Whether it is news. */
  receive(message: PickedMessage): boolean {
    if (message.number !== this.#number) return false;
    this.#isOpen = false;
    // Of a place that is known it may be told later.
    const isPassing = this.#last !== null && message.problem !== null;
    if (!isPassing) {
      this.#last = message.place ? message : null;
      this.#said = message.place ? null : (message.problem ?? NOTHING);
    }
    this.#rest();
    if (this.#isOfAnother) this.#again = setTimeout(() => this.#catchUp(), AGAIN_MS);
    return !isPassing;
  }

  /** Whether there was anything. */
  clear(): boolean {
    const had = this.#last !== null || this.#said !== null;
    this.#last = this.#said = null;
    this.#isOpen = false;
    this.#number += 1;
    this.#rest();
    return had;
  }

  /** Whether the value is of another field or step than is shown. */
  get #isOfAnother(): boolean {
    const [field, step] = this.#shown;
    return this.#last !== null && step !== null && (this.#last.field !== field || this.#last.step !== step);
  }

  #catchUp(): void {
    const place = this.#last?.place;
    if (!place || this.#isOpen || !this.#isOfAnother) return;
    this.#rest();
    this.#send({ place });
  }

  #rest(): void {
    if (this.#again !== null) clearTimeout(this.#again);
    this.#again = null;
  }

  /** `null` where nobody has asked. */
  shown({ grid, fields }: Pick<SourceInfo, "grid" | "fields">, scales: AxisScales): PickedShown | null {
    const { place, value, field, step } = this.#last ?? {};
    if (!place || field === undefined || value === undefined)
      return this.#said === null ? null : { words: this.#said, mark: null };
    const unit = fields[field]?.unit ?? "";
    const number = value === null ? "missing" : valueWords(valueAt(value, scaleOf(fields, field)));
    const told = value === null || unit === "" ? number : `${number} ${unit}`;
    // Until it is asked again, or where the server has no other.
    const words = this.#isOfAnother ? `${told}, of step ${step}` : told;
    return { words: `${words} at ${placeWords(grid, scales, place)}`, mark: { place, words } };
  }

  #send(spot: Spot): boolean {
    this.#number += 1;
    this.#isOpen = this.#ask(this.#number, spot);
    return this.#isOpen;
  }
}

/** With all the digits that single precision has, as programs read it. */
export function valueWords(value: number): string {
  const told = Number(value.toPrecision(DIGITS));
  const size = Math.abs(told);
  return size === 0 || (size >= 1e-3 && size < 1e9) ? String(told) : told.toExponential().replace("e+", "e");
}

function placeWords(grid: GridInfo, scales: AxisScales, place: Vec3): string {
  const along = ([0, 1, 2] as const).flatMap((axis) => {
    const [scale, samples] = [scales[axis], grid.size[axis]];
    const [first, last] = scale.ends;
    // Where one sample is thick, and not told to be anywhere.
    if (samples === 1 && first !== last) return [];
    const at = coordinateWords(scale, shareOf(grid, axis, place[axis]), samples);
    const unit = unitSign(scale.unit);
    return [`${AXIS_NAMES[axis]} ${at}${unit === "" ? "" : ` ${unit}`}`];
  });
  return along.join(", ");
}

/** Where along the box a sample coordinate lies. */
export function shareOf(grid: GridInfo, axis: 0 | 1 | 2, place: number): number {
  const size = grid.size[axis];
  if (grid.centering === "cell") return (place + 0.5) / size;
  return size > 1 ? place / (size - 1) : 0.5;
}
