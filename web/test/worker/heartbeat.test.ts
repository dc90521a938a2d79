import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { Heartbeat } from "../../src/worker/heartbeat";

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

/** A heartbeat, and what became of it; a server answers each question while `answers`. */
function watched() {
  const told: string[] = [];
  const server = { answers: true };
  const heartbeat: Heartbeat = new Heartbeat({
    ask: () => {
      if (server.answers) heartbeat.hear();
    },
    onSilence: (isSilent) => told.push(isSilent ? "silent" : "heard"),
    onLost: () => {
      heartbeat.end();
      told.push("lost");
    },
  });
  heartbeat.begin();
  return { told, server, heartbeat };
}

test("a server that answers is not silent, however long nothing else comes", () => {
  const { told } = watched();
  vi.advanceTimersByTime(600_000);
  expect(told).toEqual([]);
});

test("one that stops answering is silent after some seconds, and heard again once it goes on", () => {
  const { told, server } = watched();
  server.answers = false;
  vi.advanceTimersByTime(10_000);
  expect(told).toEqual([]);
  vi.advanceTimersByTime(10_000);
  expect(told).toEqual(["silent"]);
  server.answers = true;
  vi.advanceTimersByTime(60_000);
  expect(told).toEqual(["silent", "heard"]);
});

test("data that come are as good as an answer", () => {
  const { told, server, heartbeat } = watched();
  server.answers = false;
  for (let passed = 0; passed < 60; passed++) {
    vi.advanceTimersByTime(4000);
    heartbeat.hear();
  }
  expect(told).toEqual([]);
});

test("a connection over which nothing comes for a minute is lost, once", () => {
  const { told, server } = watched();
  server.answers = false;
  vi.advanceTimersByTime(600_000);
  expect(told).toEqual(["silent", "lost"]);
});
