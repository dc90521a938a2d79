import { coordinateWords, unitSign } from "../render/index";
import { AXIS_NAMES, type AxisScale, axisScales, intervalsOf, UNCROPPED } from "../volume/index";
import type { Crop, GridInfo, Part, SourceInfo } from "../wire/index";
import { el, setAttributes, setText } from "./dom";

/** As sources name those that they have. */
const HAS_OPTIONS = /\?(level|spacing|box)=/;
const TOGETHER = "With Shift both ends move";
/** Of a step, that shares are rounded by. */
const ROUNDING = 1e-4;

/** From where to where along each axis the box is shown. */
export class CropRow {
  readonly element: HTMLElement;
  readonly #crop: (crop: Crop) => void;
  readonly #axes: readonly AxisPart[];
  readonly #whole = el("button", { type: "button", title: "Show all of the box" }, "Whole");
  readonly #alone = el("code", {}, "");
  readonly #hint = el("p", { class: "quiet", hidden: true }, "These samples alone: ", this.#alone);
  #source: SourceInfo | null = null;
  #shown: Crop = UNCROPPED;

  constructor(crop: (crop: Crop) => void) {
    this.#crop = crop;
    this.#axes = ([0, 1, 2] as const).map((axis) => new AxisPart(axis, (part) => this.#take(axis, part)));
    this.#whole.addEventListener("click", () => {
      if (this.#whole.getAttribute("aria-disabled") !== "true") crop(UNCROPPED);
    });
    const row = el("div", { class: "range" }, el("span", { class: "quiet" }, "Shown part"), this.#whole);
    this.element = el("div", { class: "crop", role: "group", "aria-label": "Shown part" }, row);
    this.element.append(...this.#axes.map(({ element }) => element), this.#hint);
    this.#hint.title = "Behind the name of the source it is looked at without the rest";
  }

  show(source: SourceInfo, shown: Crop): void {
    const isSame = source === this.#source && shown === this.#shown;
    if (isSame) return;
    const scales = axisScales(source);
    this.#source = source;
    this.#shown = shown;
    this.#axes.forEach((part, axis) => {
      part.show(source.grid, scales[axis as 0 | 1 | 2], shown[axis]);
    });
    // Not disabled: the focus stays.
    const isWhole = shown.every(([from, to]) => from === 0 && to === 1);
    this.#whole.setAttribute("aria-disabled", String(isWhole));
    this.#hint.hidden = isWhole || source.live;
    setText(this.#alone, `${HAS_OPTIONS.test(source.name) ? "&" : "?"}box=${boxWords(source.grid, shown)}`);
  }

  #take(axis: 0 | 1 | 2, part: Part): void {
    const of = (other: 0 | 1 | 2) => (other === axis ? part : this.#shown[other]);
    this.#crop([of(0), of(1), of(2)]);
  }
}

/** The samples that are shown, and those whose values reach into that, along z, y and x, as options of sources count them. */
export function boxWords(grid: GridInfo, crop: Crop): string {
  const words = ([2, 1, 0] as const).map((axis) => {
    const [from, to] = crop[axis].map((share) => share * intervalsOf(grid, axis));
    const size = grid.size[axis];
    const [first, end] = [Math.floor(from + ROUNDING), Math.ceil(to - ROUNDING) + (grid.centering === "cell" ? 0 : 1)];
    return first === 0 && end >= size ? ":" : `${first}:${Math.min(size, end)}`;
  });
  return words.join(",");
}

/** What is shown along one axis: two ends on one line, and the coordinates there. */
class AxisPart {
  readonly element: HTMLElement;
  readonly #axis: 0 | 1 | 2;
  readonly #take: (part: Part) => void;
  readonly #ends: readonly [HTMLInputElement, HTMLInputElement];
  readonly #line: HTMLElement;
  readonly #words = el("span", { class: "quiet ends" });
  /** With Shift the other end goes along. */
  #together = false;
  #count = 1;
  /** In steps. */
  #part: Part = [0, 1];

  constructor(axis: 0 | 1 | 2, take: (part: Part) => void) {
    this.#axis = axis;
    this.#take = take;
    const name = AXIS_NAMES[axis];
    const end = (words: string) =>
      el("input", { type: "range", min: 0, max: 1, step: 1, "aria-label": `${name}, shown ${words}`, title: TOGETHER });
    this.#ends = [end("from"), end("to")];
    this.#line = el("span", { class: "dual" }, ...this.#ends);
    this.element = el("div", { class: "part" }, el("span", { class: "quiet" }, name), this.#words, this.#line);
    this.#ends.forEach((input, i) => {
      for (const kind of ["pointerdown", "pointermove", "keydown"] as const)
        input.addEventListener(kind, ({ shiftKey }) => {
          this.#together = shiftKey;
        });
      input.addEventListener("input", () => this.#move(i as 0 | 1, Number(input.value)));
    });
  }

  show(grid: GridInfo, scale: AxisScale, part: Part): void {
    this.#count = intervalsOf(grid, this.#axis);
    this.element.hidden = grid.size[this.#axis] === 1;
    this.#part = [part[0] * this.#count, part[1] * this.#count];
    const words = part.map((share) => coordinateWords(scale, share, grid.size[this.#axis]));
    const unit = unitSign(scale.unit);
    this.#ends.forEach((input, i) => {
      const spoken = [words[i], unit].filter((word) => word !== "").join(" ");
      setAttributes(input, { max: this.#count, "aria-valuetext": spoken });
      const value = String(this.#part[i]);
      if (input.value !== value) input.value = value;
    });
    this.#line.style.setProperty("--from", String(part[0]));
    this.#line.style.setProperty("--to", String(part[1]));
    // Two handles at one place: the one that can still move is above.
    this.#ends[0].style.zIndex = part[0] > 0.5 ? "1" : "0";
    setText(this.#words, `${words[0]} to ${words[1]}${unit === "" ? "" : ` ${unit}`}`);
  }

  #move(end: 0 | 1, to: number): void {
    const [first, last] = movedPart(this.#part, end, to, this.#count, this.#together);
    this.#take([first / this.#count, last / this.#count]);
  }
}

/** A part of `count` steps one end of which goes `to` another place: no farther than a step before the other, or, `together`, with it. */
export function movedPart([from, to]: Part, end: 0 | 1, place: number, count: number, together: boolean): Part {
  if (together) {
    const wide = to - from;
    const first = Math.min(count - wide, Math.max(0, end === 0 ? place : place - wide));
    return [first, first + wide];
  }
  return end === 0 ? [Math.max(0, Math.min(place, to - 1)), to] : [from, Math.min(count, Math.max(place, from + 1))];
}
