import type { Scale } from "../volume/index";
import { type FieldInfo, type FieldMessage, logarithmicField } from "../wire/index";

/** On which a field is seen. */
export function scaleOf(fields: readonly FieldInfo[], field: number): Scale {
  return (fields[field]?.logarithmOf ?? null) === null ? "linear" : "logarithmic";
}

/** Whether the other scale can be chosen, for there are values on it; `null` while that is not known. */
export function offersLogarithm(
  fields: readonly FieldInfo[],
  field: number,
  info: Pick<FieldMessage, "range" | "extent"> | null,
): boolean | null {
  if (logarithmicField(fields, field) === null) return false;
  if (scaleOf(fields, field) === "logarithmic") return true;
  return info && Math.max(info.range?.[1] ?? 0, info.extent?.[1] ?? 0) > 0;
}
