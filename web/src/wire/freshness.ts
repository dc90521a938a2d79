import { WireError } from "./errors";
import { asObject, type Json } from "./json";

/** How much of a step that was received is its own; what did not come keeps the values of the step before. */
export interface FreshnessMessage {
  readonly kind: "freshness";
  readonly step: number;
  /** Share of the values, 0 to 1. */
  readonly fresh: number;
  /** Since all of it had come, when the message was sent. */
  readonly ageMs: number;
  readonly ranks: number;
  /** Ranks that are not there now, or of which nothing is in the step. */
  readonly missing: number;
  /** The first of these. */
  readonly parts: readonly MissingPart[];
  /** Why a program is not taken that has come since the last rank left. */
  readonly refused: string | null;
}

export interface MissingPart {
  readonly rank: number;
  /** The step that its part is of; `null` if it never came. */
  readonly step: number | null;
}

const MOST_PARTS = 16;

export function parseFreshness(json: Json): FreshnessMessage {
  const parts = json.list("parts", MOST_PARTS);
  const fresh = json.number("fresh");
  if (!(fresh >= 0 && fresh <= 1)) throw new WireError(`a share of ${fresh} is fresh`);
  return {
    kind: "freshness",
    step: json.integer("step", 0),
    fresh,
    ageMs: json.number("age_ms"),
    refused: json.isNull("refused") ? null : json.sentence("refused"),
    ranks: json.integer("ranks", 0),
    missing: json.integer("missing", parts.length),
    parts: parts.map((item) => {
      const part = asObject(item, "missing part");
      return { rank: part.integer("rank", 0), step: part.isNull("step") ? null : part.integer("step", 0) };
    }),
  };
}
