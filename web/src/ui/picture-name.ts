import type { SourceInfo } from "../wire/index";

/** The name of the file that a picture is saved in: with labels and without are two. */
export function pictureName(
  source: Pick<SourceInfo, "name" | "fields"> | null,
  field: number,
  step: number,
  withLabels: boolean,
): string {
  const parts = [source?.name ?? "visapult", source?.fields[field]?.name ?? "field", String(step)];
  return `${[...parts, ...(withLabels ? [] : ["plain"])].join("-")}.png`;
}
