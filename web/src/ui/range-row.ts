import { formatPlace } from "../render/index";
import type { Scale } from "../volume/index";
import { MOST_VALUES, whereMostLie } from "./concentration";
import { el, setText } from "./dom";
import { boundWords, enteredRange, fullWords, type Range } from "./numbers";
import { shareWords, valuesOn, whatLiesOutside } from "./outside";
import type { Histogram } from "./transfer-editor";

const PROBLEM = "range-problem";

/** Another range that would show more of the values. */
interface Offer {
  readonly words: string;
  readonly button: string;
  readonly range: Range;
}

/** The range of values as two numbers, why what was typed is none, and which other one would show more. */
export class RangeRow {
  readonly element: HTMLElement;
  readonly #setRange: (lo: number, hi: number) => void;
  readonly #boxes = [bound("range-lo", "Lowest value of the range"), bound("range-hi", "Highest value of the range")];
  readonly #unit = el("span", { class: "unit" });
  readonly #problem = el("p", { id: PROBLEM, class: "note", role: "alert", hidden: true });
  readonly #why = el("span");
  readonly #take = el("button", { type: "button", title: "Set the range to these values" }, "Show all");
  readonly #offerRow = el("p", { class: "quiet offer", hidden: true }, this.#why, this.#take);
  readonly #pair: HTMLElement;
  /** What a box shows may be rounded: this is not. */
  #range: Range = [0, 1];
  #scale: Scale = "linear";
  #offer: Offer | null = null;
  /** Boxes with something typed that is not taken yet. */
  readonly #isEdited = [false, false];

  constructor(setRange: (lo: number, hi: number) => void) {
    this.#setRange = setRange;
    const [lo, hi] = this.#boxes;
    const to = el("span", { class: "quiet" }, "to");
    this.#pair = el("div", { class: "range", role: "group", "aria-label": "Range", tabindex: -1 });
    this.#pair.append(lo, to, hi, this.#unit);
    this.#take.addEventListener("click", () => this.#takeOffer());
    this.element = el("div", {}, this.#pair, this.#problem, this.#offerRow);
    this.#boxes.forEach((box, i) => {
      this.#listen(box, i);
    });
    this.#pair.addEventListener("focusout", ({ relatedTarget }) => {
      if (!(relatedTarget instanceof Node && this.#pair.contains(relatedTarget))) this.#giveUp();
    });
  }

  show(range: Range, histogram: Histogram | null, unit: string, scale: Scale): void {
    const isOther = range[0] !== this.#range[0] || range[1] !== this.#range[1] || scale !== this.#scale;
    // What was typed was meant for the other scale.
    if (scale !== this.#scale) this.#isEdited.fill(false);
    this.#range = range;
    this.#scale = scale;
    if (isOther) this.#showProblem(null);
    this.#showBounds();
    setText(this.#unit, unit);
    this.#showOffer(histogram && (offerOfAll(histogram, range, scale) ?? offerOfMost(histogram, range, scale)));
  }

  /** There is no range; what is typed is forgotten. */
  clear(): void {
    this.#isEdited.fill(false);
    this.#showProblem(null);
    this.#showOffer(null);
    setText(this.#unit, "");
    for (const box of this.#boxes) box.value = box.defaultValue = box.title = "";
  }

  #showOffer(offer: Offer | null): void {
    this.#offer = offer;
    this.#offerRow.hidden = offer === null;
    if (offer === null) return;
    setText(this.#why, offer.words);
    setText(this.#take, offer.button);
  }

  #showBounds(): void {
    this.#boxes.forEach((box, i) => {
      if (this.#isEdited[i]) return;
      const words = boundWords(this.#range[i], this.#range, this.#scale);
      if (box.value !== words) box.value = words;
      // By which keys tell whether something is typed in it.
      box.defaultValue = words;
      box.title = fullWords(this.#range[i], this.#scale);
    });
  }

  #listen(box: HTMLInputElement, i: number): void {
    box.addEventListener("input", () => {
      this.#isEdited[i] = true;
      this.#showProblem(null);
    });
    box.addEventListener("change", () => this.#enter());
    box.addEventListener("keydown", ({ key }) => {
      if (key === "Enter") this.#enter();
      if (key !== "Escape") return;
      this.#giveUp();
      this.#showProblem(null);
    });
  }

  /** Takes what was typed, or says why not: both boxes may be meant, so that what is typed stays until both are left. */
  #enter(): void {
    if (!this.#isEdited.includes(true)) return;
    const typed = this.#boxes.map((box, i) => (this.#isEdited[i] ? box.value : null));
    const entered = enteredRange([typed[0], typed[1]], this.#range, this.#scale);
    if (typeof entered === "string") return this.#showProblem(entered);
    this.#giveUp();
    this.#setRange(...entered);
  }

  /** Back to the range that holds; why what was typed did not become it stays to be read. */
  #giveUp(): void {
    this.#isEdited.fill(false);
    this.#showBounds();
    for (const box of this.#boxes) box.setAttribute("aria-invalid", "false");
  }

  #showProblem(problem: string | null): void {
    this.#boxes.forEach((box, i) => {
      box.setAttribute("aria-invalid", String(problem !== null && this.#isEdited[i]));
    });
    setText(this.#problem, problem ?? "");
    this.#problem.hidden = problem === null;
  }

  #takeOffer(): void {
    if (!this.#offer) return;
    this.#giveUp();
    this.#setRange(...this.#offer.range);
    // The button is not needed any more, and its focus would go nowhere.
    if (this.#offerRow.hidden) this.#pair.focus();
  }
}

function offerOfAll(histogram: Histogram, shown: Range, scale: Scale): Offer | null {
  const outside = whatLiesOutside(histogram, shown);
  if (!outside) return null;
  const words = `${shareWords(outside, scale)} lie outside; this step's go ${between(outside.extent, scale, "from", "to")}`;
  return { words, button: "Show all", range: outside.extent };
}

function offerOfMost(histogram: Histogram, shown: Range, scale: Scale): Offer | null {
  const most = whereMostLie(histogram, shown);
  const share = `${MOST_VALUES * 100} % of ${valuesOn(scale)}`;
  const words = (range: Range) => `${share} lie ${between(range, scale, "between", "and")}`;
  return most && { words: words(most), button: "Show these", range: most };
}

function between(range: Range, scale: Scale, first: string, second: string): string {
  const [from, to] = range.map((place) => formatPlace(place, range, scale));
  return `${first} ${from} ${second} ${to}`;
}

function bound(id: string, label: string): HTMLInputElement {
  return el("input", {
    id,
    type: "text",
    inputmode: "decimal",
    "aria-label": label,
    "aria-describedby": PROBLEM,
    "aria-invalid": "false",
    autocomplete: "off",
    spellcheck: "false",
  });
}
