import { asTuple3, encodeJson, type Json } from "./json";
import type { KeyCamera } from "./slabs";

type Triple = readonly [number, number, number];

/** Where a value is asked for: where a ray of a picture shows most, or at a place of the grid. */
export type Spot =
  | {
      readonly ray: {
        readonly camera: KeyCamera;
        /** Width over height. */
        readonly aspect: number;
        /** In shares of the picture's width and height, from its upper left corner. */
        readonly at: readonly [number, number];
      };
    }
  | {
      /** Sample coordinates. */
      readonly place: Triple;
    };

/** A value that was asked for. */
export interface PickedMessage {
  readonly kind: "picked";
  /** Of the question. */
  readonly number: number;
  readonly field: number;
  readonly step: number;
  /** Of the step; `null` where it is not known. */
  readonly time: number | null;
  /** Sample coordinates; `null` where nothing shows, or it cannot be told. */
  readonly place: Triple | null;
  /** `null` where it is missing. */
  readonly value: number | null;
  /** Why it cannot be told; `null` where it can. */
  readonly problem: string | null;
}

export function encodePick(number: number, spot: Spot): Uint8Array<ArrayBuffer> {
  return encodeJson(70, { number, ...spot });
}

export function parsePicked(json: Json): PickedMessage {
  const found = json.isNull("picked") ? null : json.child("picked");
  return {
    kind: "picked",
    number: json.integer("number", 0),
    field: json.integer("field", 0),
    step: json.integer("step", 0),
    time: json.isNull("time") ? null : json.number("time"),
    place: found && asTuple3(found.numbers("place"), "a place that was asked for"),
    value: found === null || found.isNull("value") ? null : found.number("value"),
    problem: json.isNull("problem") ? null : json.sentence("problem"),
  };
}
