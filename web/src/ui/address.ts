/** Browsers count how often an address changes: some refuse more than 100 times in 30 s. So many changes in a row are written at once. */
const MOST_AT_ONCE = 8;
/** In the long run they are so far apart. */
const APART_MS = 400;
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
  /** When all that may be written at once may be again. */
  #freeAt = Number.NEGATIVE_INFINITY;
  /** As the bar has it. */
  #seen: string;

  /** `hash`: what the page shows. */
  constructor(hash: () => string, bar: Bar, past: Past) {
    this.#hash = hash;
    this.#bar = bar;
    this.#past = past;
    this.#seen = bar.hash;
  }

  /** What is shown may have changed: written at once where that may be, as browsers that load a page again take the address it had before it was told of that. */
  note(): void {
    if (this.#timer !== null) return;
    const wait = this.#freeAt - (MOST_AT_ONCE - 1) * APART_MS - performance.now();
    if (wait > 0) this.#timer = setTimeout(() => this.flush(), wait);
    else this.#write();
  }

  /** Writes what was noted and is not written yet. */
  flush(): void {
    if (this.#timer === null) return;
    clearTimeout(this.#timer);
    this.#timer = null;
    this.#write();
  }

  #write(): void {
    const hash = this.#hash();
    // Another link was pasted over it, and is about to be shown.
    const isPasted = this.#bar.hash !== this.#seen;
    if (hash === this.#written || isPasted) return;
    this.#freeAt = Math.max(this.#freeAt, performance.now()) + APART_MS;
    try {
      this.#past.replaceState(this.#past.state, "", hash);
      this.#written = hash;
      this.#seen = this.#bar.hash;
    } catch {
      this.#timer = setTimeout(() => this.flush(), AGAIN_AFTER_MS);
    }
  }
}
