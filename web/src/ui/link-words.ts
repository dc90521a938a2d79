import type { Vec3 } from "../volume/index";
import { type FieldInfo, type GridInfo, isolated, printable, type SourceInfo, type StepSpan } from "../wire/index";
import { LINK_KEYS, type ReadLink } from "./hash";
import { short, writeTransfer } from "./link-transfer";

const MOST_NAMED = 3;
const MOST_LETTERS = 24;

type Said = Pick<ReadLink, "step" | "field" | "others" | "mark" | "unknown" | "unusable">;
type Source = Pick<SourceInfo, "live"> & {
  readonly fields: readonly Pick<FieldInfo, "name">[];
  readonly grid: Pick<GridInfo, "size">;
};

/** What a link says in vain to a source; empty where there is nothing. */
export function linkWords(link: Said, { live, fields, grid }: Source): string {
  const { unknown, mark } = link;
  const follows = link.step === null && !live ? ["step=live"] : [];
  const outside = mark === null || isInside(mark, grid) ? [] : [`mark=${mark.map(short).join(",")}`];
  const unusable = [...link.unusable, ...outside, ...follows, ...ofAbsentFields(link, fields)];
  const parts: string[] = [];
  if (unknown.length > 0) parts.push(`${named(unknown)}, which means nothing here: it may say ${LINK_KEYS.join(", ")}`);
  if (unusable.length > 0) parts.push(`${named(unusable)}, which cannot be used here: the default is shown instead`);
  return parts.length > 0 ? `This link says ${parts.join("; and ")}.` : "";
}

/** Whether a source has a place, in sample coordinates: half a sample may lie beyond the last, as before the first. */
export function isInside(place: Vec3, { size }: Pick<GridInfo, "size">): boolean {
  return place.every((n, axis) => n >= -0.5 && n <= size[axis] - 0.5);
}

function ofAbsentFields({ field, others }: Said, fields: readonly Pick<FieldInfo, "name">[]): readonly string[] {
  const isAbsent = (name: string) => fields.every((one) => one.name !== name);
  const keys = [...others].flatMap(([name, transfer]) =>
    isAbsent(name) ? writeTransfer(transfer, `.${name}`).map(([key]) => key) : [],
  );
  return field !== null && isAbsent(field) ? [`field=${field}`, ...keys] : keys;
}

function named(said: readonly string[]): string {
  const words = said.slice(0, MOST_NAMED).map((one) => `\u201c${isolated(shortened(one))}\u201d`);
  if (said.length > MOST_NAMED) words.push("and more");
  return words.join(", ");
}

function shortened(one: string): string {
  const words = printable(one);
  const letters = [...words];
  return letters.length > MOST_LETTERS ? `${letters.slice(0, MOST_LETTERS).join("")}\u2026` : words;
}

/** That the server shows something else than before. */
export function otherSourceWords({ name }: Pick<SourceInfo, "name">): string {
  return `Another source is shown now: ${isolated(name)}.`;
}

/** Why the step that is wanted is not shown, and what is. `wasShown`: it was there before. */
export function absentStepWords(step: number, { first, last }: StepSpan, live: boolean, wasShown: boolean): string {
  const instead = live ? "following the newest" : `step ${Math.min(last, Math.max(first, step))} is shown`;
  // Of a file steps are counted from the first on, of a simulation the earliest are let go of.
  if (wasShown || (live && step < first)) return `Step ${step} is gone: ${instead}.`;
  return `There is no step ${step}${live ? " yet" : ""}: ${instead}.`;
}
