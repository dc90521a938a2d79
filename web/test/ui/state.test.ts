import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import type { ShownState } from "../../src/render/index";
import { FieldStates } from "../../src/ui/field-states";
import { Playback, type PlaybackState } from "../../src/ui/playback";
import type { TransferFunction } from "../../src/volume/index";
import { withLogarithms } from "../../src/wire/fields";
import type { FieldMessage, PlanMessage, SourceInfo } from "../../src/wire/index";

vi.mock("../../src/render/index", () => ({}));

const message = (field: number, a: number): FieldMessage => ({
  kind: "field",
  field,
  step: 0,
  provisional: false,
  range: [0, 1],
  extent: [0, 1],
  histogram: [],
  finite: 1,
  missing: 0,
  transferFunction: {
    range: [0, 1],
    points: [
      [0, 0, 0, 0, 0],
      [1, 1, 1, 1, a],
    ],
  },
});

const edited: TransferFunction = {
  range: [0, 2],
  colours: { kind: "map", name: "viridis" },
  opacity: [
    [0, 0],
    [1, 1],
  ],
};

const source = (name: string, fields: string[]): SourceInfo => ({
  name,
  format: "npy",
  live: false,
  timeUnit: "",
  calendar: "",
  grid: { size: [4, 4, 4], spacing: [1, 1, 1], origin: [0, 0, 0], unit: "", centering: "point" },
  along: [null, null, null],
  fields: withLogarithms(fields.map((name) => ({ name, unit: "" }))),
  others: null,
});

const ONE_STEP = { first: 0, last: 0 };
const STEPS = { first: 0, last: 9 };

/** What the server says of a step whose values go from 0 to `hi`. */
const ranged = (step: number, hi: number): FieldMessage => ({
  ...message(0, 0.5),
  step,
  range: [0, hi],
  extent: [0, hi],
  transferFunction: { ...message(0, 0.5).transferFunction, range: [0, hi] },
});

