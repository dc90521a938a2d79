import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { FromWorker, ToWorker } from "../../src/worker/messages";

class FakeSocket {
  static readonly made: FakeSocket[] = [];
  isClosed = false;
  onopen: (() => void) | null = null;
  onclose: ((event: { reason: string; code: number }) => void) | null = null;
  onmessage: ((event: { data: unknown }) => void) | null = null;
  constructor() {
    FakeSocket.made.push(this);
  }
  send(): void {}
  close(): void {
    this.isClosed = true;
  }
}

interface Scope {
  postMessage(message: FromWorker): void;
  onmessage: ((event: { data: ToWorker }) => Promise<void>) | null;
}

const told: FromWorker[] = [];
const scope: Scope = { postMessage: (message) => told.push(message), onmessage: null };

beforeEach(async () => {
  vi.useFakeTimers();
  vi.stubGlobal("self", scope);
  vi.stubGlobal("WebSocket", FakeSocket);
  vi.resetModules();
  FakeSocket.made.length = told.length = 0;
  await import("../../src/worker/data-worker");
});
afterEach(() => {
  vi.unstubAllGlobals();
  vi.useRealTimers();
});

const ask = (data: ToWorker) => scope.onmessage?.({ data });
const open = (epoch: number) => ask({ type: "open", url: "ws://127.0.0.1/data", epoch, hasSingles: true });

test("a connection that does not open is given up, and that is told", async () => {
  await open(7);
  await vi.advanceTimersByTimeAsync(60_000);
  expect(told).toEqual([{ epoch: 7, type: "closed", reason: "a connection for data does not open" }]);
  expect(FakeSocket.made[0].isClosed).toBe(true);
});

test("one that opens is kept, however long nothing comes over it", async () => {
  await open(7);
  FakeSocket.made[0].onopen?.();
  await vi.advanceTimersByTimeAsync(600_000);
  expect([told, FakeSocket.made[0].isClosed]).toEqual([[], false]);
});

test("one that the server closes because it cannot read what came is not lost, and so it is told", async () => {
  await open(7);
  FakeSocket.made[0].onopen?.();
  FakeSocket.made[0].onclose?.({ code: 1007, reason: "only Acks belong here" });
  expect(told).toEqual([{ epoch: 7, type: "unreadable", by: "program", why: "only Acks belong here" }]);
});

test("where the browser runs no WebAssembly nothing is opened, and that is told", async () => {
  vi.resetModules();
  vi.stubGlobal("WebAssembly", undefined);
  await import("../../src/worker/data-worker");
  await open(7);
  expect(told).toEqual([{ epoch: 7, type: "unreadable", by: "browser", why: "it does not run WebAssembly" }]);
  expect(FakeSocket.made.length).toBe(0);
});

test("of one that was given up for another nothing is told", async () => {
  await open(7);
  await open(8);
  FakeSocket.made[1].onopen?.();
  await vi.advanceTimersByTimeAsync(60_000);
  expect([told, FakeSocket.made.map(({ isClosed }) => isClosed)]).toEqual([[], [true, false]]);
});

test("what cannot be read is told once, and the connection closed", async () => {
  await open(7);
  const [socket] = FakeSocket.made;
  socket.onopen?.();
  for (let time = 0; time < 2; time++) socket.onmessage?.({ data: Uint8Array.of(16, 0, 0).buffer });
  const unreadable = told.filter(({ type }) => type !== "received");
  expect(unreadable).toEqual([{ epoch: 7, type: "unreadable", by: "page", why: expect.stringContaining("bricks") }]);
  expect(socket.isClosed).toBe(true);
});
