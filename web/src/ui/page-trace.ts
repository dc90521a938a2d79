import {
  type ClockMessage,
  type EventsMessage,
  encodeClock,
  encodeLifelines,
  encodeStamps,
  MOST_STAMPS,
  type StageEvent,
} from "../wire/index";
import { type LifelinesShown, LifelinesState } from "./lifelines-state";
import { PageStamps } from "./page-stamps";
import { ServerClock } from "./server-clock";

const TICK_MS = 250;
/** The first questions for the time follow each other at every tick, later ones at every eighth. */
const FIRST_QUESTIONS = 8;

/** The page's part in lifelines: stamps what it does, finds the server's clock, tells the server if it records, and keeps what is shown. */
export class PageTrace {
  readonly #tell: (message: Uint8Array<ArrayBuffer>) => boolean;
  readonly #clock = new ServerClock();
  readonly #stamps = new PageStamps();
  readonly #lines = new LifelinesState();
  /** In the page's time, until the server's is known. */
  #pending: StageEvent[] = [];
  #isRecorded = false;
  #isWatched = false;
  #ticks = 0;
  #timer: ReturnType<typeof setInterval> | null = null;

  /** `tell` sends a control message; false where there is no session. */
  constructor(tell: (message: Uint8Array<ArrayBuffer>) => boolean) {
    this.#tell = tell;
  }

  /** A session has begun; `isRecorded`: its server writes a trace and wants the page's stamps. */
  begin(isRecorded: boolean): void {
    this.#isRecorded = isRecorded;
    this.#clock.forget();
    this.#stamps.clear();
    this.#lines.clear();
    this.#pending = [];
    if (this.#isWatched) this.#tell(encodeLifelines(true));
    this.#run();
  }

  /** Whether somebody looks at the lifelines. */
  watch(on: boolean): void {
    this.#isWatched = on;
    this.#lines.clear();
    this.#tell(encodeLifelines(on));
    this.#run();
  }

  /** A message with a part of `step` has come at `at` (milliseconds since 1970) and is taken in now. */
  part(step: number, at: number, bytes: number): void {
    if (this.#timer === null) return;
    const now = performance.now();
    this.#stamps.part(step, Math.min(now, at - performance.timeOrigin), now, bytes);
  }

  frame(step: number | null): void {
    if (this.#timer === null) return;
    this.#pending.push(...this.#stamps.frame(step, performance.now()));
    if (this.#pending.length > MOST_STAMPS) this.#pending.splice(0, this.#pending.length - MOST_STAMPS);
  }

  receive(message: ClockMessage | EventsMessage): void {
    if (message.kind === "clock") this.#clock.add(message, performance.now());
    else this.#lines.receive(message);
  }

  shown(): LifelinesShown | null {
    return this.#lines.shown();
  }

  #run(): void {
    const isNeeded = this.#isRecorded || this.#isWatched;
    if (isNeeded === (this.#timer !== null)) return;
    if (this.#timer !== null) clearInterval(this.#timer);
    this.#timer = isNeeded ? setInterval(() => this.#tick(), TICK_MS) : null;
    this.#ticks = 0;
    if (isNeeded) this.#tick();
  }

  #tick(): void {
    if (this.#ticks < FIRST_QUESTIONS || this.#ticks % FIRST_QUESTIONS === 0)
      this.#tell(encodeClock(performance.now()));
    this.#ticks += 1;
    const { offsetMs } = this.#clock;
    if (offsetMs === null || this.#pending.length === 0) return;
    const events = this.#pending.map((event) => {
      return { ...event, startMs: event.startMs + offsetMs, endMs: event.endMs + offsetMs };
    });
    this.#pending = [];
    if (this.#isRecorded) this.#tell(encodeStamps(events));
    for (const event of events) this.#lines.add(event);
  }
}
