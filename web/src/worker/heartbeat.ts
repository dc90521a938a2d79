/** How often it is looked at whether something has come. */
const BEAT_MS = 5000;
/** Beats without a word after which a server does not answer; the first asks it. */
const SILENT_BEATS = 3;
/** Beats without a word after which a connection counts as lost: one that leads nowhere any more stays open for many minutes. */
const LOST_BEATS = 12;

export interface HeartbeatEvents {
  /** Asks the server for a word. */
  ask(): void;
  /** Whether it answers has changed. */
  onSilence(isSilent: boolean): void;
  onLost(): void;
}

/** Finds out that a server does not answer, which a browser does not tell while a connection is open. Beats are counted: a page that sleeps misses none. */
export class Heartbeat {
  readonly #events: HeartbeatEvents;
  #timer: ReturnType<typeof setInterval> | null = null;
  #beats = 0;

  constructor(events: HeartbeatEvents) {
    this.#events = events;
  }

  begin(): void {
    this.end();
    this.#timer = setInterval(() => this.#beat(), BEAT_MS);
  }

  end(): void {
    if (this.#timer !== null) clearInterval(this.#timer);
    this.#timer = null;
    this.#beats = 0;
  }

  /** Something has come. */
  hear(): void {
    const wasSilent = this.#beats >= SILENT_BEATS;
    this.#beats = 0;
    if (wasSilent) this.#events.onSilence(false);
  }

  #beat(): void {
    this.#beats += 1;
    this.#events.ask();
    if (this.#beats === SILENT_BEATS) this.#events.onSilence(true);
    if (this.#beats === LOST_BEATS) this.#events.onLost();
  }
}
