import { expect, test } from "vitest";
import { encodeSteer, parseControl, WireError } from "../../src/wire/index";

const strength = { name: "strength", unit: "Pa", kind: "number", least: 0, most: 5, value: 1 };
const set = { who: "page 3fA9", unix_s: 1764000000.5, action: "set", name: "strength", value: 2.5, at: 120 };
const steering = { parameters: [strength], state: "running", log: [{ ...set, problem: null }] };

function parse(object: unknown) {
  return parseControl(Uint8Array.from([6, ...new TextEncoder().encode(JSON.stringify(object))]));
}

test("reads parameters, state and log, and ignores members it does not know", () => {
  expect(parse({ ...steering, later: true })).toEqual({
    kind: "steering",
    parameters: [strength],
    state: "running",
    log: [
      {
        who: "page 3fA9",
        unixS: 1764000000.5,
        what: { action: "set", name: "strength", value: 2.5 },
        at: 120,
        problem: null,
      },
    ],
  });
});

test("an action that has not taken effect has no step, one that did not says why", () => {
  const log = [{ who: "ann", unix_s: 1, action: "pause", at: null, problem: "rank 2 is gone" }];
  expect(parse({ ...steering, log })).toMatchObject({
    log: [{ what: { action: "pause" }, at: null, problem: "rank 2 is gone" }],
  });
});

test.each([
  ["a range that ends before it begins", { ...steering, parameters: [{ ...strength, least: 6 }] }, /strength/],
  ["an unknown type", { ...steering, parameters: [{ ...strength, kind: "colour" }] }, /kind/],
  ["an unknown state", { ...steering, state: "asleep" }, /state/],
  ["an unknown action", { ...steering, log: [{ ...set, action: "explode" }] }, /action/],
  ["a change of nothing", { ...steering, log: [{ ...set, name: undefined }] }, /name/],
  ["a step before the first", { ...steering, log: [{ ...set, at: -1 }] }, /at/],
  ["too many parameters", { ...steering, parameters: Array(65).fill(strength) }, /at most 64/],
  ["too long a log", { ...steering, log: Array(21).fill(set) }, /at most 20/],
])("steering with %s is refused", (_, object, reason) => {
  expect(() => parse(object)).toThrow(WireError);
  expect(() => parse(object)).toThrow(reason);
});

test("what is asked for is its kind and JSON", () => {
  const action = { action: "set", name: "strength", value: 2.5 } as const;
  const bytes = encodeSteer(action);
  expect(bytes[0]).toBe(66);
  expect(JSON.parse(new TextDecoder().decode(bytes.subarray(1)))).toEqual(action);
});
