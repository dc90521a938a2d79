import { formatNumber } from "../render/index";

/** How far what is shown is behind the newest step. */
export interface Behind {
  /** `null` where that is not known. */
  readonly ageMs: number | null;
  readonly steps: number;
}

/** Seconds that are told: few, so that the words stay for a while. */
const TOLD_S = [2, 5, 10, 20, 30, 60, 120, 300, 600] as const;
/** A step that has just come is as old as its way was long, the one before up to twice that when it goes. */
const OVER = 0.5;
/** Behind for less than that, it is not worth a word. */
const LASTING_MS = 1000;

/** The words for a picture that follows a simulation, and is behind it; empty where it is not. */
export class Lag {
  #since: number | null = null;
  #toldS = 0;

  /** `behind`: `null` where nothing is followed. */
  words(behind: Behind | null, now: number): string {
    this.#toldS = behind && behind.steps > 1 && behind.ageMs !== null ? this.#due(behind.ageMs / 1000) : 0;
    if (this.#toldS === 0) this.#since = null;
    else this.#since ??= now;
    if (this.#since === null || now - this.#since < LASTING_MS) return "";
    return `About ${durationWords(this.#toldS)} behind the simulation`;
  }

  #due(ageS: number): number {
    const reached = Math.max(0, ...TOLD_S.filter((seconds) => ageS > seconds));
    return ageS > OVER * this.#toldS ? Math.max(reached, this.#toldS) : reached;
  }
}

/** How old what is shown is, or how far behind. */
export function ageWords({ ageMs, steps }: Behind): string {
  return ageMs === null ? `${steps} ${steps === 1 ? "step" : "steps"} behind` : `${formatNumber(ageMs / 1000, 10)} s`;
}

function durationWords(seconds: number): string {
  return seconds < 60 ? `${seconds} s` : `${seconds / 60} min`;
}
