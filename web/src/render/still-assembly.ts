import type { BulkHeader } from "../wire/index";

/** How stills are kept: `create` makes room for one, `upload` puts a part in, `recycle` takes the room back. */
export interface StillKeeper<Part, Still> {
  create(part: Part): Still;
  upload(still: Still, part: Part): void;
  recycle(still: Still): void;
}

/** The newest still on its way, gathered from all connections, and the last one that was complete. */
export class StillAssembly<Part extends { readonly header: BulkHeader }, Still> {
  readonly #keeper: StillKeeper<Part, Still>;
  #next: { id: number; still: Still; groupsDone: number } | null = null;
  #complete: Still | null = null;
  #groups = 1;
  #newest = 0;

  constructor(keeper: StillKeeper<Part, Still>) {
    this.#keeper = keeper;
  }

  get complete(): Still | null {
    return this.#complete;
  }

  /** A new session numbers its sets anew. */
  begin(groups: number): void {
    this.#drop();
    if (this.#complete !== null) this.#keeper.recycle(this.#complete);
    this.#complete = null;
    this.#groups = groups;
    this.#newest = 0;
  }

  /** True if a still became complete. */
  accept(part: Part): boolean {
    const { set, completes } = part.header;
    // Another connection may still bring parts of an older one.
    if (set < this.#newest) return false;
    this.#newest = set;
    if (this.#next?.id !== set) {
      this.#drop();
      this.#next = { id: set, still: this.#keeper.create(part), groupsDone: 0 };
    }
    this.#keeper.upload(this.#next.still, part);
    if (completes) this.#next.groupsDone += 1;
    if (this.#next.groupsDone < this.#groups) return false;
    if (this.#complete !== null) this.#keeper.recycle(this.#complete);
    this.#complete = this.#next.still;
    this.#next = null;
    return true;
  }

  #drop(): void {
    if (this.#next) this.#keeper.recycle(this.#next.still);
    this.#next = null;
  }
}
