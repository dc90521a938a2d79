import {
  isolated,
  type LoggedAction,
  type Parameter,
  printable,
  type SteerAction,
  type SteeringMessage,
} from "../wire/index";
import type { Absence } from "./freshness";
import { commaWords, numberOf } from "./numbers";

/** What the controls show of a simulation that can be steered. */
export interface SteeringShown {
  readonly parameters: readonly ShownParameter[];
  readonly state: SteeringMessage["state"] | "gone";
  /** Whether this page may ask for anything, or only watch. */
  readonly maySteer: boolean;
  /** In words: the state, and what has been asked for and not happened yet. */
  readonly stateWords: string;
  /** The newest first. */
  readonly log: readonly ShownAction[];
}

export interface ShownParameter extends Parameter {
  /** What has been asked for, and not been taken yet. */
  readonly pending: number | null;
}

export interface ShownAction {
  /** The same for the same action in later messages. */
  readonly key: string;
  readonly time: Date;
  readonly what: string;
  readonly outcome: string;
  readonly isProblem: boolean;
}

interface Asked {
  readonly value: number;
  /** When the newest action was logged that this one comes after. */
  readonly after: number;
}

/** What the server said of the simulation, and what this page has asked for that the server has not logged yet. */
export class SteeringState {
  #message: SteeringMessage | null = null;
  #maySteer = true;
  /** What the log calls this page, now and before connections were lost. */
  readonly #own = new Set<string>();
  readonly #asked = new Map<string, Asked>();

  /** A session has begun; `isSame`: with the same source. */
  begin(session: string, isSame: boolean, maySteer: boolean): void {
    this.#maySteer = maySteer;
    this.#own.add(`page ${session.slice(0, 4)}`);
    this.#asked.clear();
    if (!isSame) this.#message = null;
  }

  receive(message: SteeringMessage): void {
    this.#message = message;
    for (const { what, unixS } of message.log) {
      const asked = what.action === "set" ? this.#asked.get(what.name) : undefined;
      if (what.action === "set" && asked && unixS > asked.after) this.#asked.delete(what.name);
    }
  }

  ask(action: SteerAction): void {
    if (action.action !== "set") return;
    const after = this.#message?.log.at(-1)?.unixS ?? Number.NEGATIVE_INFINITY;
    this.#asked.set(action.name, { value: action.value, after });
  }

  /** The server refused something, or is gone: nothing can be counted on. */
  forget(): void {
    this.#asked.clear();
  }

  /** `null` where there is nothing to steer. */
  shown(absence: Absence | null): SteeringShown | null {
    if (!this.#message) return null;
    const { parameters, log } = this.#message;
    const state = absence?.isWhole && this.#message.state !== "stopped" ? "gone" : this.#message.state;
    return {
      parameters: parameters.map((parameter) => ({ ...parameter, pending: this.#pending(parameter.name) })),
      state,
      maySteer: this.#maySteer,
      stateWords: stateWords(this.#message, absence),
      log: log.map((entry) => this.#shownAction(entry, parameters)).reverse(),
    };
  }

  #pending(name: string): number | null {
    const asked = this.#asked.get(name);
    if (asked) return asked.value;
    const sets = this.#message?.log.filter(({ what }) => what.action === "set" && what.name === name);
    const last = sets?.at(-1);
    return last && isOpen(last) && last.what.action === "set" ? last.what.value : null;
  }

  #shownAction(entry: LoggedAction, parameters: readonly Parameter[]): ShownAction {
    const who = this.#own.has(entry.who) ? "you" : entry.who;
    const { what, at, problem, unixS } = entry;
    const before = at === null ? "asked for" : `before step ${at}`;
    return {
      key: JSON.stringify([unixS, entry.who, what]),
      time: new Date(unixS * 1000),
      what: `${who}: ${actionWords(what, parameters)}`,
      outcome: problem === null ? before : at === null ? problem : `${before}, ${problem}`,
      isProblem: problem !== null,
    };
  }
}

/** Why a parameter does not take what was typed; `null` if it does. */
export function refusal(parameter: Parameter, typed: string): string | null {
  const { kind, least, most } = parameter;
  const name = printable(parameter.name);
  const either = commaWords(typed);
  if (either !== null) return either;
  const value = numberOf(typed);
  if (!Number.isFinite(value)) return `${name} takes a number, not \u201c${typed.trim()}\u201d`;
  if (value < least || value > most) return `${name} takes ${rangeWords(parameter)}, not ${value}`;
  return kind === "integer" && !Number.isInteger(value) ? `${name} takes whole numbers, not ${value}` : null;
}

/** A place on a slider as a value of no more digits than the slider resolves. */
export function sliderValue(place: number, { kind, least, most }: Parameter): number {
  if (kind === "integer" || least === most) return Math.min(most, Math.max(least, Math.round(place)));
  const digits = Math.ceil(-Math.log10((most - least) / 200));
  const rounded = digits > 0 ? Number(place.toFixed(Math.min(100, digits))) : Math.round(place);
  return Math.min(most, Math.max(least, rounded));
}

export function rangeWords({ least, most, unit }: Parameter): string {
  return `${least} to ${most}${unit && ` ${unit}`}`;
}

function isOpen({ at, problem }: LoggedAction): boolean {
  return at === null && problem === null;
}

function stateWords({ state, log }: SteeringMessage, absence: Absence | null): string {
  if (state !== "stopped" && absence?.isWhole) return absence.words;
  const open = log.filter((entry) => entry.what.action !== "set" && isOpen(entry)).at(-1);
  const words = open ? `${state}, asked to ${open.what.action}` : state;
  return state === "stopped" || !absence ? words : `${words}, ${absence.words}`;
}

function actionWords(what: SteerAction, parameters: readonly Parameter[]): string {
  if (what.action !== "set") return what.action === "step" ? "one step" : what.action;
  const unit = parameters.find(({ name }) => name === what.name)?.unit ?? "";
  return `${isolated(printable(what.name))} to ${what.value}${unit && ` ${unit}`}`;
}
