import { WireError } from "./errors";
import { printable, sentence } from "./printable";

/** A JSON object whose members are read with their types checked. */
export class Json {
  readonly #members: Readonly<Record<string, unknown>>;
  readonly #what: string;

  constructor(members: Readonly<Record<string, unknown>>, what: string) {
    this.#members = members;
    this.#what = what;
  }

  static parse(bytes: Uint8Array, what: string): Json {
    let value: unknown;
    try {
      value = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes));
    } catch {
      throw new WireError(`${what}: not UTF-8 JSON`);
    }
    return asObject(value, what);
  }

  isNull(name: string): boolean {
    return this.#members[name] === null || this.#members[name] === undefined;
  }

  number(name: string): number {
    const value = this.#members[name];
    return typeof value === "number" ? value : this.#fail(name, "a number");
  }

  integer(name: string, least: number, most = Number.MAX_SAFE_INTEGER): number {
    const value = this.number(name);
    if (Number.isInteger(value) && value >= least && value <= most) return value;
    return this.#fail(name, `an integer from ${least} to ${most}`);
  }

  text(name: string): string {
    const value = this.#members[name];
    return typeof value === "string" ? value : this.#fail(name, "a string");
  }

  /** A text that is shown and stands for nothing else. */
  words(name: string): string {
    return printable(this.text(name));
  }

  /** Words with names in them. */
  sentence(name: string): string {
    return sentence(this.text(name));
  }

  flag(name: string): boolean {
    const value = this.#members[name];
    return typeof value === "boolean" ? value : this.#fail(name, "true or false");
  }

  list(name: string, most = Number.POSITIVE_INFINITY): readonly unknown[] {
    const value = this.#members[name];
    if (!Array.isArray(value)) return this.#fail(name, "a list");
    if (value.length > most) throw new WireError(`${this.#what}: ${value.length} in "${name}", at most ${most} may be`);
    return value;
  }

  numbers(name: string): readonly number[] {
    return this.list(name).map((value) => (typeof value === "number" ? value : this.#fail(name, "a list of numbers")));
  }

  oneOf<const T extends string>(name: string, choices: readonly T[]): T {
    const value = this.#members[name];
    const found = choices.find((choice) => choice === value);
    return found ?? this.#fail(name, choices.join(" or "));
  }

  child(name: string): Json {
    return asObject(this.#members[name], `${this.#what}: ${name}`);
  }

  #fail(name: string, expected: string): never {
    throw new WireError(`${this.#what}: "${name}" is ${JSON.stringify(this.#members[name])}, expected ${expected}`);
  }
}

/** A control message: its kind and one JSON object. */
export function encodeJson(kind: number, body: object): Uint8Array<ArrayBuffer> {
  const text = new TextEncoder().encode(JSON.stringify(body));
  const bytes = new Uint8Array(1 + text.byteLength);
  bytes[0] = kind;
  bytes.set(text, 1);
  return bytes;
}

export function asObject(value: unknown, what: string): Json {
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    throw new WireError(`${what}: not a JSON object`);
  }
  return new Json(value as Record<string, unknown>, what);
}

export function asTuple3(values: readonly number[], what: string): readonly [number, number, number] {
  if (values.length !== 3) throw new WireError(`${what} has ${values.length} numbers, expected 3`);
  return [values[0], values[1], values[2]];
}
