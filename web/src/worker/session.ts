import {
  type ControlMessage,
  encodeClock,
  encodeSteer,
  encodeView,
  parseControl,
  type SteerAction,
  type ViewMessage,
  WireError,
} from "../wire/index";
import { Heartbeat } from "./heartbeat";
import { type Arrival, type BulkPart, type FromWorker, type Reader, type ToWorker, UNREADABLE } from "./messages";

type Welcome = Extract<ControlMessage, { kind: "welcome" }>;

export type ConnectionState =
  /** `before`: how it was lost, or refused, before, if it was. */
  | { readonly kind: "connecting"; readonly before: Lost | Refused | null }
  | { readonly kind: "open" }
  /** It is open, and nothing has come over it for a while, whatever was asked. */
  | { readonly kind: "silent" }
  | Refused
  | Lost
  | Unreadable;

/** The server is there, and does not let this page in, for a reason that it may have told. */
export interface Refused {
  readonly kind: "refused";
  readonly reason: string;
}

/** One end says what the other cannot read, and would again: the server is left alone. */
export interface Unreadable {
  readonly kind: "unreadable";
  readonly by: Reader;
  readonly why: string;
}

export interface Lost {
  readonly kind: "lost";
  readonly reason: string;
  readonly attempt: number;
  readonly retryAt: number;
}

export interface SessionEvents {
  onState(state: ConnectionState): void;
  /** A session has begun; everything known of an earlier one (sets, sequences acknowledged) is void. */
  onWelcome(welcome: Welcome): void;
  onControl(message: Exclude<ControlMessage, Welcome>): void;
  /** `group`: of the connection that it came over. */
  onPart(part: BulkPart, group: number, arrival: Arrival): void;
  onReceived(bytes: number): void;
}

const FORBIDDEN = 403;
const NO_ANSWER = "the server does not answer";
const CLOSED = "it was closed";
const NO_WORKER = "a part of this page did not come";
const ANSWER_WITHIN_MS = 2000;
/** A connection that is not open by then may lead nowhere, as through a tunnel whose other end is gone: a browser would wait for minutes, or for ever. */
const OPEN_WITHIN_MS = 15_000;
const FIRST_RETRY_MS = 300;
const LONGEST_RETRY_MS = 4000;
/** The reason may be over by then, as when another server was there for a while. */
const RETRY_REFUSED_MS = 30_000;
/** Of a reason that the server told. */
const MOST_LETTERS = 200;
/** Workers that load while the server is asked how many it wants. */
const USUAL_GROUPS = 2;
/** At most 30 views a second go to the server. */
const VIEW_INTERVAL_MS = 34;

