/** Out of sight for so long, a page does without what is new; who looks elsewhere for a moment finds it as it would be. */
const AWAY_MS = 10_000;

type Sight = Pick<Document, "visibilityState" | "addEventListener">;

/** Tells whether anybody may be looking at the page. */
export class Attention {
  readonly #sight: Sight;
  readonly #onChange: () => void;
  #isAway = false;
  #timer: ReturnType<typeof setTimeout> | null = null;

  constructor(sight: Sight, onChange: () => void) {
    this.#sight = sight;
    this.#onChange = onChange;
    sight.addEventListener("visibilitychange", () => this.#look());
    this.#look();
  }

  /** Nobody has seen the page for a while. */
  get isAway(): boolean {
    return this.#isAway;
  }

  #look(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
    if (this.#sight.visibilityState === "hidden") this.#timer = setTimeout(() => this.#set(true), AWAY_MS);
    else this.#set(false);
  }

  #set(isAway: boolean): void {
    if (isAway === this.#isAway) return;
    this.#isAway = isAway;
    this.#onChange();
  }
}
