import type { EventsMessage, StageEvent } from "../wire/index";

/** Stages in the order of the path, lowest first. */
export const stages = ["receive", "load", "render", "encode", "send", "viewer receipt", "drawn"] as const;
export type Stage = (typeof stages)[number];

export interface Bar {
  readonly step: number;
  readonly stage: Stage;
  readonly startMs: number;
  readonly endMs: number;
}

export interface LifelinesShown {
  /** One for each step and stage; of several PEs from the first to begin to the last to end. */
  readonly bars: readonly Bar[];
  readonly startMs: number;
  readonly endMs: number;
  /** The newest whole step, in words. */
  readonly words: string;
}

const SHOWN_STEPS = 6;
/** Those that the server is through with and that are on their way to the screen, too. */
const MOST_STEPS = 64;

/** The latest steps' stages, from the server and from the page, in the server's time. */
export class LifelinesState {
  readonly #steps = new Map<number, Map<Stage, { startMs: number; endMs: number }>>();

  clear(): void {
    this.#steps.clear();
  }

  receive({ events }: EventsMessage): void {
    for (const event of events) this.add(event);
  }

  add({ stage, step, startMs, endMs }: StageEvent): void {
    const known = stages.find((name) => name === stage);
    if (known === undefined || !(endMs >= startMs)) return;
    const newest = Math.max(...this.#steps.keys());
    // A step far behind is one that was gone back to, or another run's.
    if (step < newest - 1000) this.clear();
    const ofStep = this.#steps.get(step) ?? new Map<Stage, { startMs: number; endMs: number }>();
    this.#steps.set(step, ofStep);
    const span = ofStep.get(known);
    if (!span) ofStep.set(known, { startMs, endMs });
    else [span.startMs, span.endMs] = [Math.min(span.startMs, startMs), Math.max(span.endMs, endMs)];
    while (this.#steps.size > MOST_STEPS) this.#steps.delete(Math.min(...this.#steps.keys()));
  }

  /**
   * The last few steps that came to the screen, and of which the server has told: it does so a few times a second, and so does the page, neither waiting
   * for the other. All there are until there is one.
   */
  shown(): LifelinesShown | null {
    const all = [...this.#steps.entries()].sort(([a], [b]) => a - b);
    const drawn = all.filter(([, spans]) => spans.has("drawn"));
    const whole = drawn.filter(([, spans]) => spans.has("send"));
    const steps = ([whole, drawn].find((some) => some.length > 0) ?? all).slice(-SHOWN_STEPS);
    const bars = steps.flatMap(([step, spans]) => [...spans].map(([stage, span]): Bar => ({ step, stage, ...span })));
    const newest = steps[steps.length - 1];
    if (!newest) return null;
    return {
      bars,
      startMs: Math.min(...bars.map(({ startMs }) => startMs)),
      endMs: Math.max(...bars.map(({ endMs }) => endMs)),
      words: stepWords(newest[0], newest[1]),
    };
  }
}

function stepWords(step: number, spans: ReadonlyMap<Stage, { startMs: number; endMs: number }>): string {
  const ordered = stages.flatMap((stage) => {
    const span = spans.get(stage);
    return span ? [{ stage, ...span }] : [];
  });
  const [first, last] = [Math.min(...ordered.map((s) => s.startMs)), Math.max(...ordered.map((s) => s.endMs))];
  const parts = ordered.map(({ stage, startMs, endMs }) => `${stage} ${milliseconds(endMs - startMs)}`);
  return `Step ${step}: ${parts.join(", ")}; ${milliseconds(last - first)} in all.`;
}

function milliseconds(time: number): string {
  return `${time < 10 ? time.toFixed(1) : Math.round(time)} ms`;
}