/** The page's connections to the server: one for control, one worker per group; opened again when any of them is lost. */
export class Session {
  readonly #base: URL;
  readonly #token: string;
  readonly #hasSingles: boolean;
  readonly #events: SessionEvents;
  #socket: WebSocket | null = null;
  #workers: Worker[] = [];
  #epoch = 0;
  /** Since a view was last answered: a server that closes the connection for what it is asked would be asked for ever at once. */
  #attempt = 0;
  #welcomed = false;
  #view: ViewMessage | null = null;
  #viewTimer: ReturnType<typeof setTimeout> | null = null;
  #sentAt = 0;
  #retryTimer: ReturnType<typeof setTimeout> | null = null;
  #before: Lost | Refused | null = null;
  readonly #heartbeat = new Heartbeat({
    ask: () => this.tell(encodeClock(performance.now())),
    onSilence: (isSilent) => this.#events.onState({ kind: isSilent ? "silent" : "open" }),
    onLost: () => this.#lose(NO_ANSWER),
  });

  /** `base`: the page's URL; the sockets are beside it. `hasSingles`: the page draws from textures of 32-bit floats. */
  constructor(base: URL, token: string, hasSingles: boolean, events: SessionEvents) {
    this.#base = base;
    this.#token = token;
    this.#hasSingles = hasSingles;
    this.#events = events;
  }

  connect(): void {
    if (this.#retryTimer !== null) clearTimeout(this.#retryTimer);
    this.#retryTimer = null;
    this.#events.onState({ kind: "connecting", before: this.#before });
    const socket = new WebSocket(this.#url("session", {}));
    socket.binaryType = "arraybuffer";
    this.#socket = socket;
    this.#startWorkers(USUAL_GROUPS);
    socket.onmessage = ({ data }: MessageEvent<unknown>) => {
      if (socket === this.#socket) this.#receive(data);
    };
    let wasOpen = false;
    const giveUp = setTimeout(() => {
      if (socket === this.#socket) this.#lose(NO_ANSWER);
    }, OPEN_WITHIN_MS);
    socket.onopen = () => {
      wasOpen = true;
      clearTimeout(giveUp);
    };
    socket.onclose = async ({ code, reason }) => {
      clearTimeout(giveUp);
      if (socket !== this.#socket) return;
      if (code === UNREADABLE) return this.#giveUp("program", reason);
      const refused = wasOpen ? null : await this.#refusal();
      if (socket !== this.#socket) return;
      if (refused) this.#refuse(refused);
      else this.#lose(reason || (wasOpen ? CLOSED : NO_ANSWER));
    };
  }

  /** Sends the newest view, now or as soon as the rate allows. */
  send(view: ViewMessage): void {
    this.#view = view;
    if (this.#viewTimer !== null) return;
    const wait = Math.max(0, this.#sentAt + VIEW_INTERVAL_MS - performance.now());
    this.#viewTimer = setTimeout(() => {
      this.#viewTimer = null;
      this.#flush();
    }, wait);
  }

  /** Asks something of the simulation; whether it could be asked. */
  steer(action: SteerAction): boolean {
    return this.tell(encodeSteer(action));
  }

  /** Sends a control message; whether there is a session to send it to. */
  tell(message: Uint8Array<ArrayBuffer>): boolean {
    if (!this.#welcomed || this.#socket?.readyState !== WebSocket.OPEN) return false;
    this.#socket.send(message);
    return true;
  }

  #flush(): void {
    if (this.#view === null || !this.#welcomed || this.#socket?.readyState !== WebSocket.OPEN) return;
    this.#sentAt = performance.now();
    this.#socket.send(encodeView(this.#view));
  }

  #receive(data: unknown): void {
    try {
      if (!(data instanceof ArrayBuffer)) throw new WireError("a text message on the session");
      const message = parseControl(new Uint8Array(data));
      this.#heartbeat.hear();
      if (message === null) return;
      if (message.kind !== "welcome") {
        if (answersView(message)) this.#attempt = 0;
        return this.#events.onControl(message);
      }
      this.#welcomed = true;
      this.#before = null;
      this.#heartbeat.begin();
      this.#epoch += 1;
      this.#openData(message);
      this.#events.onState({ kind: "open" });
      this.#events.onWelcome(message);
      this.#flush();
    } catch (error) {
      this.#giveUp("page", error instanceof WireError ? error.message : String(error));
    }
  }

  #openData(welcome: Welcome): void {
    while (this.#workers.length > welcome.groups) this.#workers.pop()?.terminate();
    this.#startWorkers(welcome.groups);
    this.#workers.forEach((worker, group) => {
      const url = this.#url("data", { session: welcome.session, group: String(group) });
      const hasSingles = this.#hasSingles;
      worker.postMessage({ type: "open", url, epoch: this.#epoch, hasSingles } satisfies ToWorker);
    });
  }

  #startWorkers(count: number): void {
    while (this.#workers.length < count) this.#workers.push(this.#startWorker());
  }

  #startWorker(): Worker {
    const worker = new Worker(new URL("./data-worker.ts", import.meta.url), { type: "module" });
    worker.onmessage = ({ data }: MessageEvent<FromWorker>) => {
      if (!this.#welcomed || data.epoch !== this.#epoch) return;
      if (data.type === "part" || data.type === "received") this.#heartbeat.hear();
      switch (data.type) {
        case "part":
          this.#attempt = 0;
          return this.#events.onPart(data.part, this.#workers.indexOf(worker), data.arrival);
        case "received":
          return this.#events.onReceived(data.bytes);
        case "closed":
          return this.#lose(data.reason);
        case "unreadable":
          return this.#giveUp(data.by, data.why);
      }
    };
    worker.onerror = () => this.#replace(worker);
    return worker;
  }

  /** Its script did not come, as when the server was gone just then: it opens nothing, and the next connection starts another one. */
  #replace(worker: Worker): void {
    worker.terminate();
    this.#workers = this.#workers.filter((other) => other !== worker);
    if (this.#welcomed) this.#lose(NO_WORKER);
  }

  /** A WebSocket does not tell why it was not opened; an ordinary request for the same is answered. */
  async #refusal(): Promise<Refused | null> {
    const url = new URL(this.#url("session", {}));
    url.protocol = this.#base.protocol;
    try {
      const options: RequestInit = { cache: "no-store", signal: AbortSignal.timeout(ANSWER_WITHIN_MS) };
      const answer = await fetch(url, options);
      if (answer.status !== FORBIDDEN) return null;
      // What stands between page and server may refuse with a page of its own.
      const isPlain = answer.headers.get("content-type")?.startsWith("text/plain");
      return { kind: "refused", reason: isPlain ? (await answer.text()).trim().slice(0, MOST_LETTERS) : "" };
    } catch {
      return null;
    }
  }

  #refuse(refused: Refused): void {
    this.#close();
    this.#retry(refused, RETRY_REFUSED_MS);
  }

  #giveUp(by: Reader, why: string): void {
    this.#close();
    this.#events.onState({ kind: "unreadable", by, why });
  }

  #close(): void {
    const socket = this.#socket;
    this.#socket = null;
    this.#welcomed = false;
    this.#heartbeat.end();
    socket?.close();
    for (const worker of this.#workers) worker.postMessage({ type: "close" } satisfies ToWorker);
  }

  #lose(reason: string): void {
    this.#close();
    this.#attempt += 1;
    const wait = Math.min(LONGEST_RETRY_MS, FIRST_RETRY_MS * 2 ** (this.#attempt - 1));
    this.#retry({ kind: "lost", reason, attempt: this.#attempt, retryAt: performance.now() + wait }, wait);
  }

  #retry(before: Lost | Refused, wait: number): void {
    this.#before = before;
    this.#events.onState(before);
    this.#retryTimer = setTimeout(() => this.connect(), wait);
  }

  #url(path: string, more: Readonly<Record<string, string>>): string {
    const url = new URL(path, this.#base);
    url.protocol = this.#base.protocol === "https:" ? "wss:" : "ws:";
    url.search = new URLSearchParams({ token: this.#token, ...more }).toString();
    url.hash = "";
    return url.href;
  }
}

/** Other messages come whatever is asked for. */
function answersView(message: ControlMessage): boolean {
  const { kind } = message;
  return kind === "plan" || kind === "field" || (kind === "notice" && message.failed !== null);
}
