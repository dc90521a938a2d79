import { formatNumber } from "../render/index";
import { type Scale, valueAt } from "../volume/index";
import type { FieldMessage, StepSpan } from "../wire/index";
import { toldApart } from "./numbers";

/** Fewer values than this are seen as steps in a picture. */
const FEW_VALUES = 256;

/** Least and greatest of the largest values of steps that pictures hold. */
const [SMALLEST, LARGEST] = [1e-35, 1e37];

/** What is odd about the values of the step that is shown. */
export function fieldWords(info: FieldMessage | null, { first, last }: StepSpan, scale: Scale): string {
  // What few values tell is not told of all.
  if (!info || info.provisional) return "";
  const where = first === last ? "this field" : "this step";
  const isLogarithmic = scale === "logarithmic";
  // The server reads all types so: values may coincide, or be too large.
  const due = isLogarithmic ? "above 0" : "finite in single precision";
  if (info.range === null || info.finite === 0) return `No value of ${where} is ${due}: there is nothing to draw.`;
  const [lo, hi] = info.extent ?? info.range;
  const value = formatNumber(valueAt(lo, scale));
  if (lo === hi) return `Every value of ${where}${isLogarithmic ? " above 0" : ""} is ${value} in single precision.`;
  const missing = missingWords(info.missing, isLogarithmic);
  const apart = isLogarithmic ? FEW_VALUES : toldApart([lo, hi]);
  const steps =
    apart < FEW_VALUES
      ? `Single precision tells ${apart} values of ${where} apart: steps in the picture may be those.`
      : "";
  return [missing, steps, isLogarithmic ? "" : unfit([lo, hi], where)].filter(Boolean).join(" ");
}

/** The server counts what is infinite, or no number, with what is missing. */
function missingWords(count: number, isLogarithmic: boolean): string {
  if (count === 0) return "";
  const absence = isLogarithmic ? "not above 0, or missing," : "missing or not finite,";
  return `${count.toLocaleString("en")} ${count === 1 ? "value is" : "values are"} ${absence} and drawn transparent.`;
}

/** Why pictures may be wrong of values from `lo` to `hi`. */
function unfit([lo, hi]: readonly [number, number], where: string): string {
  const largest = Math.max(Math.abs(lo), Math.abs(hi));
  if (largest >= SMALLEST && largest <= LARGEST) return "";
  const [what, mend] = largest < SMALLEST ? ["small", "multiply"] : ["large", "divide"];
  return `The values of ${where} are too ${what} for pictures to hold, which may be wrong: ${mend} them, and say so in their unit.`;
}

/** Whether there is nothing in the picture by which one could tell that it is one. */
export function showsNothing(info: FieldMessage | null): boolean {
  return info !== null && (info.extent === null || info.extent[0] === info.extent[1]);
}
