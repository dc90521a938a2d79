import { AXIS_NAMES, edgesOf, MOST_STRETCH, UNSTRETCHED, type Vec3 } from "../volume/index";
import type { GridInfo } from "../wire/index";
import { el, setText } from "./dom";
import { exact } from "./link-transfer";
import { noNumberWords, numberOf } from "./numbers";

/** An axis is thin that is so many times shorter than the longest. */
const THIN = 3;
const PROBLEM = "stretch-problem";

/** How many times as long as it is each axis is shown. */
export class StretchRow {
  readonly element: HTMLElement;
  readonly #stretch: (times: Vec3) => void;
  readonly #boxes = AXIS_NAMES.map((axis) => times(axis));
  readonly #fit = el("button", { type: "button" }, "Fit");
  readonly #plain = el("button", { type: "button", title: "Show every axis as long as it is" }, "1 : 1");
  readonly #problem = el("p", { id: PROBLEM, class: "note", role: "alert", hidden: true });
  #shown: Vec3 | null = null;
  /** What makes no axis thin, where one is. */
  #fitting: Vec3 | null = null;

  constructor(stretch: (times: Vec3) => void) {
    this.#stretch = stretch;
    const labelled = this.#boxes.map((box, axis) => el("label", { for: box.id }, AXIS_NAMES[axis], box));
    const row = el("div", { class: "range stretch", role: "group", "aria-label": "Stretched" });
    row.append(el("span", { class: "quiet" }, "Stretched"), this.#fit, this.#plain, ...labelled);
    for (const box of this.#boxes) {
      box.addEventListener("change", () => this.#enter());
      box.addEventListener("keydown", ({ key }) => {
        if (key === "Enter") this.#enter();
        if (key === "Escape") this.#giveUp();
      });
    }
    this.#fit.addEventListener("click", () => this.#take(this.#fitting));
    this.#plain.addEventListener("click", () => this.#take(UNSTRETCHED));
    this.element = el("div", {}, row, this.#problem);
  }

  show(grid: GridInfo, shown: Vec3): void {
    const isStretched = shown.some((times) => times !== 1);
    this.#fitting = fittingStretch(grid);
    // Not disabled: the focus stays.
    this.#fit.setAttribute("aria-disabled", String(this.#fitting === null || isSame(this.#fitting, shown)));
    this.#fit.title = this.#fitting ? `Show ${stretchWords(this.#fitting)}` : "No axis is thin";
    this.#plain.setAttribute("aria-disabled", String(!isStretched));
    if (this.#shown && isSame(shown, this.#shown)) return;
    this.#shown = shown;
    this.#giveUp();
  }

  #take(times: Vec3 | null): void {
    if (!times || !this.#shown || isSame(times, this.#shown)) return this.#giveUp();
    this.#stretch(times);
  }

  /** Takes what was typed, or says why not. */
  #enter(): void {
    const typed = this.#boxes.map(({ value }) => numberOf(value));
    const wrong = typed.findIndex((times) => !(times >= 1 / MOST_STRETCH && times <= MOST_STRETCH));
    this.#boxes.forEach((box, axis) => {
      box.setAttribute("aria-invalid", String(axis === wrong));
    });
    this.#showProblem(wrong < 0 ? "" : problemWords(AXIS_NAMES[wrong], this.#boxes[wrong].value));
    if (wrong < 0) this.#take([typed[0], typed[1], typed[2]]);
  }

  /** Back to what holds. */
  #giveUp(): void {
    this.#boxes.forEach((box, axis) => {
      // By which keys tell whether something is typed in it.
      box.value = box.defaultValue = exact(this.#shown?.[axis] ?? 1);
      box.setAttribute("aria-invalid", "false");
    });
    this.#showProblem("");
  }

  #showProblem(words: string): void {
    setText(this.#problem, words);
    this.#problem.hidden = words === "";
  }
}

function isSame(one: Vec3, other: Vec3): boolean {
  return one.every((times, axis) => times === other[axis]);
}

/** How many times as long axes are to be shown so that none is thin, in round numbers; `null` where none is. */
export function fittingStretch(grid: GridInfo): Vec3 | null {
  const edges = edgesOf(grid);
  const longest = Math.max(...edges);
  const fitting = (axis: 0 | 1 | 2) => (grid.size[axis] > 1 ? rounded(Math.max(1, longest / (THIN * edges[axis]))) : 1);
  const times: Vec3 = [fitting(0), fitting(1), fitting(2)];
  return times.some((one) => one !== 1) ? times : null;
}

/** Up to 1, 2 or 5 times a power of ten. */
function rounded(times: number): number {
  const power = 10 ** Math.floor(Math.log10(times));
  const digit = [1, 2, 5].find((digit) => digit * power >= times) ?? 10;
  return Math.min(digit * power, MOST_STRETCH);
}

function stretchWords(stretch: Vec3): string {
  const words = stretch.flatMap((times, axis) => (times === 1 ? [] : [`${AXIS_NAMES[axis]} ${exact(times)} times`]));
  return `${words.join(" and ")} as long as it is`;
}

function problemWords(axis: string, typed: string): string {
  return (
    noNumberWords(typed) ??
    `${axis} cannot be shown ${typed.trim()} times as long: write a number from ${exact(1 / MOST_STRETCH)} to ${MOST_STRETCH}.`
  );
}

function times(axis: string): HTMLInputElement {
  return el("input", {
    id: `stretch-${axis}`,
    type: "text",
    inputmode: "decimal",
    "aria-describedby": PROBLEM,
    "aria-invalid": "false",
    autocomplete: "off",
    spellcheck: "false",
  });
}
