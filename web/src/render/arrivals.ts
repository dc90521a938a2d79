import type { BulkHeader } from "../wire/index";

/** Which connections have brought all that they bring of a set. */
export class Arrivals {
  readonly #groups: number;
  readonly #over = new Set<number>();

  /** `groups`: how many connections there are. */
  constructor(groups: number) {
    this.#groups = groups;
  }

  /** Notes what has come over connection `group`: the last of set `own`, or of a later set of the same step, where that last one is lost. */
  note(own: BulkHeader, came: BulkHeader, group: number): void {
    const isLast = came.set === own.set && came.completes;
    const isLater = came.set > own.set && came.step === own.step && came.field === own.field;
    if (isLast || isLater) this.#over.add(group);
  }

  get areComplete(): boolean {
    return this.#over.size >= this.#groups;
  }
}
