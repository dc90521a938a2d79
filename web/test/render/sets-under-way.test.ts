import { describe, expect, test } from "vitest";
import type { Arrivals } from "../../src/render/arrivals";
import { SetsUnderWay, type SetUnderWay } from "../../src/render/sets-under-way";
import type { BulkHeader } from "../../src/wire/index";

/** Messages as two connections bring them; each set is its own step unless told. */
class Scene {
  readonly recycled: number[] = [];
  readonly shown: number[] = [];
  readonly sets = new SetsUnderWay<SetUnderWay>(3, (set) => this.recycled.push(set.header.set));

  constructor() {
    this.sets.begin(2);
  }

  /** A message of `set` over `group`, the last one if it `completes`; what is whole then is shown. */
  bring(set: number, group: number, { completes = true, step = set, keeps = true } = {}): void {
    const header: BulkHeader = { set, step, completes, field: 0, time: 0, view: 0 };
    if (keeps) this.sets.of(header, (arrivals: Arrivals) => ({ header, arrivals }));
    this.sets.hear(header, group);
    for (const whole of this.sets.whole) {
      this.sets.take(whole);
      this.shown.push(whole.header.set);
    }
  }
}

describe("sets on their way", () => {
  test("are whole when every connection has brought its last message", () => {
    const scene = new Scene();
    scene.bring(1, 0);
    scene.bring(1, 1, { completes: false });
    expect(scene.shown).toEqual([]);
    scene.bring(1, 1);
    expect(scene.shown).toEqual([1]);
    expect(scene.recycled).toEqual([]);
  });

  test("go on being shown where one connection is many sets ahead of the other", () => {
    const scene = new Scene();
    const lag = 20;
    const sent = 200;
    for (let set = 1; set <= sent + lag; set++) {
      if (set <= sent) scene.bring(set, 0);
      if (set > lag) scene.bring(set - lag, 1);
    }
    const gaps = scene.shown.map((set, i) => set - (scene.shown[i - 1] ?? 0));
    expect(Math.max(...gaps)).toBeLessThanOrEqual(lag + 1);
    expect(scene.shown.at(-1)).toBe(sent);
  });

  test("that are not sent to their end give their places to those that come after", () => {
    const scene = new Scene();
    for (let set = 1; set <= 9; set++) scene.bring(set, set % 2, { completes: false });
    scene.bring(10, 0);
    scene.bring(10, 1);
    expect(scene.shown).toEqual([10]);
    expect(scene.recycled).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9]);
  });

  test("are cut short by what comes of other kinds", () => {
    const scene = new Scene();
    scene.bring(1, 0);
    scene.bring(2, 1, { keeps: false });
    expect(scene.recycled).toEqual([1]);
  });

  test("whose last message is lost are whole once a later set of their step comes", () => {
    const scene = new Scene();
    scene.bring(1, 0);
    scene.bring(1, 1, { completes: false });
    scene.bring(2, 1, { step: 1 });
    expect(scene.shown).toEqual([1]);
  });

  test("that are older than one that was taken are not begun again", () => {
    const scene = new Scene();
    scene.bring(2, 0);
    scene.bring(2, 1);
    scene.bring(1, 1);
    scene.bring(1, 0);
    expect(scene.shown).toEqual([2]);
  });
});
