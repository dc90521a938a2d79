/** While the view moves: 30 pictures a second. */
export const MOVING_BUDGET_MS = 30;
/** When only the data changed. */
const DATA_BUDGET_MS = 140;
const REST_MS = 140;
const DATA_REST_MS = 450;
/** How long a picture may stay coarse while more is coming: over a slow link it does for minutes. */
const COMING_MS = 2000;

/** What a tick does: a whole picture, what is there once more, the next rows at full resolution, or nothing yet. */
export type Turn = "whole" | "present" | "refine" | "wait";

/** What a tick finds. */
export interface Found {
  /** Whether an image gives way to another on the screen. */
  readonly isFading: boolean;
  /** Whether the picture is not at full resolution and precision. */
  readonly isCoarse: boolean;
}

/**
 * What is due on the screen, and in which order.
 *
 * What changed is drawn first. What only has to be laid over it (a still, labels, a fade) comes before refining, which can take seconds.
 */
export class DrawingOrder {
  #changes = 1;
  #drawn = 0;
  #presentDue = true;
  #budgetMs = MOVING_BUDGET_MS;
  #restAt = 0;
  #changedAt = 0;

  /** Of what is to be seen: grows whenever it changes. */
  get version(): number {
    return this.#changes;
  }

  /** How long drawing a whole picture may take. */
  get budgetMs(): number {
    return this.#budgetMs;
  }

  viewChanged(now: number): void {
    this.#changed(MOVING_BUDGET_MS, now, REST_MS);
  }

  dataChanged(now: number): void {
    this.#changed(DATA_BUDGET_MS, now, DATA_REST_MS);
  }

  /** Part of what will be seen has come: what is on the screen is about to be replaced. */
  dataCame(now: number): void {
    this.#restAt = Math.max(this.#restAt, Math.min(now + DATA_REST_MS, this.#changedAt + COMING_MS));
  }

  #changed(budgetMs: number, now: number, restMs: number): void {
    this.#changes += 1;
    this.#budgetMs = budgetMs;
    this.#changedAt = now;
    this.#restAt = now + restMs;
  }

  /** Something is to be laid over the picture. */
  coverChanged(): void {
    this.#presentDue = true;
  }

  beginsWhole(): void {
    this.#drawn = this.#changes;
  }

  presents(): void {
    this.#presentDue = false;
  }

  next({ isFading, isCoarse }: Found, now: number): Turn {
    if (this.#drawn !== this.#changes) return "whole";
    if (this.#presentDue || isFading) return "present";
    return isCoarse && now >= this.#restAt ? "refine" : "wait";
  }

  /** Whether all of it is on the screen. */
  isDone({ isFading, isCoarse }: Found): boolean {
    return this.#drawn === this.#changes && !this.#presentDue && !isFading && !isCoarse;
  }
}
