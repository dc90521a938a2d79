import { expect, test } from "vitest";
import { rangeWords, refusal, SteeringState, sliderValue } from "../../src/ui/steering-state";
import type { LoggedAction, Parameter, SteeringMessage } from "../../src/wire/index";

const strength: Parameter = { name: "strength", unit: "Pa", kind: "number", least: 0, most: 5, value: 1 };
const sources: Parameter = { name: "sources", unit: "", kind: "integer", least: 1, most: 8, value: 3 };

function message(log: readonly LoggedAction[], patch: Partial<SteeringMessage> = {}): SteeringMessage {
  return { kind: "steering", parameters: [strength, sources], state: "running", log, ...patch };
}

function set(value: number, unixS: number, patch: Partial<LoggedAction> = {}): LoggedAction {
  return {
    who: "page 9f3c",
    unixS,
    what: { action: "set", name: "strength", value },
    at: null,
    problem: null,
    ...patch,
  };
}

const pending = (state: SteeringState) => state.shown(null)?.parameters.map((parameter) => parameter.pending);

test("nothing is shown until the server says what can be steered, and after it serves something else", () => {
  const state = new SteeringState();
  expect(state.shown(null)).toBeNull();
  state.receive(message([]));
  state.begin("9f3c77", true, true);
  expect(state.shown(null)).not.toBeNull();
  state.begin("9f3c77", false, true);
  expect(state.shown(null)).toBeNull();
});

test("a value that is asked for is pending until the log says before which step it is taken", () => {
  const state = new SteeringState();
  state.receive(message([set(4, 1, { at: 3 })]));
  state.ask({ action: "set", name: "strength", value: 2 });
  expect(pending(state)).toEqual([2, null]);
  state.receive(message([set(4, 1, { at: 3 })]));
  expect(pending(state)).toEqual([2, null]);
  state.receive(message([set(4, 1, { at: 3 }), set(2, 2)]));
  expect(pending(state)).toEqual([2, null]);
  state.receive(message([set(4, 1, { at: 3 }), set(2, 2, { at: 9 })]));
  expect(pending(state)).toEqual([null, null]);
});

test("a value is no longer pending once there is a problem with it, or nobody knows of it", () => {
  const state = new SteeringState();
  state.receive(message([set(2, 2, { problem: "rank 1 is gone" })]));
  expect(pending(state)).toEqual([null, null]);
  state.ask({ action: "set", name: "sources", value: 2 });
  state.forget();
  expect(pending(state)).toEqual([null, null]);
});

test("a page that may only watch is told so", () => {
  const state = new SteeringState();
  state.begin("9f3c77", true, false);
  state.receive(message([]));
  expect(state.shown(null)?.maySteer).toBe(false);
  state.begin("01ab77", true, true);
  expect(state.shown(null)?.maySteer).toBe(true);
});

test("the log says who, what, and before which step or why not, the newest first", () => {
  const state = new SteeringState();
  state.begin("9f3c77", true, true);
  const log = [
    set(2.5, 1, { at: 120 }),
    set(3, 2, { who: "page 01ab", at: 125, problem: "not on all ranks at once" }),
    set(4, 3, { problem: "rank 1 is gone" }),
    { ...set(0, 4), what: { action: "pause" } } as const,
  ];
  state.receive(message(log));
  expect(state.shown(null)?.log.map(({ what, outcome, isProblem }) => [what, outcome, isProblem])).toEqual([
    ["you: pause", "asked for", false],
    ["you: strength to 4 Pa", "rank 1 is gone", true],
    ["page 01ab: strength to 3 Pa", "before step 125, not on all ranks at once", true],
    ["you: strength to 2.5 Pa", "before step 120", false],
  ]);
  expect(state.shown(null)?.stateWords).toBe("running, asked to pause");
});

test("an action keeps its key while it is carried out", () => {
  const state = new SteeringState();
  const key = (entry: LoggedAction) => {
    state.receive(message([entry]));
    return state.shown(null)?.log[0].key;
  };
  expect(key(set(2, 1, { at: 7 }))).toBe(key(set(2, 1)));
  expect(key(set(2, 1.5))).not.toBe(key(set(2, 1)));
});

test("what a parameter does not take is refused with the reason", () => {
  expect(refusal(strength, "2.5")).toBeNull();
  expect(refusal(strength, " 2,5 ")).toBeNull();
  expect(refusal(strength, "7")).toBe("strength takes 0 to 5 Pa, not 7");
  expect(refusal(strength, "")).toBe("strength takes a number, not \u201c\u201d");
  expect(refusal(strength, "Infinity")).toBe("strength takes a number, not \u201cInfinity\u201d");
  expect(refusal(sources, "2.5")).toBe("sources takes whole numbers, not 2.5");
  expect(rangeWords(sources)).toBe("1 to 8");
});

test("a slider gives values of its range with no more digits than it resolves", () => {
  expect(sliderValue(0.73529411, strength)).toBe(0.74);
  expect(sliderValue(2.5001, sources)).toBe(3);
  expect(sliderValue(0, { ...strength, least: 0.3 })).toBe(0.3);
  expect(sliderValue(2, { ...strength, least: 2, most: 2 })).toBe(2);
  expect(sliderValue(123456, { ...strength, most: 1e6 })).toBe(123456);
  expect(sliderValue(3.14159e-9, { ...strength, most: 1e-8 })).toBe(3.14e-9);
});

test("a simulation of which no rank is there is gone, unless it was stopped; of one that lacks some that is said", () => {
  const state = new SteeringState();
  const gone = { isWhole: true, words: "gone, last step 745" };
  const some = { isWhole: false, words: "1 of 2 ranks missing" };
  state.receive(message([]));
  expect(state.shown(gone)).toMatchObject({ state: "gone", stateWords: "gone, last step 745" });
  expect(state.shown(some)).toMatchObject({ state: "running", stateWords: "running, 1 of 2 ranks missing" });
  expect(state.shown(null)).toMatchObject({ state: "running", stateWords: "running" });
  state.receive(message([], { state: "stopped" }));
  expect(state.shown(gone)).toMatchObject({ state: "stopped", stateWords: "stopped" });
});

test("a parameter whose name would turn what stands around it is asked for by that name, and told without", () => {
  const name = "\u202ehtgnerts";
  const state = new SteeringState();
  state.receive(
    message([set(2, 1, { what: { action: "set", name, value: 2 } })], { parameters: [{ ...strength, name }] }),
  );
  const shown = state.shown(null);
  expect([shown?.parameters[0].name, shown?.parameters[0].pending]).toEqual([name, 2]);
  expect(shown?.log[0].what).toBe("page 9f3c: htgnerts to 2 Pa");
  expect(refusal({ ...strength, name }, "9")).toBe("htgnerts takes 0 to 5 Pa, not 9");
});
