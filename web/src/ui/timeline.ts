import type { StepSpan } from "../wire/index";
import { el, iconButton, setAttributes, setIcon, setText } from "./dom";
import { icons } from "./icons";
import { stridesOver } from "./playback";
import { type StepTime, shownWords, sliderWords } from "./time-words";

const SPEED = "Speed of playing: how many steps it goes on by";
const FOLLOW = "Follow the newest step (L)";

export interface TimelineActions {
  togglePlay(): void;
  /** Moves by whole steps, relative to what is wanted now. */
  stepBy(delta: number): void;
  goTo(step: number): void;
  chooseStride(stride: number): void;
  follow(): void;
  togglePlot(): void;
}

export interface TimelineState {
  readonly steps: StepSpan;
  /** `null` follows the newest. */
  readonly step: number | null;
  readonly playing: boolean;
  readonly stride: number;
  /** The value that is pointed at is shown over time. */
  readonly plot: boolean;
  readonly live: boolean;
  /** Nothing comes: the simulation is gone. */
  readonly gone: boolean;
  readonly shownStep: number | null;
  readonly shownTime: number;
  readonly timeUnit: string;
  /** In which that counts from a date. */
  readonly calendar: string;
}

/** The bar with the step shown: play, step, scrub, follow. */
export class Timeline {
  readonly element: HTMLElement;
  readonly #play: HTMLButtonElement;
  readonly #back: HTMLButtonElement;
  readonly #forward: HTMLButtonElement;
  readonly #slider: HTMLInputElement;
  readonly #live: HTMLButtonElement;
  readonly #plot = iconButton("Value over time", icons.plot, "G");
  readonly #speed = el("select", { class: "speed", "aria-label": "Speed", title: SPEED });
  readonly #row = el("div", { class: "times" });
  #strides: readonly number[] = [];
  /** For who does not see the button change: it may have been a key. */
  readonly #spoken = el("span", { class: "spoken", role: "status" });
  #wasRunning: boolean | null = null;
  #isDragged = false;
  #words = "";
  /** The time that is shown, and that of the step before. */
  #times: readonly [now: StepTime | null, before: StepTime | null] = [null, null];
  readonly #text = el("output", { class: "time", "aria-label": "Time shown" });

  constructor(actions: TimelineActions) {
    this.#play = iconButton("Play", icons.play, "Space");
    this.#back = iconButton("Step back", icons.back, "[");
    this.#forward = iconButton("Step forward", icons.forward, "]");
    this.#slider = el("input", { type: "range", min: 0, max: 0, step: 1, value: 0, "aria-label": "Step" });
    this.#live = el("button", { type: "button", class: "live", title: FOLLOW, "aria-pressed": "false" }, "Live");
    this.#play.addEventListener("click", () => actions.togglePlay());
    this.#back.addEventListener("click", () => actions.stepBy(-1));
    this.#forward.addEventListener("click", () => actions.stepBy(1));
    this.#slider.addEventListener("input", () => actions.goTo(Number(this.#slider.value)));
    this.#slider.addEventListener("pointerdown", () => this.#drag(true));
    for (const end of ["pointerup", "pointercancel"]) this.#slider.addEventListener(end, () => this.#drag(false));
    this.#speed.addEventListener("change", () => actions.chooseStride(Number(this.#speed.value)));
    this.#live.addEventListener("click", () => actions.follow());
    this.#plot.classList.add("plot-toggle");
    this.#plot.addEventListener("click", () => actions.togglePlot());
    this.#row.append(this.#back, this.#play, this.#forward, this.#speed, this.#slider, this.#text);
    this.#row.append(this.#live, this.#plot);
    this.element = el("div", { class: "timeline", role: "group", "aria-label": "Time" }, this.#row, this.#spoken);
  }

  /** The step that is shown and its time; nothing of what has neither. */
  get words(): string {
    return this.#words;
  }

  show(state: TimelineState): void {
    const { steps, step } = state;
    const running = state.playing || (state.live && step === null);
    const still = steps.last === steps.first && !state.live;
    this.element.hidden = still;
    setIcon(this.#play, running ? "Pause" : "Play", running ? icons.pause : icons.play);
    this.#tell(running, step === null);
    this.#play.title = `${running ? "Pause" : "Play"} (Space)`;
    this.#slider.min = String(steps.first);
    this.#slider.max = String(steps.last);
    const at = step ?? state.shownStep ?? steps.last;
    if (document.activeElement !== this.#slider || Number(this.#slider.value) !== at) this.#slider.value = String(at);
    this.#showSpeed(state);
    this.#live.hidden = !state.live;
    this.#plot.setAttribute("aria-expanded", String(state.plot));
    this.#live.setAttribute("aria-pressed", String(step === null));
    this.#live.classList.toggle("gone", state.gone);
    this.#live.title = state.gone ? "The simulation is gone: nothing comes to be followed" : FOLLOW;
    const words = shownWords(state, this.#timeBefore(state));
    this.#words = still && !Number.isFinite(state.shownTime) ? "" : words;
    // Whoever follows would be told each step, and who is at the slider by that already.
    const isAtSlider = this.#isDragged || document.activeElement === this.#slider;
    setAttributes(this.#text, { "aria-live": running || isAtSlider ? "off" : "polite" });
    setText(this.#text, words);
    this.#slider.setAttribute("aria-valuetext", sliderWords(at, state.shownStep, words));
  }

  /** Not every browser gives it the focus. */
  #drag(isDragged: boolean): void {
    this.#isDragged = isDragged;
  }

  /** Takes note of the time that is shown; that of the step before, if there was one. */
  #timeBefore({ shownStep: step, shownTime: time }: TimelineState): StepTime | null {
    const [now, before] = this.#times;
    if (step === null || !Number.isFinite(time)) return null;
    if (now?.step === step) this.#times = [{ step, time }, before];
    else this.#times = [{ step, time }, now];
    return this.#times[1];
  }

  /** Whether it goes on, when that changes. */
  #tell(running: boolean, follows: boolean): void {
    const runningWords = follows ? "Following the newest step" : "Playing";
    if (this.#wasRunning !== null && this.#wasRunning !== running) {
      setText(this.#spoken, running ? runningWords : "Paused");
    }
    this.#wasRunning = running;
  }

  /** That of a link may be none of those that are offered. */
  #showSpeed({ steps, live, stride }: TimelineState): void {
    const offered = live ? [1] : stridesOver(steps);
    const strides = [...new Set([...offered, stride])].sort((a, b) => a - b);
    this.#speed.hidden = strides.length < 2;
    this.#row.classList.toggle("fast", strides.length > 1);
    if (strides.join() !== this.#strides.join()) {
      this.#strides = strides;
      this.#speed.replaceChildren(...strides.map((value) => el("option", { value }, `${value}\u00d7`)));
    }
    this.#speed.value = String(stride);
  }
}
