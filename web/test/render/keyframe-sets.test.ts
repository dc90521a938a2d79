import { expect, test } from "vitest";
import { KeyframeSets } from "../../src/render/keyframe-sets";

/** Budgets that do not read the clock. */
const AT_ONCE = Number.POSITIVE_INFINITY;
const NOT_NOW = Number.NEGATIVE_INFINITY;

const MOST_RAYS = 512;

const part = (set: number, tiles: string[], completes: boolean, rays = 64) => ({
  header: { set, completes, field: 0, step: 0, time: 0, view: 0 },
  rays,
  tiles,
});

function sets(uploaded: string[], recycled: string[]) {
  return new KeyframeSets({
    prepare: ({ header, rays }: ReturnType<typeof part>, tiles: string[]) =>
      rays <= MOST_RAYS ? `${header.set}: ${tiles.length}` : null,
    upload: (room: string, tile: string, number: number) => uploaded.push(`${room}, ${number} is ${tile}`),
    recycle: (room: string) => recycled.push(room),
    finish: (assembled) => ({ id: assembled.part.header.set, ...assembled }),
    release: ({ room }) => recycled.push(`${room}, shown`),
    extent: () => [3, 1, 1],
    placeOf: (tile: string) => ["abc".indexOf(tile), 0, 0],
    lost: (_, [column]) => `no ${"abc"[column]}`,
  });
}

/** The tiles of the next keyframe, once it is shown. */
function next(keyframes: ReturnType<typeof sets>) {
  return keyframes.advance(AT_ONCE) ? keyframes.shown?.tiles : null;
}

/** Brings parts over the connections of these numbers. */
function bring(keyframes: ReturnType<typeof sets>, ...parts: readonly (readonly [number, ReturnType<typeof part>])[]) {
  for (const [group, came] of parts) {
    keyframes.accept(came);
    keyframes.hear(came.header, group);
  }
}

test("a keyframe is uploaded once all connections have brought their part", () => {
  const uploaded: string[] = [];
  const keyframes = sets(uploaded, []);
  keyframes.begin(2);
  bring(keyframes, [0, part(3, ["a"], true)]);
  expect([keyframes.isUploading, keyframes.advance(AT_ONCE)]).toEqual([false, false]);
  bring(keyframes, [1, part(3, ["b"], true)]);
  expect(keyframes.isUploading).toBe(true);
  expect(keyframes.advance(AT_ONCE)).toBe(true);
  expect(keyframes.shown).toEqual({ id: 3, part: part(3, ["a"], true), tiles: ["a", "b"], room: "3: 2" });
  expect(uploaded).toEqual(["3: 2, 0 is a", "3: 2, 1 is b"]);
  expect([keyframes.isUploading, keyframes.advance(AT_ONCE)]).toEqual([false, false]);
});

test("a newer keyframe takes the place of one that is not complete, and parts of older ones are left out", () => {
  const keyframes = sets([], []);
  keyframes.begin(2);
  bring(keyframes, [0, part(3, ["a"], true)]);
  bring(keyframes, [0, part(5, ["c"], true)]);
  bring(keyframes, [1, part(4, ["b"], true)]);
  bring(keyframes, [1, part(5, ["d"], true)]);
  expect(next(keyframes)).toEqual(["c", "d"]);
});

test("one that is being uploaded is shown before newer ones", () => {
  const recycled: string[] = [];
  const keyframes = sets([], recycled);
  bring(keyframes, [0, part(3, ["a"], true)]);
  expect(keyframes.advance(NOT_NOW)).toBe(false);
  bring(keyframes, [0, part(4, ["b"], true)]);
  bring(keyframes, [0, part(5, ["c"], true)]);
  expect([next(keyframes), next(keyframes)]).toEqual([["a"], ["c"]]);
  bring(keyframes, [0, part(6, ["d"], true)]);
  expect(keyframes.advance(NOT_NOW)).toBe(false);
  keyframes.begin(1);
  expect([recycled, keyframes.advance(AT_ONCE)]).toEqual([["6: 1", "3: 1, shown", "5: 1, shown"], false]);
});

test("a keyframe whose parts do not agree is left out, and the next one comes", () => {
  const uploaded: string[] = [];
  const keyframes = sets(uploaded, []);
  keyframes.begin(2);
  bring(keyframes, [0, part(3, ["a"], true, 64)]);
  bring(keyframes, [1, part(3, ["b"], true, 128)]);
  expect([keyframes.advance(AT_ONCE), keyframes.isUploading, uploaded]).toEqual([false, false, []]);
  bring(keyframes, [0, part(4, ["c"], true, 128)]);
  bring(keyframes, [1, part(4, ["d"], true, 128)]);
  expect(next(keyframes)).toEqual(["c", "d"]);
});

test("a keyframe for which there is no room is left out, and the next one comes", () => {
  const keyframes = sets([], []);
  bring(keyframes, [0, part(3, ["a"], true, 2 * MOST_RAYS)]);
  expect([keyframes.advance(AT_ONCE), keyframes.isUploading]).toEqual([false, false]);
  bring(keyframes, [0, part(4, ["b"], true)]);
  expect(next(keyframes)).toEqual(["b"]);
});

const ALL = { columns: 3, rows: 1, layers: 1, bits: Uint8Array.of(0b111) };

test("something stands for tiles that are listed and have not come", () => {
  const uploaded: string[] = [];
  const keyframes = sets(uploaded, []);
  keyframes.expect(3, ALL);
  bring(keyframes, [0, part(3, ["b"], true)]);
  expect(next(keyframes)).toEqual(["b", "no a", "no c"]);
  expect(uploaded).toEqual(["3: 3, 0 is b", "3: 3, 1 is no a", "3: 3, 2 is no c"]);
  bring(keyframes, [0, part(4, ["b"], true)]);
  expect(next(keyframes)).toEqual(["b"]);
  keyframes.expect(5, { ...ALL, columns: 2, rows: 2 });
  bring(keyframes, [0, part(5, ["b"], true)]);
  expect(next(keyframes)).toEqual(["b"]);
});

test("a keyframe whose last message is lost is shown once something later of its step comes, not of another", () => {
  const keyframes = sets([], []);
  const later = { set: 4, completes: false, field: 0, step: 0, time: 0, view: 0 };
  for (const step of [1, 0]) {
    keyframes.begin(2);
    keyframes.expect(3, ALL);
    bring(keyframes, [0, part(3, ["a"], true)], [1, part(3, ["b"], false)]);
    keyframes.hear({ ...later, step }, 1);
    expect(next(keyframes)).toEqual(step === 0 ? ["a", "b", "no c"] : null);
  }
});
