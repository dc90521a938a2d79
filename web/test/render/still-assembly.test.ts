import { expect, test } from "vitest";
import { StillAssembly } from "../../src/render/still-assembly";

const part = (set: number, words: string, completes: boolean) => ({
  header: { set, completes, field: 0, step: 0, time: 0, view: 0 },
  words,
});

function assembly(groups: number) {
  const recycled: string[] = [];
  const stills = new StillAssembly({
    create: ({ header }: ReturnType<typeof part>) => ({ name: `still ${header.set}`, words: "" }),
    upload: (still, { words }) => {
      still.words += words;
    },
    recycle: ({ name }) => recycled.push(name),
  });
  stills.begin(groups);
  return { stills, recycled };
}

test("a still is complete once all connections have brought their part, and takes the place of the one before", () => {
  const { stills, recycled } = assembly(2);
  expect([stills.accept(part(3, "a", true)), stills.accept(part(3, "b", false))]).toEqual([false, false]);
  expect(stills.complete).toBeNull();
  expect(stills.accept(part(3, "c", true))).toBe(true);
  expect(stills.complete).toEqual({ name: "still 3", words: "abc" });
  stills.accept(part(4, "d", true));
  expect([stills.complete?.name, recycled]).toEqual(["still 3", []]);
  stills.accept(part(4, "e", true));
  expect([stills.complete?.name, recycled]).toEqual(["still 4", ["still 3"]]);
});

test("parts of a still that another has overtaken are left out, and it is given up", () => {
  const { stills, recycled } = assembly(2);
  stills.accept(part(3, "a", true));
  stills.accept(part(5, "b", true));
  expect(recycled).toEqual(["still 3"]);
  expect(stills.accept(part(3, "c", true))).toBe(false);
  expect(stills.accept(part(5, "d", true))).toBe(true);
  expect(stills.accept(part(4, "e", true))).toBe(false);
  expect([stills.complete, recycled]).toEqual([{ name: "still 5", words: "bd" }, ["still 3"]]);
});

test("a new session numbers its stills anew", () => {
  const { stills, recycled } = assembly(1);
  stills.accept(part(9, "a", true));
  stills.accept(part(10, "b", false));
  stills.begin(1);
  expect([stills.complete, recycled]).toEqual([null, ["still 10", "still 9"]]);
  expect(stills.accept(part(1, "c", true))).toBe(true);
});
