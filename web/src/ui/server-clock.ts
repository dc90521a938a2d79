import type { ClockMessage } from "../wire/index";

/** Answers among which the one with the least delay counts: queues come and go within them, the drift of clocks does not. */
const WINDOW = 16;

/** How far the server's clock is ahead of this page's: four time stamps, the exchange with the least delay (RFC 5905, section 8). */
export class ServerClock {
  #samples: { readonly offsetMs: number; readonly delayMs: number }[] = [];

  forget(): void {
    this.#samples = [];
  }

  /** Takes an answer that came at `nowMs` into account; times that contradict themselves are passed over. */
  add({ askedMs, heardMs, answeredMs }: ClockMessage, nowMs: number): void {
    const delayMs = nowMs - askedMs - (answeredMs - heardMs);
    if (!(delayMs >= 0 && answeredMs >= heardMs)) return;
    this.#samples.push({ offsetMs: (heardMs - askedMs + answeredMs - nowMs) / 2, delayMs });
    if (this.#samples.length > WINDOW) this.#samples.shift();
  }

  /** The server's time minus the page's; `null` while it is not known. */
  get offsetMs(): number | null {
    if (this.#samples.length === 0) return null;
    return this.#samples.reduce((best, sample) => (sample.delayMs <= best.delayMs ? sample : best)).offsetMs;
  }
}
