import { isolated, type Parameter, printable } from "../wire/index";
import { el, setAttributes, setText } from "./dom";
import { numberOf } from "./numbers";
import { rangeWords, refusal, type ShownParameter, sliderValue } from "./steering-state";

/** A parameter of the simulation: a slider and a number, sent when the one is let go and the other is entered. */
export class ParameterRow {
  readonly element: HTMLElement;
  readonly #ask: (name: string, value: number) => void;
  readonly #slider: HTMLInputElement;
  readonly #number: HTMLInputElement;
  /** The value, where it is not to be changed. */
  readonly #told: HTMLElement;
  readonly #range = el("span", { class: "quiet" });
  readonly #problem: HTMLElement;
  #parameter: ShownParameter;
  /** The user is about to give a value that is not to be overwritten. */
  #isEdited = false;
  /** The simulation is there to be asked. */
  #canAsk = false;
  /** A key is held down on the slider. */
  #isHeld = false;

  constructor(id: string, parameter: ShownParameter, ask: (name: string, value: number) => void) {
    this.#parameter = parameter;
    this.#ask = ask;
    const { unit, kind, least, most } = parameter;
    const name = isolated(printable(parameter.name));
    const described = { "aria-describedby": `${id}-range ${id}-problem`, autocomplete: "off" };
    const step = kind === "integer" ? 1 : "any";
    this.#slider = el("input", { id, type: "range", min: least, max: most, step, ...described });
    this.#number = el("input", {
      type: "text",
      inputmode: kind === "integer" && least >= 0 ? "numeric" : "decimal",
      spellcheck: "false",
      "aria-label": `${name}${unit && ` in ${unit}`}, as a number`,
      ...described,
    });
    this.#told = el("output", { for: id, hidden: true });
    this.#range.id = `${id}-range`;
    this.#problem = el("p", { id: `${id}-problem`, class: "note", role: "alert", hidden: true });
    this.#listen();
    this.element = el(
      "div",
      { class: "parameter" },
      el("div", { class: "name" }, el("label", { for: id }, name), this.#range),
      el("div", { class: "value" }, this.#slider, this.#number, this.#told),
      this.#problem,
    );
  }

  /** Whether it is declared as this row's parameter is. */
  isFor({ name, unit, kind, least, most }: Parameter): boolean {
    const own = this.#parameter;
    return name === own.name && unit === own.unit && kind === own.kind && least === own.least && most === own.most;
  }

  show(parameter: ShownParameter, canAsk: boolean, maySteer: boolean): void {
    this.#parameter = parameter;
    const { pending, least, most } = parameter;
    this.element.classList.toggle("pending", pending !== null);
    setText(this.#range, pending === null ? rangeWords(parameter) : `asked for ${pending}\u2026`);
    this.#told.hidden = maySteer;
    this.#slider.hidden = this.#number.hidden = !maySteer;
    this.#slider.disabled = least === most;
    this.#allow(canAsk);
    if (!this.#isEdited) this.#showValue();
  }

  /** Its parameter is not there any more: what was about to be given is nobody's. */
  retire(): void {
    this.#allow(false);
  }

  /** Not disabled where it may not ask: browsers take the focus from what is, and what was half typed for entered. */
  #allow(canAsk: boolean): void {
    this.#canAsk = canAsk;
    this.#number.readOnly = !canAsk;
    for (const input of [this.#slider, this.#number]) input.setAttribute("aria-disabled", String(!canAsk));
  }

  #showValue(): void {
    const { value, pending } = this.#parameter;
    const shown = String(pending ?? value);
    setText(this.#told, `${value}${this.#parameter.unit && ` ${this.#parameter.unit}`}`);
    if (this.#number.value !== shown) this.#number.value = shown;
    this.#slider.value = shown;
    this.#showSpoken(pending ?? value);
    this.#showProblem(null);
  }

  #showSpoken(value: number): void {
    const { unit } = this.#parameter;
    setAttributes(this.#slider, { "aria-valuetext": `${value}${unit && ` ${unit}`}` });
  }

  #showProblem(problem: string | null): void {
    this.#number.setAttribute("aria-invalid", String(problem !== null));
    setText(this.#problem, problem ?? "");
    this.#problem.hidden = problem === null;
  }

  #listen(): void {
    const [slider, number] = [this.#slider, this.#number];
    slider.addEventListener("input", () => {
      if (!this.#canAsk) return this.#giveUp();
      this.#isEdited = true;
      const value = sliderValue(Number(slider.value), this.#parameter);
      number.value = String(value);
      this.#showSpoken(value);
      this.#showProblem(null);
    });
    // A key that is held changes the slider many times: what counts is where it ends.
    slider.addEventListener("keydown", () => {
      this.#isHeld = true;
    });
    const letGo = () => {
      this.#isHeld = false;
      if (!this.#canAsk) this.#giveUp();
      else if (this.#isEdited) this.#enter(number.value);
    };
    slider.addEventListener("keyup", letGo);
    slider.addEventListener("blur", letGo);
    slider.addEventListener("change", () => {
      if (!this.#isHeld) letGo();
    });
    // A finger that came down on it to scroll: it has moved, and nobody meant it.
    slider.addEventListener("pointercancel", () => this.#giveUp());
    number.addEventListener("input", () => {
      this.#isEdited = true;
    });
    number.addEventListener("change", () => this.#enter(number.value));
    number.addEventListener("keydown", ({ key }) => {
      if (key === "Enter") this.#enter(number.value);
      else if (key === "Escape") this.#giveUp();
    });
    number.addEventListener("blur", () => {
      if (!this.#isEdited || !this.#canAsk) this.#giveUp();
    });
  }

  /** Asks for what was entered, or says why it cannot be; while nobody is there to be asked, it stays as it is typed. */
  #enter(typed: string): void {
    if (!this.#isEdited || !this.#canAsk) return;
    const problem = refusal(this.#parameter, typed);
    this.#showProblem(problem);
    if (problem !== null) return;
    this.#isEdited = false;
    const value = numberOf(typed);
    if (value === (this.#parameter.pending ?? this.#parameter.value)) return this.#showValue();
    this.#ask(this.#parameter.name, value);
  }

  #giveUp(): void {
    this.#isEdited = false;
    this.#showValue();
  }
}
