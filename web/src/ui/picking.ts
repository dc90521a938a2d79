import { formatNumber, type Mark } from "../render/index";
import { AXIS_NAMES, type AxisScales, type Scale, type Vec3 } from "../volume/index";
import type { GridInfo, PickedMessage, SourceInfo, Spot } from "../wire/index";
import { fullWords } from "./numbers";
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

/** The place whose value is shown, and the question that is open. */
export class Picking {
  /** Sends a question; whether there is somebody to be asked. */
  readonly #ask: (number: number, spot: Spot) => boolean;
  #number = 0;
  #isOpen = false;
  #last: PickedMessage | null = null;
  #said: string | null = null;
  /** Of what the value was asked last. */
  #of: readonly [field: number | null, step: number | null] = [null, null];

  constructor(ask: (number: number, spot: Spot) => boolean) {
    this.#ask = ask;
  }

  /** There is a new session; of the `same` source, what was found holds. */
  begin(same: boolean): void {
    this.#isOpen = false;
    if (!same) this.clear();
  }

  /** Asks where somebody points. */
  point(spot: Spot): void {
    this.#last = null;
    this.#said = this.#send(spot) ? ASKED : NOBODY;
  }

  /** Another step or field is shown: the value of the place is another one. */
  follow(field: number | null, step: number | null): void {
    const place = this.#last?.place;
    const isSame = field === this.#of[0] && step === this.#of[1];
    if (isSame || this.#isOpen) return;
    this.#of = [field, step];
    if (place) this.#send({ place });
  }

  /** Whether it is news. */
  receive(message: PickedMessage): boolean {
    if (message.number !== this.#number) return false;
    this.#isOpen = false;
    this.#last = message.place ? message : null;
    this.#said = message.place ? null : (message.problem ?? NOTHING);
    return true;
  }

  /** Whether there was anything. */
  clear(): boolean {
    const had = this.#last !== null || this.#said !== null;
    this.#last = this.#said = null;
    this.#isOpen = false;
    this.#number += 1;
    return had;
  }

  /** `null` where nobody has asked. */
  shown({ grid, fields }: Pick<SourceInfo, "grid" | "fields">, scales: AxisScales): PickedShown | null {
    const { place, value, field } = this.#last ?? {};
    if (!place || field === undefined || value === undefined)
      return this.#said === null ? null : { words: this.#said, mark: null };
    const unit = fields[field]?.unit ?? "";
    const number = value === null ? "missing" : valueWords(value, scaleOf(fields, field));
    const told = value === null || unit === "" ? number : `${number} ${unit}`;
    return { words: `${told} at ${placeWords(grid, scales, place)}`, mark: { place, words: told } };
  }

  #send(spot: Spot): boolean {
    this.#number += 1;
    this.#isOpen = this.#ask(this.#number, spot);
    return this.#isOpen;
  }
}

function valueWords(value: number, scale: Scale): string {
  const words = fullWords(Number(value.toPrecision(DIGITS)), scale);
  return scale === "logarithmic" ? String(Number(Number(words).toPrecision(DIGITS))) : words;
}

function placeWords(grid: GridInfo, scales: AxisScales, place: Vec3): string {
  const along = ([0, 1, 2] as const).flatMap((axis) => {
    const scale = scales[axis];
    const [first, last] = scale.ends;
    // Where one sample is thick, and not told to be anywhere.
    if (grid.size[axis] === 1 && first !== last) return [];
    const at = formatNumber(scale.valueAt(shareOf(grid, axis, place[axis])), Math.abs(last - first));
    return [`${AXIS_NAMES[axis]} ${at}${scale.unit === "" ? "" : ` ${scale.unit}`}`];
  });
  return along.join(", ");
}

/** Where along the box a sample coordinate lies. */
export function shareOf(grid: GridInfo, axis: 0 | 1 | 2, place: number): number {
  const size = grid.size[axis];
  if (grid.centering === "cell") return (place + 0.5) / size;
  return size > 1 ? place / (size - 1) : 0.5;
}
