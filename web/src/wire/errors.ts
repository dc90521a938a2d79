/** A message that breaks the rules of its kind: says what was wrong and where. */
export class WireError extends Error {
  override readonly name = "WireError";
}
