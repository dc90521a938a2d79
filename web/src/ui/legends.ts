import type { LegendWords } from "../render/index";
import { type FieldInfo, linearField, withUnit } from "../wire/index";
import { scaleOf } from "./scales";

/** What the legend of each field says; that of a logarithm tells the field itself, on the other scale. */
export function legendsOf(fields: readonly FieldInfo[]): readonly LegendWords[] {
  return fields.map((_, field) => ({
    title: withUnit(fields[linearField(fields, field)]),
    scale: scaleOf(fields, field),
  }));
}
