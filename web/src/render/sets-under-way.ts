import type { BulkHeader } from "../wire/index";
import { Arrivals } from "./arrivals";

/** A set of which some messages have come. */
export interface SetUnderWay {
  readonly header: BulkHeader;
  readonly arrivals: Arrivals;
}

/**
 * Sets that are being gathered from several connections, oldest first.
 *
 * One connection may be many sets ahead of another. So the oldest set is never given up for a newer one, or none would ever be whole; and
 * the newest is always among those that are kept, for it may be the last.
 */
export class SetsUnderWay<Gathered extends SetUnderWay> {
  readonly #most: number;
  readonly #recycle: (set: Gathered) => void;
  #sets: Gathered[] = [];
  #groups = 1;
  /** Number of the newest set known: older ones that are not here were taken or given up. */
  #newest = -1;

  /** `most`: sets kept. `recycle` takes back one that is given up. */
  constructor(most: number, recycle: (set: Gathered) => void) {
    this.#most = most;
    this.#recycle = recycle;
  }

  /** A new session with `groups` connections numbers its sets anew. */
  begin(groups: number): void {
    this.#drop(() => true);
    this.#groups = groups;
    this.#newest = -1;
  }

  /** The set that a message belongs to: made by `make` if it is the first; `null` if that makes none, or the set was taken or given up. */
  of(header: BulkHeader, make: (arrivals: Arrivals) => Gathered | null): Gathered | null {
    const known = this.#sets.find((set) => set.header.set === header.set);
    if (known || header.set <= this.#newest) return known ?? null;
    this.#newest = header.set;
    const made = make(new Arrivals(this.#groups));
    if (!made) return null;
    const last = this.#sets.at(-1);
    if (this.#sets.length >= this.#most) this.#drop((set) => set === last);
    this.#sets.push(made);
    return made;
  }

  /** Something has come over connection `group`, of these sets or others. */
  hear(header: BulkHeader, group: number): void {
    for (const { arrivals, header: own } of this.#sets) arrivals.note(own, header, group);
    this.#drop(({ arrivals }) => arrivals.areCut);
  }

  get all(): readonly Gathered[] {
    return this.#sets;
  }

  get whole(): readonly Gathered[] {
    return this.#sets.filter(({ arrivals }) => arrivals.areComplete);
  }

  /** Hands a set out, and gives older ones up. */
  take(set: Gathered): void {
    this.#sets = this.#sets.filter((other) => other !== set);
    this.#drop((other) => other.header.set < set.header.set);
  }

  #drop(isGone: (set: Gathered) => boolean): void {
    const gone = this.#sets.filter(isGone);
    this.#sets = this.#sets.filter((set) => !isGone(set));
    gone.forEach(this.#recycle);
  }
}
