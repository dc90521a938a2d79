const KEPT_AS = "visapult.letters";
const PICTURE = "picture";

/** Whether keys of letters and signs act on the whole page, or where the picture has the focus alone, as whoever dictates needs it (WCAG 2.1.4). Kept by the browser, where it keeps things. */
export class KeyScope {
  #isPicture = kept() === PICTURE;

  get isPicture(): boolean {
    return this.#isPicture;
  }

  choose(isPicture: boolean): void {
    this.#isPicture = isPicture;
    try {
      if (isPicture) localStorage.setItem(KEPT_AS, PICTURE);
      else localStorage.removeItem(KEPT_AS);
    } catch {
      // It holds as long as the page does.
    }
  }
}

function kept(): string | null {
  try {
    return localStorage.getItem(KEPT_AS);
  } catch {
    return null;
  }
}
