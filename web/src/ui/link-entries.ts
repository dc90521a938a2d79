/** The keys and values of a link, and which of them cannot be used. */
export class LinkEntries {
  readonly #said: URLSearchParams;
  readonly #unusable: string[] = [];

  constructor(hash: string) {
    this.#said = new URLSearchParams(hash.replace(/^#/, ""));
  }

  get keys(): readonly string[] {
    return [...new Set(this.#said.keys())];
  }

  /** As the link has them: `key=value`. */
  get unusable(): readonly string[] {
    return this.#unusable;
  }

  /** What `read` makes of the value of a key; `undefined` where the link does not have it, or has nothing that can be used, which is noted. */
  take<T>(key: string, read: (text: string) => T | undefined): T | undefined {
    const text = this.#said.get(key);
    if (text === null) return undefined;
    const taken = read(text);
    if (taken === undefined) this.#unusable.push(`${key}=${text}`);
    return taken;
  }
}

export function readFlag(text: string): boolean | undefined {
  return text === "0" || text === "1" ? text === "1" : undefined;
}

/** `count` numbers with commas between them. */
export function readNumbers(text: string, count: number): readonly number[] | undefined {
  const found = text.split(",").map((part) => (part.trim() === "" ? Number.NaN : Number(part)));
  return found.length === count && found.every(Number.isFinite) ? found : undefined;
}

/** At most so many lists of `length` numbers with semicolons between them. */
export function readLists(text: string, length: number, most: number): readonly (readonly number[])[] | undefined {
  const parts = text.split(";");
  const found = parts.length > most ? [undefined] : parts.map((part) => readNumbers(part, length));
  return found.every((part) => part !== undefined) ? found : undefined;
}
