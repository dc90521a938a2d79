import { describe, expect, test } from "vitest";
import { LifelinesState } from "../../src/ui/lifelines-state";
import { PageStamps } from "../../src/ui/page-stamps";
import { ServerClock } from "../../src/ui/server-clock";

describe("the server's clock", () => {
  const answer = (at: number, outMs: number, backMs: number, ahead: number) => {
    const heardMs = at + outMs + ahead;
    return {
      message: { kind: "clock", askedMs: at, heardMs, answeredMs: heardMs + 1 } as const,
      at: at + outMs + 1 + backMs,
    };
  };

  test("is found from the answer with the least delay, whatever the others say", () => {
    const clock = new ServerClock();
    expect(clock.offsetMs).toBeNull();
    for (const queue of [30, 0, 80, 5]) {
      const { message, at } = answer(1000, 40 + queue, 40, 5_000_000);
      clock.add(message, at);
    }
    expect(clock.offsetMs).toBe(5_000_000);
  });

  test("follows drift, and passes over times that contradict themselves", () => {
    const clock = new ServerClock();
    clock.add({ kind: "clock", askedMs: 100, heardMs: 5, answeredMs: 6 }, 50);
    expect(clock.offsetMs).toBeNull();
    const add = (ahead: number, delay: number) => {
      const { message, at } = answer(0, delay, delay, ahead);
      clock.add(message, at);
    };
    add(10, 1);
    for (let i = 0; i < 16; i++) add(12, 3);
    expect(clock.offsetMs).toBe(12);
  });
});

describe("stamps of the page", () => {
  test("a step is received from its first message to its last, and drawn after that", () => {
    const stamps = new PageStamps();
    stamps.part(7, 10, 12, 100);
    stamps.part(7, 20, 25, 50);
    expect(stamps.frame(7, 40)).toEqual([
      { stage: "viewer receipt", step: 7, startMs: 10, endMs: 25, bytes: 150 },
      { stage: "drawn", step: 7, startMs: 25, endMs: 40, bytes: 0 },
    ]);
    expect(stamps.frame(7, 50)).toEqual([]);
  });

  test("a step that is passed over is forgotten, and so are those that are never drawn", () => {
    const stamps = new PageStamps();
    for (let step = 0; step < 100; step++) stamps.part(step, step, step, 1);
    expect(stamps.frame(99, 200).length).toBe(2);
    expect(stamps.frame(98, 201)).toEqual([]);
    expect(stamps.frame(null, 202)).toEqual([]);
  });
});

describe("lifelines", () => {
  const event = (stage: string, step: number, startMs: number, endMs: number) => ({
    stage,
    step,
    startMs,
    endMs,
    bytes: 0,
  });

  test("of several PEs the first that begins and the last that ends count", () => {
    const lines = new LifelinesState();
    lines.receive({
      kind: "events",
      events: [event("render", 1, 5, 9), event("render", 1, 4, 8), event("later", 1, 0, 99)],
    });
    lines.add(event("drawn", 1, 20, 21));
    expect(lines.shown()).toEqual({
      bars: [
        { step: 1, stage: "render", startMs: 4, endMs: 9 },
        { step: 1, stage: "drawn", startMs: 20, endMs: 21 },
      ],
      startMs: 4,
      endMs: 21,
      words: "Step 1: render 5.0 ms, drawn 1.0 ms; 17 ms in all.",
    });
  });

  test("the last six steps that were drawn are shown", () => {
    const lines = new LifelinesState();
    expect(lines.shown()).toBeNull();
    for (let step = 0; step < 50; step++) {
      lines.add(event("render", step, step, step + 1));
      if (step < 48) lines.add(event("drawn", step, step + 2, step + 3));
    }
    expect([...new Set(lines.shown()?.bars.map(({ step }) => step))]).toEqual([42, 43, 44, 45, 46, 47]);
  });

  test("a step that the server has not told of yet is not the newest", () => {
    const lines = new LifelinesState();
    lines.add(event("drawn", 7, 20, 21));
    expect(lines.shown()?.words).toBe("Step 7: drawn 1.0 ms; 1.0 ms in all.");
    for (const stage of ["load", "send"]) lines.add(event(stage, 6, 1, 2));
    lines.add(event("drawn", 6, 3, 5));
    expect(lines.shown()?.words).toBe("Step 6: load 1.0 ms, send 1.0 ms, drawn 2.0 ms; 4.0 ms in all.");
    lines.add(event("send", 7, 10, 11));
    expect(lines.shown()?.words).toBe("Step 7: send 1.0 ms, drawn 1.0 ms; 11 ms in all.");
  });
});
