/** How values lie along a range: by themselves, or by their common logarithms where they span decades. */
export type Scale = "linear" | "logarithmic";

/** The field's own value at a place of a scale. */
export function valueAt(place: number, scale: Scale): number {
  return scale === "logarithmic" ? 10 ** place : place;
}

/** Where a value of the field lies on a scale; not finite for what a logarithmic one does not hold. */
export function placeOf(value: number, scale: Scale): number {
  return scale === "logarithmic" ? Math.log10(value) : value;
}
