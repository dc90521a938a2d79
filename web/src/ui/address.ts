/** Edits follow each other quickly, and browsers count how often an address changes. */
const APART_MS = 300;
/** Where a browser has counted too many. */
const AGAIN_AFTER_MS = 5000;

type Bar = Pick<Location, "hash">;
type Past = Pick<History, "state" | "replaceState">;

/** Keeps what the page shows behind the `#` of its address. */
export class Address {
  readonly #hash: () => string;
  readonly #bar: Bar;
  readonly #past: Past;
  #timer: ReturnType<typeof setTimeout> | null = null;
  #written: string | null = null;
  #writtenAt = Number.NEGATIVE_INFINITY;
  /** As the bar has it. */
  #seen: string;

  /** `hash`: what the page shows. */
  constructor(hash: () => string, bar: Bar, past: Past) {
    this.#hash = hash;
    this.#bar = bar;
    this.#past = past;
    this.#seen = bar.hash;
  }

  /** What is shown may have changed: browsers that load a page again take the address it had before it was told of that. */
  note(): void {
    const wait = Math.max(0, this.#writtenAt + APART_MS - performance.now());
    this.#timer ??= setTimeout(() => this.flush(), wait);
  }

  /** Writes what was noted. */
  flush(): void {
    if (this.#timer === null) return;
    clearTimeout(this.#timer);
    this.#timer = null;
    const hash = this.#hash();
    // Another link was pasted over it, and is about to be shown.
    const isPasted = this.#bar.hash !== this.#seen;
    if (hash === this.#written || isPasted) return;
    this.#writtenAt = performance.now();
    try {
      this.#past.replaceState(this.#past.state, "", hash);
      this.#written = hash;
      this.#seen = this.#bar.hash;
    } catch {
      this.#timer = setTimeout(() => this.flush(), AGAIN_AFTER_MS);
    }
  }
}
