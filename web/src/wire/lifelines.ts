import { asObject, encodeJson, type Json } from "./json";

/** A stage that a step went through, in milliseconds of the server's clock. */
export interface StageEvent {
  readonly stage: string;
  readonly step: number;
  readonly startMs: number;
  readonly endMs: number;
  readonly bytes: number;
}

/** What the server's PEs and this page's session have been doing. */
export interface EventsMessage {
  readonly kind: "events";
  readonly events: readonly StageEvent[];
}

/** The answer to a question for the time: asked and answered by two clocks. */
export interface ClockMessage {
  readonly kind: "clock";
  readonly askedMs: number;
  readonly heardMs: number;
  readonly answeredMs: number;
}

export const MOST_STAMPS = 64;
const MOST_EVENTS = 256;

export function parseClock(json: Json): ClockMessage {
  return {
    kind: "clock",
    askedMs: json.number("asked_ms"),
    heardMs: json.number("heard_ms"),
    answeredMs: json.number("answered_ms"),
  };
}

export function parseEvents(json: Json): EventsMessage {
  const events = json.list("events", MOST_EVENTS).map((item) => {
    const event = asObject(item, "event");
    return {
      stage: event.text("stage"),
      step: event.integer("step", 0),
      startMs: event.number("start_ms"),
      endMs: event.number("end_ms"),
      bytes: event.number("bytes"),
    };
  });
  return { kind: "events", events };
}

/** *Clock*: what time is it? */
export function encodeClock(askedMs: number): Uint8Array<ArrayBuffer> {
  return encodeJson(67, { asked_ms: askedMs });
}

/** *Stamps*: what this page did with the steps it was sent. */
export function encodeStamps(events: readonly StageEvent[]): Uint8Array<ArrayBuffer> {
  const told = events.map(({ stage, step, startMs, endMs, bytes }) => {
    return { stage, step, start_ms: startMs, end_ms: endMs, bytes };
  });
  return encodeJson(68, { events: told });
}

/** *Lifelines*: whether *Events* are wanted. */
export function encodeLifelines(on: boolean): Uint8Array<ArrayBuffer> {
  return encodeJson(69, { on });
}
