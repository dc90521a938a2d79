/** What is told over the picture. */
export interface Notice {
  readonly severity: "info" | "warning" | "error";
  readonly text: string;
}

/** A warning says what has happened; after so long it has been read. */
const WARNING_MS = 8000;

/** The notice over the picture: a warning for some seconds, others until they do not hold any more or are dismissed. */
export class Notices {
  readonly #onChange: (notice: Notice | null) => void;
  #isShown = false;
  #timer: ReturnType<typeof setTimeout> | null = null;

  constructor(onChange: (notice: Notice | null) => void) {
    this.#onChange = onChange;
  }

  tell(notice: Notice): void {
    this.#forget();
    if (notice.severity === "warning") this.#timer = setTimeout(() => this.dismiss(), WARNING_MS);
    this.#isShown = true;
    this.#onChange(notice);
  }

  dismiss(): void {
    this.#forget();
    if (!this.#isShown) return;
    this.#isShown = false;
    this.#onChange(null);
  }

  #forget(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
  }
}