describe("fields", () => {
  test("the server's function follows the server until it is edited, and again after a reset", () => {
    const fields = new FieldStates(null, new Map());
    expect(fields.receive(message(0, 0.5), true)?.opacity[1][1]).toBe(0.5);
    expect(fields.receive(message(0, 0.5), true)).toBeNull();
    fields.edit(0, edited);
    expect(fields.receive(message(0, 0.7), true)).toBeNull();
    expect(fields.transfer(0)).toBe(edited);
    expect(fields.reset(0)?.opacity[1][1]).toBe(0.7);
  });

  test("edits are undone one by one down to the server's function, a reset among them, and redone until there is another", () => {
    const fields = new FieldStates(null, new Map());
    fields.receive(message(0, 0.5), true);
    const sent = fields.transfer(0);
    const wide: TransferFunction = { ...edited, range: [0, 9] };
    const wider: TransferFunction = { ...edited, range: [0, 99] };
    fields.edit(0, edited);
    fields.edit(0, wide);
    fields.edit(0, wider, true);
    fields.edit(0, { ...wider });
    expect(fields.reset(0)).toBe(sent);
    expect([fields.undo(0)?.range, fields.undo(0), fields.undo(0), fields.undo(0)]).toEqual([
      [0, 99],
      edited,
      sent,
      null,
    ]);
    expect([fields.isEdited(0), fields.edits(0).canUndo, fields.edits(0).canRedo]).toEqual([false, false, true]);
    expect(fields.receive(message(0, 0.7), true)?.opacity[1][1]).toBe(0.7);
    expect([fields.redo(0), fields.redo(0)?.range]).toEqual([edited, [0, 99]]);
    expect(fields.isEdited(0)).toBe(true);
    fields.edit(0, wide);
    expect([fields.redo(0), fields.edits(0).canUndo, fields.edits(1).canUndo]).toEqual([null, true, false]);
  });

  test("what a link says of a function is there again when edits of it are undone", () => {
    const fields = new FieldStates({ colours: edited.colours }, new Map());
    fields.begin({ ...source("run", ["p"]), live: true }, STEPS);
    fields.receive(ranged(3, 5), true);
    fields.edit(0, edited);
    expect(fields.undo(0)).toMatchObject({ range: [0, 5], colours: edited.colours });
    expect(fields.linked(0)).toEqual({ colours: edited.colours });
    fields.reset(0);
    expect([fields.linked(0), fields.undo(0)?.colours, fields.linked(0)]).toEqual([
      null,
      edited.colours,
      { colours: edited.colours },
    ]);
  });

  test("another source has no edits to undo", () => {
    const fields = new FieldStates(null, new Map());
    fields.begin(source("run", ["p"]), ONE_STEP);
    fields.receive(message(0, 0.5), true);
    fields.edit(0, edited);
    fields.begin(source("another", ["p"]), ONE_STEP);
    expect([fields.edits(0).canUndo, fields.undo(0)]).toEqual([false, null]);
  });

  test("the colours that were sent are known after others were chosen", () => {
    const fields = new FieldStates(null, new Map());
    fields.receive(message(0, 0.5), true);
    const sent = fields.sentColours(0);
    fields.edit(0, edited);
    fields.receive(message(0, 0.5), true);
    expect(fields.sentColours(0)).toBe(sent);
    expect(fields.sentColours(1)).toBeNull();
  });

  test("a link's function belongs to the first field that is shown", () => {
    const fields = new FieldStates(edited, new Map());
    expect(fields.receive(message(1, 0.5), false)).not.toBe(edited);
    expect(fields.receive(message(0, 0.5), true)).toBe(edited);
    expect(fields.linked(0)).toBe(edited);
  });

  test("what a link does not say of a function is the server's, as long as it changes, until it is edited or reset", () => {
    const fields = new FieldStates({ colours: edited.colours }, new Map([["q", { range: [5, 6] as const }]]));
    fields.begin({ ...source("run", ["p", "q"]), live: true }, STEPS);
    expect(fields.receive(ranged(3, 5), true)).toMatchObject({ range: [0, 5], colours: edited.colours });
    expect(fields.receive(ranged(3, 5), true)).toBeNull();
    expect(fields.receive(ranged(4, 50), true)).toMatchObject({ range: [0, 50], colours: edited.colours });
    expect(fields.linked(0)).toEqual({ colours: edited.colours });
    expect(fields.linkedOthers(0)).toEqual(new Map([["q", { range: [5, 6] }]]));
    expect(fields.receive(message(1, 0.5), true)).toMatchObject({
      range: [5, 6],
      opacity: [
        [0, 0],
        [1, 0.5],
      ],
    });
    fields.edit(0, edited);
    expect(fields.linked(0)).toBe(edited);
    fields.reset(1);
    expect([fields.linked(1), fields.transfer(1)?.range]).toEqual([null, [0, 1]]);
  });

  test("the rest of what a link says of a file's steps is that of the first that is shown", () => {
    const fields = new FieldStates({ colours: edited.colours }, new Map());
    fields.begin(source("run", ["p"]), STEPS);
    fields.receive({ ...ranged(3, 4), provisional: true }, true);
    expect(fields.linked(0)).toEqual({ colours: edited.colours });
    expect(fields.receive(ranged(3, 5), true)?.range).toEqual([0, 5]);
    expect(fields.receive(ranged(4, 50), true)).toBeNull();
    expect(fields.linked(0)).toMatchObject({ range: [0, 5], colours: edited.colours });
  });

  test("functions that a link has for other fields are theirs, and stay in the link before and after they are shown", () => {
    const fields = new FieldStates(null, new Map([["q", edited]]));
    expect(fields.begin(source("run", ["p", "q"]), ONE_STEP)).toBe(false);
    expect(fields.receive(message(0, 0.5), true)).not.toBe(edited);
    expect(fields.linkedOthers(0)).toEqual(new Map([["q", edited]]));
    expect(fields.receive(message(1, 0.5), true)).toBe(edited);
    expect([fields.linkedOthers(0), fields.linkedOthers(1)]).toEqual([new Map([["q", edited]]), new Map()]);
    fields.reset(1);
    expect(fields.linkedOthers(0)).toEqual(new Map());
  });

  test("the logarithm of a field has a function of its own, and the link tells both", () => {
    const fields = new FieldStates(edited, new Map());
    fields.begin(source("run", ["p", "q"]), ONE_STEP);
    expect(fields.receive(message(2, 0.5), true)).toBe(edited);
    expect(fields.receive(message(0, 0.5), true)).not.toBe(edited);
    expect(fields.linkedOthers(0)).toEqual(new Map([["log10(p)", edited]]));
    const linked = new FieldStates(null, fields.linkedOthers(0));
    linked.begin(source("run", ["p", "q"]), ONE_STEP);
    expect(linked.receive(message(2, 0.5), true)).toBe(edited);
  });

  test("all steps of a file have the colours of the first that is shown, and the link tells them", () => {
    const fields = new FieldStates(null, new Map());
    fields.begin(source("run", ["p"]), STEPS);
    expect(fields.receive(ranged(3, 5), true)?.range).toEqual([0, 5]);
    expect(fields.receive(ranged(4, 50), true)).toBeNull();
    expect([fields.transfer(0)?.range, fields.linked(0)?.range]).toEqual([
      [0, 5],
      [0, 5],
    ]);
    expect(fields.linkedOthers(1)).toEqual(new Map([["p", fields.transfer(0)]]));
    fields.edit(0, edited);
    expect(fields.reset(0)?.range).toEqual([0, 5]);
  });

  test("a constant step gives its range to no other", () => {
    const fields = new FieldStates(null, new Map());
    fields.begin(source("run", ["p"]), STEPS);
    fields.receive(ranged(0, 0), true);
    expect(fields.linked(0)).toBeNull();
    expect(fields.receive(ranged(1, 5), true)?.range).toEqual([0, 5]);
    expect(fields.receive(ranged(2, 9), true)).toBeNull();
  });

  test("what few values of a step tell holds until all of it is there, and for no other step", () => {
    const fields = new FieldStates(null, new Map());
    fields.begin(source("run", ["p"]), STEPS);
    expect(fields.receive({ ...ranged(3, 4), provisional: true }, true)?.range).toEqual([0, 4]);
    expect(fields.linked(0)).toBeNull();
    expect(fields.receive(ranged(3, 5), true)?.range).toEqual([0, 5]);
    expect(fields.receive(ranged(4, 50), true)).toBeNull();
    expect(fields.linked(0)?.range).toEqual([0, 5]);
  });

  test("an edit while a step is still being read stays", () => {
    const fields = new FieldStates(null, new Map());
    fields.begin(source("run", ["p"]), ONE_STEP);
    fields.receive({ ...ranged(0, 4), provisional: true }, true);
    fields.edit(0, edited);
    expect(fields.receive(ranged(0, 5), true)).toBeNull();
    expect(fields.transfer(0)).toBe(edited);
  });

  test("the range of a simulation goes on growing, and no link tells it", () => {
    const fields = new FieldStates(null, new Map());
    fields.begin({ ...source("run", ["p"]), live: true }, STEPS);
    fields.receive(ranged(3, 5), true);
    expect(fields.receive(ranged(4, 50), true)?.range).toEqual([0, 50]);
    expect(fields.linked(0)).toBeNull();
  });

  test("of another source nothing known holds, of the same all does", () => {
    const fields = new FieldStates(null, new Map());
    fields.begin(source("run", ["p"]), ONE_STEP);
    fields.receive(message(0, 0.5), true);
    fields.edit(0, edited);
    expect(fields.begin(source("run", ["p"]), ONE_STEP)).toBe(true);
    expect([fields.message(0)?.field, fields.linked(0)]).toEqual([0, edited]);
    expect(fields.begin(source("run", ["q"]), ONE_STEP)).toBe(false);
    expect([fields.message(0), fields.transfer(0), fields.linked(0)]).toEqual([null, null, null]);
  });
});

