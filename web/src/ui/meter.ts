/** Events over the last seconds: how many, and how much they carried. */
export class Meter {
  readonly #windowMs: number;
  #events: { readonly at: number; readonly amount: number }[] = [];
  total = 0;

  constructor(windowMs = 2000) {
    this.#windowMs = windowMs;
  }

  add(now: number, amount: number): void {
    this.total += amount;
    this.#events.push({ at: now, amount });
    this.#forget(now);
  }

  /** Amount per second over the window. */
  rate(now: number): number {
    this.#forget(now);
    const sum = this.#events.reduce((total, event) => total + event.amount, 0);
    return (sum * 1000) / this.#windowMs;
  }

  /** Amount per second between the first and the last event in the window; 0 for fewer than two. */
  pace(now: number): number {
    this.#forget(now);
    const [first, last] = [this.#events[0], this.#events[this.#events.length - 1]];
    if (this.#events.length < 2 || last.at <= first.at) return 0;
    const sum = this.#events.reduce((total, event) => total + event.amount, 0) - first.amount;
    return (sum * 1000) / (last.at - first.at);
  }

  #forget(now: number): void {
    const oldest = now - this.#windowMs;
    while (this.#events.length > 0 && this.#events[0].at < oldest) this.#events.shift();
  }
}
