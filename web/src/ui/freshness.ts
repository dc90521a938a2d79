import type { FreshnessMessage, MissingPart } from "../wire/index";

/** What the page says of how fresh a step is. */
export interface FreshnessShown {
  readonly ageMs: number;
  readonly share: string;
  /** Empty where all of it is fresh. */
  readonly words: string;
  /** Empty where no rank is missing. */
  readonly missing: string;
}

/** That ranks of a simulation are not there. */
export interface Absence {
  /** None is: nothing comes, and nothing can be asked. */
  readonly isWhole: boolean;
  readonly words: string;
}

/** Steps that are remembered: the one on the screen, and those that are on their way to it, which may be many megabytes. */
const MOST_STEPS = 64;

/** What the server said of the latest steps. */
export class FreshnessState {
  readonly #told = new Map<number, { readonly message: FreshnessMessage; readonly at: number }>();

  /** What was said last: ranks come and go, whatever step is shown. */
  #last: FreshnessMessage | null = null;
  #newestStep = 0;

  clear(): void {
    this.#told.clear();
    this.#last = null;
    this.#newestStep = 0;
  }

  /** `null` where all ranks are there, or nothing was said of them; `lastStep`: that there is. */
  absence(lastStep: number): Absence | null {
    if (this.#last === null || this.#last.missing === 0) return null;
    const { step, ranks, missing } = this.#last;
    if (missing >= ranks) return { isWhole: true, words: `gone, last step ${lastStep}` };
    // What an older step is without may be there by now.
    return step < this.#newestStep ? null : { isWhole: false, words: `${missing} of ${ranks} ranks missing` };
  }

  receive(message: FreshnessMessage, now: number): void {
    this.#last = message;
    this.#newestStep = Math.max(this.#newestStep, message.step);
    this.#told.delete(message.step);
    this.#told.set(message.step, { message, at: now });
    const [oldest] = this.#told.keys();
    if (this.#told.size > MOST_STEPS && oldest !== undefined) this.#told.delete(oldest);
  }

  /** `null` where nothing was said, as of a file that is read. */
  of(step: number | null, now: number): FreshnessShown | null {
    const told = step === null ? undefined : this.#told.get(step);
    if (!told) return null;
    const { message, at } = told;
    const share = `${percent(message.fresh)} of this step`;
    const missing = missingWords(message);
    const words = missing === "" && message.fresh < 1 ? `${share}, the rest from the last` : "";
    return { ageMs: message.ageMs + now - at, share, words, missing };
  }
}

/** Never rounded up to all of it. */
function percent(share: number): string {
  return share === 1 ? "100 %" : `${(Math.floor(share * 1000) / 10).toFixed(1)} %`;
}

function missingWords(message: FreshnessMessage): string {
  const absent = absentWords(message);
  return absent && message.refused
    ? `${absent}. A program that has come since is not shown: ${message.refused}`
    : absent;
}

function absentWords({ ranks, missing, parts }: FreshnessMessage): string {
  if (missing === 0) return "";
  const told = parts.map(({ rank }) => String(rank));
  const names = missing > told.length ? [...told, `${missing - told.length} more`] : told;
  const one = missing === 1;
  const who = one ? `rank ${names[0]} of ${ranks} is` : `ranks ${listed(names)} of ${ranks} are`;
  return `${who} missing: ${one ? "its part" : "their parts"} ${partWords(parts, one)}`;
}

function partWords(parts: readonly MissingPart[], one: boolean): string {
  const steps = parts.flatMap(({ step }) => (step === null ? [] : [step]));
  if (steps.length === 0) return "never came";
  const [oldest, newest] = [Math.min(...steps), Math.max(...steps)];
  return `${one ? "is" : "are"} of ${oldest === newest ? `step ${oldest}` : `steps ${oldest} to ${newest}`}`;
}

function listed(names: readonly string[]): string {
  return `${names.slice(0, -1).join(", ")} and ${names[names.length - 1]}`;
}