describe("playback", () => {
  beforeEach(() => vi.useFakeTimers());
  afterEach(() => vi.useRealTimers());

  const plan: PlanMessage = {
    kind: "plan",
    view: 0,
    proxy: "bricks",
    level: 0,
    bits: 8,
    reason: "",
    throughputBps: 0,
    bytes: 0,
  };
  const shown = (step: number, level: number): ShownState => ({
    proxy: "bricks",
    step,
    time: 0,
    level,
    bits: 8,
    field: 0,
    resolution: 1,
    precision: "exact",
  });
  const state: PlaybackState = { playing: true, stride: 1, step: 3, steps: { first: 0, last: 4 }, plan };

  test("goes on when the step is shown as planned, not before", () => {
    const asked: (number | null)[] = [];
    const playback = new Playback(
      () => state,
      (step) => asked.push(step),
    );
    playback.frame(shown(2, 0));
    vi.advanceTimersByTime(5000);
    expect(asked).toEqual([]);
    playback.frame(shown(3, 2));
    vi.advanceTimersByTime(500);
    expect(asked).toEqual([]);
    playback.frame(shown(3, 0));
    vi.advanceTimersByTime(200);
    expect(asked).toEqual([4]);
  });

  test("does not wait for ever for the planned level", () => {
    const asked: (number | null)[] = [];
    const playback = new Playback(
      () => state,
      (step) => asked.push(step),
    );
    playback.frame(shown(3, 2));
    vi.advanceTimersByTime(2000);
    expect(asked).toEqual([4]);
  });

  test("goes on by as many steps as are chosen, and to the last one", () => {
    const asked: (number | null)[] = [];
    const current = { ...state, stride: 5, steps: { first: 0, last: 10 } };
    const playback = new Playback(
      () => current,
      (step) => asked.push(step),
    );
    for (const step of [3, 8]) {
      current.step = step;
      playback.frame(shown(step, 0));
      vi.advanceTimersByTime(200);
    }
    expect(asked).toEqual([8, 10]);
  });

  test("goes on from the oldest step that is kept", () => {
    const asked: (number | null)[] = [];
    const playback = new Playback(
      () => ({ ...state, steps: { first: 7, last: 9 } }),
      (step) => asked.push(step),
    );
    playback.frame(shown(3, 0));
    vi.advanceTimersByTime(200);
    expect(asked).toEqual([7]);
  });

  test("ends at the last step", () => {
    const asked: (number | null)[] = [];
    const playback = new Playback(
      () => ({ ...state, step: 4 }),
      (step) => asked.push(step),
    );
    playback.frame(shown(4, 0));
    vi.advanceTimersByTime(200);
    expect(asked).toEqual([null]);
  });
});
