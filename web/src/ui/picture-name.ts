import type { ShownState } from "../render/index";
import type { SourceInfo } from "../wire/index";

/** The name of the file that the picture of what is shown is saved in: with labels and without are two. */
export function pictureName(
  source: Pick<SourceInfo, "name" | "fields"> | null,
  { field, step }: Pick<ShownState, "field" | "step">,
  withLabels: boolean,
): string {
  const name = field === null ? undefined : source?.fields[field]?.name;
  const parts = [source?.name ?? "visapult", name ?? "field", String(step ?? 0)];
  return `${[...parts, ...(withLabels ? [] : ["plain"])].join("-")}.png`;
}

/** What is written on a picture: the source, and which of its steps. */
export function captionWords(source: string, step: string): string {
  return step === "" ? source : `${source} \u00b7 ${step}`;
}
