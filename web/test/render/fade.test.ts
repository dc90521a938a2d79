import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { Compositor } from "../../src/render/compositor";
import { Fade } from "../../src/render/fade";
import type { Gl } from "../../src/render/gl";

const COPY = "copy";
const size = [4, 3] as const;
const image = { texture: "image" as unknown as WebGLTexture, fromTop: false };
const drawn = (name: string) => name as unknown as WebGLTexture;

function fading(): Fade {
  // Every call of it is without effect but that of a texture.
  const gl = new Proxy({} as Gl, { get: (_, name) => () => (name === "createTexture" ? COPY : null) });
  return new Fade(gl, { copy: () => {} } as unknown as Compositor);
}

let reducesMotion = false;

beforeEach(() => {
  reducesMotion = false;
  vi.useFakeTimers({ toFake: ["performance"] });
  vi.stubGlobal("matchMedia", () => ({ matches: reducesMotion }));
});
afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

test("a copy gives way until the view turns or its time is over", () => {
  const fade = fading();
  fade.begin(image, size);
  expect(fade.takeBefore()).toEqual({ texture: COPY, share: 1 });
  vi.advanceTimersByTime(80);
  expect(fade.takeBefore()?.share).toBeCloseTo(0.5);
  vi.advanceTimersByTime(80);
  expect([fade.takeBefore(), fade.isOn]).toEqual([null, false]);
  fade.begin(image, size);
  fade.endCopy();
  expect(fade.isOn).toBe(false);
});

test("what is drawn anew goes on giving way while the view turns, and not longer for being drawn", () => {
  const fade = fading();
  fade.turn(7, drawn("first"));
  vi.advanceTimersByTime(40);
  fade.endCopy();
  fade.turn(7, drawn("second"));
  expect([fade.turning, fade.takeBefore()]).toEqual([7, { texture: "second", share: 0.75 }]);
  vi.advanceTimersByTime(120);
  expect([fade.takeBefore(), fade.turning]).toEqual([null, null]);
});

test("nothing gives way where no motion is wanted", () => {
  reducesMotion = true;
  const fade = fading();
  fade.begin(image, size);
  fade.turn(7, drawn("first"));
  expect(fade.isOn).toBe(false);
});
