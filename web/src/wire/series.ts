import { asObject, encodeJson, type Json } from "./json";

type Triple = readonly [number, number, number];

/** The value of a place at a step. */
export interface AtStep {
  readonly step: number;
  /** `null` where it is not known. */
  readonly time: number | null;
  /** `null` where it is missing, or cannot be read. */
  readonly value: number | null;
}

/** Values of a place that was asked for, at some of the steps; others follow. */
export interface SeriesMessage {
  readonly kind: "series";
  /** Of the question. */
  readonly number: number;
  readonly field: number;
  /** In no order of steps. */
  readonly values: readonly AtStep[];
  /** How many come in all. */
  readonly of: number;
  readonly isOver: boolean;
  /** Why the first cannot be told of those that cannot be; `null` where all can. */
  readonly problem: string | null;
}

const MOST_VALUES = 4096;

/** *Series*: the values of a place, in samples, at all steps of a field; with `null` what was asked for ends. */
export function encodeAskSeries(number: number, field: number, place: Triple | null): Uint8Array<ArrayBuffer> {
  return encodeJson(71, { number, field, place });
}

export function parseSeries(json: Json): SeriesMessage {
  const values = json.list("values", MOST_VALUES).map((item) => {
    const at = asObject(item, "a value of a series");
    return {
      step: at.integer("step", 0),
      time: at.isNull("time") ? null : at.number("time"),
      value: at.isNull("value") ? null : at.number("value"),
    };
  });
  return {
    kind: "series",
    number: json.integer("number", 0),
    field: json.integer("field", 0),
    values,
    of: json.integer("of", 0),
    isOver: json.flag("is_over"),
    problem: json.isNull("problem") ? null : json.sentence("problem"),
  };
}
