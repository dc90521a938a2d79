import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { PROTOCOL_VERSION } from "../../src/wire/index";
import type { FromWorker, ToWorker } from "../../src/worker/messages";
import { type ConnectionState, type Lost, Session } from "../../src/worker/session";

const WELCOME = {
  protocol: PROTOCOL_VERSION,
  server: "visapult",
  session: "s",
  groups: 1,
  steers: false,
  trace: false,
  source: {
    name: "run",
    format: "npy",
    live: false,
    time_unit: "",
    calendar: "",
    grid: { size: [4, 4, 4], spacing: [1, 1, 1], origin: [0, 0, 0], unit: "", centering: "point" },
    along: [null, null, null],
    fields: [{ name: "p", unit: "" }],
  },
  steps: { first: 0, last: 0 },
};
const PLAN = { view: 1, proxy: "bricks", level: 0, bits: 8, reason: "", throughput_bps: 0, bytes: 0 };

/** A control message as it comes: its kind, and JSON. */
function message(kind: number, content: unknown): ArrayBuffer {
  const json = new TextEncoder().encode(JSON.stringify(content));
  const bytes = new Uint8Array(json.length + 1);
  bytes[0] = kind;
  bytes.set(json, 1);
  return bytes.buffer;
}

class FakeSocket {
  static readonly OPEN = 1;
  static readonly opened: FakeSocket[] = [];
  readyState = FakeSocket.OPEN;
  onopen: (() => void) | null = null;
  onmessage: ((event: { data: unknown }) => void) | null = null;
  onclose: ((event: { code?: number; reason: string }) => void) | null = null;
  constructor() {
    FakeSocket.opened.push(this);
  }
  send(): void {}
  close(): void {}
}

class FakeWorker {
  static readonly running: FakeWorker[] = [];
  readonly told: string[] = [];
  onerror: (() => void) | null = null;
  onmessage: ((event: { data: FromWorker }) => void) | null = null;
  constructor() {
    FakeWorker.running.push(this);
  }
  postMessage({ type }: ToWorker): void {
    this.told.push(type);
  }
  terminate(): void {
    FakeWorker.running.splice(FakeWorker.running.indexOf(this), 1);
  }
}

beforeEach(() => {
  vi.useFakeTimers();
  FakeSocket.opened.length = 0;
  FakeWorker.running.length = 0;
  vi.stubGlobal("WebSocket", FakeSocket);
  vi.stubGlobal("Worker", FakeWorker);
});
afterEach(() => {
  vi.unstubAllGlobals();
  vi.useRealTimers();
});

/** A page's session begins; how it is lost, each time. */
function begin(): Lost[] {
  const lost: Lost[] = [];
  start((state) => {
    if (state.kind === "lost") lost.push(state);
  });
  return lost;
}

function start(onState: (state: ConnectionState) => void): void {
  const session = new Session(new URL("http://127.0.0.1:7420/"), "t", true, {
    onState,
    onWelcome: () => {},
    onControl: () => {},
    onPart: () => {},
    onReceived: () => {},
  });
  session.connect();
}

/** How long a page waited each time that its server welcomed it, said `then` and closed the connection. */
async function waits(then: readonly ArrayBuffer[], times: number): Promise<number[]> {
  const lost = begin();
  const waited: number[] = [];
  for (let time = 0; time < times; time++) {
    const socket = FakeSocket.opened[time];
    socket.onopen?.();
    for (const data of [message(1, WELCOME), ...then]) socket.onmessage?.({ data });
    socket.onclose?.({ reason: "" });
    await vi.advanceTimersByTimeAsync(0);
    waited.push(Math.round(lost[time].retryAt - performance.now()));
    await vi.advanceTimersByTimeAsync(10_000);
  }
  expect(lost.map(({ reason }) => reason)).toEqual(lost.map(() => "it was closed"));
  return waited;
}

test("a server that welcomes the page and refuses its view is asked again ever less often", async () => {
  expect(await waits([message(2, { first: 0, last: 0 })], 6)).toEqual([300, 600, 1200, 2400, 4000, 4000]);
});

test("one that answered the view is asked again at once", async () => {
  expect(await waits([message(4, PLAN)], 3)).toEqual([300, 300, 300]);
});

test("a connection that does not open is given up and tried again, with how the last one was lost", async () => {
  const states: ConnectionState[] = [];
  start((state) => states.push(state));
  await vi.advanceTimersByTimeAsync(60_000);
  const [first, lost, again] = states;
  expect(first).toEqual({ kind: "connecting", before: null });
  expect(lost).toMatchObject({ kind: "lost", reason: "the server does not answer", attempt: 1 });
  expect(again).toEqual({ kind: "connecting", before: lost });
  expect(FakeSocket.opened.length).toBeGreaterThan(2);
});

