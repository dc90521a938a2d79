import { isolated } from "./printable";

/** Fields that a view can name: those of the source, and behind them the logarithm of each, in the same order. */
export interface FieldInfo {
  readonly name: string;
  /** Of the values; a logarithm is told in those of the field that it is of. */
  readonly unit: string;
  /** The field whose common logarithm it is. */
  readonly logarithmOf: number | null;
}

/** A view names a field in 16 bits. */
const MOST_FIELDS = 1 << 16;

/** The source's fields and their logarithms, where all of these can be named. */
export function withLogarithms(named: readonly { readonly name: string; readonly unit: string }[]): FieldInfo[] {
  const linear = named.map(({ name, unit }) => ({ name, unit, logarithmOf: null }));
  if (2 * linear.length > MOST_FIELDS) return linear;
  const taken = new Set(named.map(({ name }) => name));
  const logarithms = named.map(({ name, unit }, i) => ({ name: nameOfLogarithm(name, taken), unit, logarithmOf: i }));
  return [...linear, ...logarithms];
}

/** By which a link tells it: no other field of the source has the name. */
function nameOfLogarithm(name: string, taken: ReadonlySet<string>): string {
  let made = `log10(${name})`;
  while (taken.has(made)) made += "'";
  return made;
}

/** The field whose values are seen, itself where it is no logarithm. */
export function linearField(fields: readonly FieldInfo[], field: number): number {
  return fields[field]?.logarithmOf ?? field;
}

/** The logarithm of a field, itself where it is one; `null` where it cannot be asked for. */
export function logarithmicField(fields: readonly FieldInfo[], field: number): number | null {
  const own = linearField(fields, field);
  const behind = fields.length / 2 + own;
  return fields[behind]?.logarithmOf === own ? behind : null;
}

/** A field's name and unit, as they are shown. */
export function withUnit({ name, unit }: Pick<FieldInfo, "name" | "unit">): string {
  return unit ? `${isolated(name)} [${isolated(unit)}]` : isolated(name);
}
