import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { Gl } from "../../src/render/gl";
import { TexturePool } from "../../src/render/texture-pool";

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

const R16F = 1;
const limits = { MAX_3D_TEXTURE_SIZE: 256, MAX_TEXTURE_SIZE: 1024, MAX_ARRAY_TEXTURE_LAYERS: 128 };

/** A graphics processor with these limits; `made` and `deleted` are the numbers of its textures. */
function graphics() {
  const [made, deleted]: [number[], number[]] = [[], []];
  const constants = { TEXTURE_3D: "3d", TEXTURE_2D_ARRAY: "array", MAX_3D_TEXTURE_SIZE: "MAX_3D_TEXTURE_SIZE" };
  const gl = {
    ...constants,
    MAX_TEXTURE_SIZE: "MAX_TEXTURE_SIZE",
    MAX_ARRAY_TEXTURE_LAYERS: "MAX_ARRAY_TEXTURE_LAYERS",
    getParameter: (name: keyof typeof limits) => limits[name],
    createTexture: () => made.push(made.length),
    deleteTexture: (texture: number) => deleted.push(texture),
    activeTexture: () => {},
    bindTexture: () => {},
    texStorage3D: () => {},
    texParameteri: () => {},
  };
  return { gl: gl as unknown as Gl, made, deleted };
}

test("a texture that was given back is used again, one of another size takes its place", () => {
  const { gl, made, deleted } = graphics();
  const pool = new TexturePool(gl, gl.TEXTURE_3D, R16F, 1);
  const first = pool.take([8, 8, 8]);
  if (first) pool.keep(first);
  const again = pool.take([8, 8, 8]);
  expect([again === first, made.length]).toEqual([true, 1]);
  if (again) pool.keep(again);
  expect(pool.take([8, 8, 4])?.size).toEqual([8, 8, 4]);
  expect([made.length, deleted]).toEqual([2, [first?.texture]]);
});

test("layers beyond those asked for do no harm, unless they are many", () => {
  const { gl, made } = graphics();
  const pool = new TexturePool(gl, gl.TEXTURE_2D_ARRAY, R16F, 1);
  const layers = pool.take([512, 512, 10]);
  if (layers) pool.keep(layers);
  expect(pool.take([512, 512, 6])).toBe(layers);
  if (layers) pool.keep(layers);
  expect(pool.take([512, 512, 3])).not.toBe(layers);
  expect(made.length).toBe(2);
});

test("what nobody takes for some seconds is deleted", () => {
  const { gl, deleted } = graphics();
  const pool = new TexturePool(gl, gl.TEXTURE_3D, R16F, 2);
  const [a, b] = [pool.take([8, 8, 8]), pool.take([4, 4, 4])];
  if (a) pool.keep(a);
  vi.advanceTimersByTime(4000);
  if (b) pool.keep(b);
  vi.advanceTimersByTime(4000);
  expect(deleted).toEqual([]);
  vi.advanceTimersByTime(4000);
  expect(deleted).toEqual([a?.texture, b?.texture]);
});

test("there is no texture larger than the browser's limits", () => {
  const { gl, made } = graphics();
  const volumes = new TexturePool(gl, gl.TEXTURE_3D, R16F, 1);
  expect([volumes.take([257, 8, 8]), volumes.take([8, 8, 257])]).toEqual([null, null]);
  const layers = new TexturePool(gl, gl.TEXTURE_2D_ARRAY, R16F, 1);
  expect([layers.take([8, 1025, 8]), layers.take([8, 8, 129])]).toEqual([null, null]);
  expect(made).toEqual([]);
  expect([volumes.take([256, 256, 256]), layers.take([1024, 1024, 128])].includes(null)).toBe(false);
});
