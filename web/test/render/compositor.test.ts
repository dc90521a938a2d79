import { expect, test } from "vitest";
import { Compositor } from "../../src/render/compositor";
import type { Gl } from "../../src/render/gl";

const image = { texture: "image" as unknown as WebGLTexture, fromTop: false };
const before = { texture: "before" as unknown as WebGLTexture, share: 0.5 };

/** A driver that says yes to everything and remembers which images are fetched from. */
function driver(bound: unknown[]): Gl {
  const calls: Record<string, unknown> = {
    bindTexture: (_: unknown, texture: unknown) => bound.push(texture),
    getExtension: () => null,
    createShader: () => ({}),
    getProgramParameter: () => true,
  };
  return new Proxy({} as Gl, { get: (_, name) => calls[String(name)] ?? (() => ({})) });
}

test("what gives way is fetched from only while something does", () => {
  const bound: unknown[] = [];
  const compositor = new Compositor(driver(bound));
  compositor.over(image, null, 4, 3);
  expect(bound).toEqual(["image"]);
  compositor.over(image, before, 4, 3);
  expect(bound).toEqual(["image", "image", "before"]);
});
