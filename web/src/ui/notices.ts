/** What is told over the picture. */
export interface Notice {
  readonly severity: "info" | "warning" | "error";
  readonly text: string;
  /** Until it is dismissed, whatever is done meanwhile. */
  readonly stays?: boolean;
}

/** A warning says what has happened; after so long it has been read. */
const LEAST_MS = 8000;
const WORD_MS = 400;
/** Whoever points at it is reading it. */
const LINGERS_MS = 2000;

/** The notice over the picture: a warning until it has been read, others until they do not hold any more or are dismissed. */
export class Notices {
  readonly #onChange: (notice: Notice | null) => void;
  readonly #isHeld: () => boolean;
  #shown: Notice | null = null;
  #timer: ReturnType<typeof setTimeout> | null = null;

  /** `isHeld`: somebody points at what is told, or has the focus there. */
  constructor(onChange: (notice: Notice | null) => void, isHeld: () => boolean) {
    this.#onChange = onChange;
    this.#isHeld = isHeld;
  }

  tell(notice: Notice): void {
    this.#forget();
    if (notice.severity === "warning" && !notice.stays) this.#dismissAfter(readingMs(notice.text));
    this.#shown = notice;
    this.#onChange(notice);
  }

  dismiss(): void {
    this.#forget();
    if (!this.#shown) return;
    this.#shown = null;
    this.#onChange(null);
  }

  /** Something else is shown from here on, of which the notice does not speak. */
  pass(): void {
    if (!this.#shown?.stays) this.dismiss();
  }

  #dismissAfter(wait: number): void {
    this.#timer = setTimeout(() => (this.#isHeld() ? this.#dismissAfter(LINGERS_MS) : this.dismiss()), wait);
  }

  #forget(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
  }
}

function readingMs(text: string): number {
  return Math.max(LEAST_MS, WORD_MS * text.split(/\s+/).length);
}
