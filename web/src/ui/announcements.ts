/** Announcements that are closer to each other count as one. */
const APART_MS = 250;
/** Some four minutes at least. */
const MOST = 1024;

interface Announcement {
  readonly step: number;
  readonly at: number;
}

/** When the server announced the latest steps. */
export class Announcements {
  /** Each of a newer step than the one before. */
  #told: Announcement[] = [];

  clear(): void {
    this.#told = [];
  }

  /** The newest step is `step` from `at` on. */
  tell(step: number, at: number): void {
    const [before, last] = this.#told.slice(-2);
    const newest = this.#told[this.#told.length - 1];
    if (newest && step <= newest.step) return;
    if (last && last.at - before.at < APART_MS) this.#told.pop();
    this.#told.push({ step, at });
    if (this.#told.length > MOST) this.#told.shift();
  }

  /** How long it is known that there is `step`; `null` where its announcement is forgotten, or was before the first. */
  ageMs(step: number, now: number): number | null {
    const [first] = this.#told;
    if (!first || step < first.step) return null;
    const found = this.#told.find((one) => one.step >= step);
    return found ? now - found.at : null;
  }
}
