import type { SteerAction } from "../wire/index";
import { el, setAttributes, setText } from "./dom";
import { ParameterRow } from "./parameter-row";
import type { ShownAction, ShownParameter, SteeringShown } from "./steering-state";

type Button = HTMLButtonElement;

const STEP = "Step the paused simulation once";
const STOP = "Stop the simulation\u2026";
/** Why buttons are disabled. */
const GONE = "The simulation is gone: nothing can be asked of it until it is back";

/** The panel's section "Simulation": what it does, its parameters, and what was asked of it. */
export class SteeringSection {
  readonly element: HTMLElement;
  readonly #ask: (action: SteerAction) => void;
  readonly #state = el("p", { class: "run-state", role: "status", tabindex: -1 });
  readonly #pause: Button;
  readonly #step: Button;
  readonly #stop: Button;
  readonly #buttons: HTMLElement;
  readonly #confirm: HTMLDialogElement;
  readonly #parameters = el("div", { class: "parameters" });
  readonly #log = el("ol", {
    class: "actions",
    role: "log",
    "aria-live": "polite",
    "aria-relevant": "additions text",
    "aria-label": "What was asked of the simulation",
    tabindex: 0,
  });
  #rows: readonly ParameterRow[] = [];
  readonly #entries = new Map<string, HTMLElement>();
  #isPaused = false;
  #shown: SteeringShown | null = null;
  #isOpen = false;

  constructor(ask: (action: SteerAction) => void) {
    this.#ask = ask;
    this.#confirm = confirmation(() => ask({ action: "stop" }));
    this.#pause = button("Pause", "Pause the simulation", () => ask({ action: this.#isPaused ? "resume" : "pause" }));
    this.#step = button("Step", STEP, () => ask({ action: "step" }));
    this.#stop = button("Stop\u2026", STOP, () => this.#confirm.showModal());
    this.#buttons = el("div", { class: "buttons three" }, this.#pause, this.#step, this.#stop);
    this.element = el(
      "section",
      { class: "simulation", "aria-label": "Simulation", hidden: true },
      el("div", { class: "title" }, el("h2", {}, "Simulation"), this.#state),
      this.#buttons,
      this.#parameters,
      this.#log,
      this.#confirm,
    );
  }

  /** `isOpen`: the server is there to be asked. */
  show(steering: SteeringShown | null, isOpen: boolean): void {
    if (steering === this.#shown && isOpen === this.#isOpen) return;
    [this.#shown, this.#isOpen] = [steering, isOpen];
    this.element.hidden = steering === null;
    if (!steering) return this.#makeRows([]);
    const canAsk = isOpen && steering.maySteer && steering.state !== "stopped" && steering.state !== "gone";
    this.#buttons.hidden = !steering.maySteer;
    this.#showState(steering, canAsk);
    this.#showParameters(steering, canAsk);
    this.#showLog(steering.log);
  }

  #showState({ state, stateWords }: SteeringShown, canAsk: boolean): void {
    setText(this.#state, stateWords);
    setAttributes(this.#state, { "data-state": state });
    this.#isPaused = state === "paused";
    const [words, label] = this.#isPaused ? ["Resume", "Resume the simulation"] : ["Pause", "Pause the simulation"];
    setText(this.#pause, words);
    setAttributes(this.#pause, { "aria-label": label });
    const reason = state === "gone" ? GONE : "";
    setAttributes(this.#pause, { title: reason || label });
    setAttributes(this.#step, { title: reason || STEP });
    setAttributes(this.#stop, { title: reason || STOP });
    // A button that is disabled loses the focus to nowhere.
    const { activeElement } = document;
    this.#pause.disabled = !canAsk;
    this.#step.disabled = !canAsk || !this.#isPaused;
    this.#stop.disabled = !canAsk;
    if (activeElement instanceof HTMLButtonElement && activeElement.disabled && this.element.contains(activeElement)) {
      this.#state.focus();
    }
    if (!canAsk && this.#confirm.open) this.#confirm.close();
  }

  #showParameters({ parameters, maySteer }: SteeringShown, canAsk: boolean): void {
    const isSame =
      parameters.length === this.#rows.length && parameters.every((parameter, i) => this.#rows[i].isFor(parameter));
    if (!isSame) this.#makeRows(parameters);
    parameters.forEach((parameter, i) => {
      this.#rows[i].show(parameter, canAsk, maySteer);
    });
  }

  #makeRows(parameters: readonly ShownParameter[]): void {
    for (const row of this.#rows) row.retire();
    const set = (name: string, value: number) => this.#ask({ action: "set", name, value });
    this.#rows = parameters.map((parameter, i) => new ParameterRow(`parameter-${i}`, parameter, set));
    this.#parameters.replaceChildren(...this.#rows.map((row) => row.element));
  }

  /** Entries stay the same elements, so that only what is new is read out. */
  #showLog(log: readonly ShownAction[]): void {
    const keys = new Set(log.map(({ key }) => key));
    for (const [key, entry] of this.#entries) {
      if (keys.has(key)) continue;
      entry.remove();
      this.#entries.delete(key);
    }
    for (const action of [...log].reverse()) {
      const known = this.#entries.get(action.key);
      const entry = known ?? logEntry(action);
      showOutcome(entry, action);
      if (known) continue;
      this.#entries.set(action.key, entry);
      this.#log.prepend(entry);
    }
    this.#log.hidden = log.length === 0;
  }
}

function logEntry({ what, time }: ShownAction): HTMLElement {
  const clock = time.toLocaleTimeString("en-GB");
  return el(
    "li",
    {},
    el("span", { class: "what" }, what),
    el("time", { class: "quiet", datetime: time.toISOString() }, clock),
    el("span", { class: "outcome" }),
  );
}

function showOutcome(entry: HTMLElement, { outcome, isProblem }: ShownAction): void {
  const words = entry.querySelector(".outcome");
  if (words) setText(words, outcome);
  entry.classList.toggle("problem", isProblem);
}

function button(words: string, label: string, act: () => void): Button {
  const made = el("button", { type: "button", "aria-label": label, title: label }, words);
  made.addEventListener("click", act);
  return made;
}

function confirmation(stop: () => void): HTMLDialogElement {
  const dialog = el(
    "dialog",
    { class: "help confirm", "aria-labelledby": "stop-title", "aria-describedby": "stop-words" },
    el("h2", { id: "stop-title" }, "Stop the simulation?"),
    el(
      "p",
      { id: "stop-words" },
      "It ends in order before its next step, for everyone who watches it. It cannot be resumed.",
    ),
    el(
      "form",
      { method: "dialog", class: "buttons" },
      el("button", { type: "submit", value: "keep", autofocus: true }, "Keep it"),
      el("button", { type: "submit", value: "stop", class: "grave" }, "Stop it"),
    ),
  );
  dialog.addEventListener("close", () => {
    if (dialog.returnValue === "stop") stop();
    dialog.returnValue = "";
  });
  return dialog;
}
