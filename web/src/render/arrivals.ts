import type { BulkHeader } from "../wire/index";

/** What has come of a set over which connections: each brings the messages of all sets in order. */
export class Arrivals {
  readonly #groups: number;
  readonly #over = new Set<number>();
  #isCut = false;

  /** `groups`: how many connections there are. */
  constructor(groups: number) {
    this.#groups = groups;
  }

  /**
   * Notes what has come over connection `group`.
   *
   * A later set tells that nothing more comes of set `own` there: of the same step, because its last message is lost; of another one,
   * because the server sent that instead of the rest.
   */
  note(own: BulkHeader, came: BulkHeader, group: number): void {
    const isLater = came.set > own.set;
    const isOfStep = came.step === own.step && came.field === own.field;
    if ((came.set === own.set && came.completes) || (isLater && isOfStep)) this.#over.add(group);
    else if (isLater && !this.#over.has(group)) this.#isCut = true;
  }

  /** All has come that will, of a set that was sent as a whole. */
  get areComplete(): boolean {
    return this.#over.size >= this.#groups;
  }

  /** The set was not sent to its end: it will never be whole. */
  get areCut(): boolean {
    return this.#isCut;
  }
}
