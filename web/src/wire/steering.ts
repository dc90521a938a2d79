import { WireError } from "./errors";
import { asObject, encodeJson, type Json } from "./json";

/** A parameter that the page may change while the simulation runs. */
export interface Parameter {
  /** Not always printable: it is what the simulation knows it by. */
  readonly name: string;
  readonly unit: string;
  readonly kind: "number" | "integer";
  readonly least: number;
  readonly most: number;
  readonly value: number;
}

export type SteerAction =
  | { readonly action: "set"; readonly name: string; readonly value: number }
  | { readonly action: "pause" | "resume" | "step" | "stop" };

export interface LoggedAction {
  readonly who: string;
  readonly unixS: number;
  readonly what: SteerAction;
  /** The step before which it took effect on all ranks; `null` while that is not known. */
  readonly at: number | null;
  /** Why it did not take effect, or not as asked. */
  readonly problem: string | null;
}

export interface SteeringMessage {
  readonly kind: "steering";
  readonly parameters: readonly Parameter[];
  readonly state: "running" | "paused" | "stopped";
  /** The newest last. */
  readonly log: readonly LoggedAction[];
}

const MOST_PARAMETERS = 64;
const MOST_LOGGED = 20;

export function parseSteering(json: Json): SteeringMessage {
  return {
    kind: "steering",
    parameters: json.list("parameters", MOST_PARAMETERS).map((item) => parseParameter(asObject(item, "parameter"))),
    state: json.oneOf("state", ["running", "paused", "stopped"]),
    log: json.list("log", MOST_LOGGED).map((item) => parseLogged(asObject(item, "logged action"))),
  };
}

export function encodeSteer(action: SteerAction): Uint8Array<ArrayBuffer> {
  return encodeJson(66, action);
}

function parseParameter(json: Json): Parameter {
  const name = json.text("name");
  const [least, most, value] = [json.number("least"), json.number("most"), json.number("value")];
  if (![least, most, value].every(Number.isFinite) || least > most) {
    throw new WireError(`parameter ${name} is ${value}, from ${least} to ${most}`);
  }
  return { name, unit: json.words("unit"), kind: json.oneOf("kind", ["number", "integer"]), least, most, value };
}

function parseLogged(json: Json): LoggedAction {
  return {
    who: json.words("who"),
    unixS: json.number("unix_s"),
    what: parseAction(json),
    at: json.isNull("at") ? null : json.integer("at", 0),
    problem: json.isNull("problem") ? null : json.sentence("problem"),
  };
}

function parseAction(json: Json): SteerAction {
  const action = json.oneOf("action", ["set", "pause", "resume", "step", "stop"]);
  return action === "set" ? { action, name: json.text("name"), value: json.number("value") } : { action };
}
