import type { LinkedTransfer } from "./link-transfer";

/** What a field has in the place of the server's function: a whole one after an edit, a part that a link says; `null` for nothing. */
export type Own = LinkedTransfer | null;

const MOST_KEPT = 200;

/** The edits of one field's function that can be taken back, and those that were and can be made again. */
export class Edits {
  /** What was before each. */
  readonly #made: Own[] = [];
  /** What was after each, the last to be taken back at the end. */
  readonly #takenBack: Own[] = [];

  get canUndo(): boolean {
    return this.#made.length > 0;
  }

  get canRedo(): boolean {
    return this.#takenBack.length > 0;
  }

  make(before: Own): void {
    this.#made.push(before);
    if (this.#made.length > MOST_KEPT) this.#made.shift();
    this.#takenBack.length = 0;
  }

  /** What was before the last edit; `undefined` where there is none. */
  undo(now: Own): Own | undefined {
    return moved(this.#made, this.#takenBack, now);
  }

  /** What was after the edit that was taken back last. */
  redo(now: Own): Own | undefined {
    return moved(this.#takenBack, this.#made, now);
  }
}

function moved(from: Own[], to: Own[], now: Own): Own | undefined {
  const next = from.pop();
  if (next !== undefined) to.push(now);
  return next;
}
