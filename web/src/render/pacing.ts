/** Fractions of the full resolution, about a factor of 1.4 in pixels apart. */
const LADDER = [1, 0.84, 0.71, 0.59, 0.5, 0.42, 0.35, 0.3, 0.25] as const;

/** Before anything is measured. */
const FIRST_RUNG = 4;

/** Chooses the resolution at which a picture takes about the time that is there for it. */
export class Pacing {
  /** Milliseconds per pixel, as measured; `null` before the first picture. */
  #cost: number | null = null;
  #rung = 0;

  /** Milliseconds that `pixels` take, as far as that is known. */
  expected(pixels: number): number {
    return this.#cost === null ? Number.POSITIVE_INFINITY : pixels * this.#cost;
  }

  /** Whether `pixels` are known to take no longer than `budgetMs`. */
  fits(pixels: number, budgetMs: number): boolean {
    return this.expected(pixels) <= budgetMs;
  }

  /** Reports that `pixels` took `ms`. */
  record(pixels: number, ms: number): void {
    const cost = ms / Math.max(1, pixels);
    this.#cost = this.#cost === null ? cost : this.#cost + (cost - this.#cost) * (cost > this.#cost ? 0.5 : 0.25);
  }

  /** Linear fraction of the full resolution of `pixels` that takes about `budgetMs`. */
  scale(pixels: number, budgetMs: number): number {
    if (this.#cost === null) return LADDER[FIRST_RUNG];
    const cost = this.#cost;
    const ms = (rung: number) => pixels * LADDER[rung] ** 2 * cost;
    let rung = this.#rung;
    while (rung < LADDER.length - 1 && ms(rung) > budgetMs * 1.2) rung += 1;
    while (rung > 0 && ms(rung - 1) < budgetMs * 0.9) rung -= 1;
    this.#rung = rung;
    return LADDER[rung];
  }

  /** Rows of `width` pixels that take about `budgetMs`. */
  rows(width: number, budgetMs: number): number {
    if (this.#cost === null) return 32;
    return Math.max(8, Math.floor(budgetMs / (this.#cost * width)));
  }
}
