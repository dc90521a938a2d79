/** The keyframe that is shown, and the one whose place it took, for as long as that gives way to it. */
export class Succession<Keyframe extends { readonly id: number }> {
  readonly #recycle: (keyframe: Keyframe) => void;
  #shown: Keyframe | null = null;
  #before: Keyframe | null = null;

  constructor(recycle: (keyframe: Keyframe) => void) {
    this.#recycle = recycle;
  }

  get shown(): Keyframe | null {
    return this.#shown;
  }

  follow(next: Keyframe): void {
    this.settle();
    [this.#before, this.#shown] = [this.#shown, next];
  }

  /** Nothing gives way any more. */
  settle(): void {
    if (this.#before) this.#recycle(this.#before);
    this.#before = null;
  }

  /** What is shown is not wanted any more. */
  release(): void {
    this.settle();
    if (this.#shown) this.#recycle(this.#shown);
    this.#shown = null;
  }

  /** The one of this number, if it is still there. */
  find(id: number): Keyframe | null {
    return [this.#shown, this.#before].find((keyframe) => keyframe?.id === id) ?? null;
  }
}