/** What the server answers to whoever asks why a connection was not opened. */
const answers = (status: number, type: string, words: string) =>
  vi.stubGlobal("fetch", async () => new Response(words, { status, headers: { "content-type": type } }));

test("a server that does not let the page in is asked again, rarely, and its reason told meanwhile", async () => {
  const states: ConnectionState[] = [];
  start((state) => states.push(state));
  answers(403, "text/plain; charset=utf-8", "wrong or missing token\n");
  FakeSocket.opened[0].onclose?.({ reason: "" });
  await vi.advanceTimersByTimeAsync(20_000);
  const refused = { kind: "refused", reason: "wrong or missing token" };
  expect([states.slice(1), FakeSocket.opened.length]).toEqual([[refused], 1]);
  await vi.advanceTimersByTimeAsync(10_000);
  expect([states.at(-1), FakeSocket.opened.length]).toEqual([{ kind: "connecting", before: refused }, 2]);
  answers(403, "text/html", "<h1>Blocked</h1>");
  FakeSocket.opened[1].onclose?.({ reason: "" });
  await vi.advanceTimersByTimeAsync(0);
  expect(states.at(-1)).toEqual({ kind: "refused", reason: "" });
  await vi.advanceTimersByTimeAsync(30_000);
  FakeSocket.opened[2].onopen?.();
  welcome(1);
  expect(states.at(-1)).toEqual({ kind: "open" });
});

test("what a page cannot read of the data is told once, and the server is left alone", async () => {
  const states: ConnectionState[] = [];
  start((state) => states.push(state));
  welcome(2);
  const [worker, other] = FakeWorker.running;
  const why = "brick 0: 20 bytes where 30 are due";
  for (const { onmessage } of [worker, other]) onmessage?.({ data: { epoch: 1, type: "unreadable", by: "page", why } });
  await vi.advanceTimersByTimeAsync(600_000);
  expect(states.slice(2)).toEqual([{ kind: "unreadable", by: "page", why }]);
  expect([FakeSocket.opened.length, worker.told, other.told]).toEqual([1, ["open", "close"], ["open", "close"]]);
});

test("a server that cannot read what the page says is left alone, and that is told", async () => {
  const states: ConnectionState[] = [];
  start((state) => states.push(state));
  FakeSocket.opened[0].onopen?.();
  welcome(1);
  FakeSocket.opened[0].onclose?.({ code: 1007, reason: "View: unknown proxy" });
  await vi.advanceTimersByTimeAsync(600_000);
  expect(states.at(-1)).toEqual({ kind: "unreadable", by: "program", why: "View: unknown proxy" });
  expect(FakeSocket.opened.length).toBe(1);
});

test.each([
  ["a server of another version", message(1, { ...WELCOME, protocol: PROTOCOL_VERSION + 1 }), /protocol/],
  ["one that welcomes in other words", message(1, { protocol: PROTOCOL_VERSION }), /"server" is undefined/],
  ["one that sends text", "welcome", /text/],
])("%s is left alone, and what could not be read is told", async (_, data, why) => {
  const states: ConnectionState[] = [];
  start((state) => states.push(state));
  FakeSocket.opened[0].onopen?.();
  FakeSocket.opened[0].onmessage?.({ data });
  await vi.advanceTimersByTimeAsync(600_000);
  expect(states.slice(1)).toEqual([{ kind: "unreadable", by: "page", why: expect.stringMatching(why) }]);
  expect(FakeSocket.opened.length).toBe(1);
});

test("one that opens is waited for, however long the server has nothing to show", async () => {
  const lost = begin();
  FakeSocket.opened[0].onopen?.();
  await vi.advanceTimersByTimeAsync(600_000);
  expect(lost).toEqual([]);
});

/** The newest connection is opened, and the server welcomes the page to so many groups. */
function welcome(groups: number): void {
  FakeSocket.opened.at(-1)?.onmessage?.({ data: message(1, { ...WELCOME, groups }) });
}

const told = () => FakeWorker.running.map((worker) => worker.told);

test("a worker that could not be loaded while the server was gone is not asked to open a connection", () => {
  begin();
  const [, failed] = FakeWorker.running;
  failed.onerror?.();
  welcome(2);
  expect([failed.told, told()]).toEqual([[], [["open"], ["open"]]]);
});

test("one that cannot be loaded when it is needed is loaded anew with the next connection", async () => {
  const lost = begin();
  welcome(3);
  FakeWorker.running[2].onerror?.();
  expect(lost.map(({ reason }) => reason)).toEqual(["a part of this page did not come"]);
  await vi.advanceTimersByTimeAsync(1000);
  welcome(3);
  expect(told()).toEqual([["open", "close", "open"], ["open", "close", "open"], ["open"]]);
});
