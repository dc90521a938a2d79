import type { ShownState } from "../render/index";
import type { NoticeMessage, PlanMessage, StepSpan } from "../wire/index";

/** Playback goes on with a coarser level than planned after this long. */
const PATIENCE_MS = 900;
const FASTEST_STEP_MS = 100;

/** Steps of a series from which on playing it one by one takes long. */
const MANY_STEPS = 20;
/** Steps that are shown at least, however far apart. */
const FEWEST_SHOWN = 10;

/** How many steps further playing may go at a time: 1, 2, 5, 10 and so on. */
export function stridesOver({ first, last }: StepSpan): readonly number[] {
  const count = last - first + 1;
  if (count <= MANY_STEPS) return [1];
  const tens = Array.from({ length: Math.ceil(Math.log10(count)) }, (_, i) => 10 ** i);
  return tens.flatMap((ten) => [ten, 2 * ten, 5 * ten]).filter((stride) => stride * FEWEST_SHOWN <= count);
}

export interface PlaybackState {
  readonly playing: boolean;
  /** Steps that it goes on by. */
  readonly stride: number;
  readonly step: number | null;
  readonly steps: StepSpan;
  readonly plan: PlanMessage | null;
}

/** Whether playing goes on after a notice: a step that cannot be shown is not waited for, for it would be for ever. */
export function playsOn({ failed }: Pick<NoticeMessage, "failed">, field: number, step: number | null): boolean {
  return failed === null || failed.field !== field || failed.step !== step;
}

/** Asks for a next step of a series when this one is shown as well as planned, or patience ends. */
export class Playback {
  readonly #state: () => PlaybackState;
  readonly #next: (step: number | null) => void;
  #timer: ReturnType<typeof setTimeout> | null = null;
  #shown: ShownState | null = null;
  /** When the step on the screen appeared, page clock. */
  #shownAt = 0;

  /** `next` is called with the step to go to, or `null` at the end. */
  constructor(state: () => PlaybackState, next: (step: number | null) => void) {
    this.#state = state;
    this.#next = next;
  }

  /** Takes note of a frame; true if it shows another step, or field, than the one before. */
  frame(shown: ShownState): boolean {
    const another = this.#shown?.step !== shown.step || this.#shown.field !== shown.field;
    this.#shown = shown;
    if (another) this.#shownAt = performance.now();
    this.advance();
    return another;
  }

  advance(): void {
    const { playing, step, plan } = this.#state();
    const shown = this.#shown;
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
    if (!playing || step === null || shown?.step !== step) return;
    const asPlanned = shown.level === null || !plan || shown.level <= plan.level;
    const wait = (asPlanned ? FASTEST_STEP_MS : PATIENCE_MS) - (performance.now() - this.#shownAt);
    this.#timer = setTimeout(
      () => {
        this.#timer = null;
        this.#goOn(step);
      },
      Math.max(0, wait),
    );
  }

  #goOn(from: number): void {
    const { playing, stride, step, steps } = this.#state();
    if (!playing || step !== from) return this.advance();
    this.#next(from >= steps.last ? null : Math.min(steps.last, Math.max(steps.first, from + stride)));
  }
}
