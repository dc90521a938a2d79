import type { StageEvent } from "../wire/index";

/** Steps that have come and are not on the screen yet. */
const MOST_STEPS = 64;

/** Stamps what the page does with each step: receiving it, and drawing it for the first time. Times are the page's. */
export class PageStamps {
  readonly #coming = new Map<number, { readonly firstMs: number; lastMs: number; bytes: number }>();
  #drawn: number | null = null;

  clear(): void {
    this.#coming.clear();
    this.#drawn = null;
  }

  /** A message with a part of `step` came at `arrivedMs` and was taken in at `nowMs`. */
  part(step: number, arrivedMs: number, nowMs: number, bytes: number): void {
    if (step === this.#drawn) return;
    const coming = this.#coming.get(step);
    if (coming) {
      coming.lastMs = nowMs;
      coming.bytes += bytes;
      return;
    }
    this.#coming.set(step, { firstMs: arrivedMs, lastMs: nowMs, bytes });
    const [oldest] = this.#coming.keys();
    if (this.#coming.size > MOST_STEPS && oldest !== undefined) this.#coming.delete(oldest);
  }

  /** A frame with `step` was drawn: what there is to tell of it, once. */
  frame(step: number | null, nowMs: number): readonly StageEvent[] {
    if (step === null || step === this.#drawn) return [];
    this.#drawn = step;
    const came = this.#coming.get(step);
    if (!came) return [];
    // What came before it and was not drawn never will be.
    for (const other of [...this.#coming.keys()]) if (other <= step) this.#coming.delete(other);
    const { firstMs, lastMs, bytes } = came;
    return [
      { stage: "viewer receipt", step, startMs: firstMs, endMs: lastMs, bytes },
      { stage: "drawn", step, startMs: lastMs, endMs: nowMs, bytes: 0 },
    ];
  }
}
