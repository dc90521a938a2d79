import { expect, test } from "vitest";
import {
  encodeAck,
  opacityOfCode,
  parseSlabs,
  parseStill,
  unpackSlabTile,
  unpackStillTile,
} from "../../src/wire/index";
import { undoImage } from "../../src/wire/symbols";
import { Bytes, rawFrame } from "./build";

function slabs(frame: Uint8Array, slab = 1, x = 63): Bytes {
  return new Bytes()
    .header(17)
    .f32(30, 20, 3, 30, 0, 0, 0, 1, 1, 30)
    .u32(2)
    .f32(0, 1, 0.25, 0.5, 0, 1)
    .u16(128, 64)
    .u16(2, 1)
    .f32(0, 0, -1)
    .f32(2, 4)
    .u16(slab, 0, x, 0, 2, 1)
    .u32(frame.length)
    .bytes(frame);
}

test("reads a keyframe and its tiles", () => {
  // Colours 10, 0; 1, 2; 5, 255; opacity codes 1000 and 998: differences 10 and -10, 1 and 1, 5 and -6; 1000 and -2.
  const frame = rawFrame([0, 20, 19, 2, 2, 10, 11, 0, 208, 3, 7, 0]);
  const parsed = parseSlabs(slabs(frame).done());
  expect(parsed.camera).toEqual({
    azimuth: 30,
    elevation: 20,
    distance: 3,
    fov: 30,
    target: [0, 0, 0],
    stretch: [1, 1, 30],
    up: "z",
    crop: [
      [0, 1],
      [0.25, 0.5],
      [0, 1],
    ],
  });
  expect([parsed.rays, parsed.slabCount, parsed.near, parsed.far]).toEqual([[128, 64], 2, 2, 4]);
  expect(parsed.tiles[0]).toMatchObject({ slab: 1, x: 63, y: 0, width: 2, height: 1 });
  const { colours, opacityCodes } = unpackSlabTile(parsed.tiles[0]);
  expect([...colours]).toEqual([10, 0, 1, 2, 5, 255]);
  expect([...opacityCodes]).toEqual([1000, 998]);
});

test("images are predicted from left, above and above left", () => {
  // Differences 10 5 / -6 2.
  const bytes = Uint8Array.from([20, 10, 11, 4]);
  undoImage(bytes, 2);
  expect([...bytes]).toEqual([10, 15, 4, 11]);
  // 7 -2 / 2 2.
  const words = Uint16Array.from([14, 3, 4, 4]);
  undoImage(words, 2);
  expect([...words]).toEqual([7, 5, 9, 9]);
});

test("opacity codes are finer where the opacity is faint", () => {
  expect([0, 1023, 5000].map(opacityOfCode)).toEqual([0, 1, 1]);
  expect(opacityOfCode(341)).toBeCloseTo(1 / 9);
});

test("tiles outside the keyframe are refused", () => {
  const frame = rawFrame(new Uint8Array(10));
  expect(() => parseSlabs(slabs(frame, 2).done())).toThrow(/outside/);
  expect(() => parseSlabs(slabs(frame, 1, 127).done())).toThrow(/outside/);
});

test("an impossible key camera is refused", () => {
  const bytes = slabs(rawFrame(new Uint8Array(10))).done();
  new DataView(bytes.buffer).setFloat32(40, Number.NaN, true);
  expect(() => parseSlabs(bytes)).toThrow(/not finite/);
  const slanted = slabs(rawFrame(new Uint8Array(10))).done();
  new DataView(slanted.buffer).setFloat32(104, 1, true);
  expect(() => parseSlabs(slanted)).toThrow(/unit vector/);
});

test("reads a still and interleaves its planes", () => {
  const frame = rawFrame([0, 2, 2, 18, 0, 1, 2, 8, 8]);
  const bytes = new Bytes().header(18).u16(8, 4).u16(1, 0).u16(6, 3, 2, 1).u32(frame.length).bytes(frame).done();
  const parsed = parseStill(bytes);
  expect([parsed.header.view, parsed.width, parsed.height]).toEqual([17, 8, 4]);
  expect(unpackStillTile(parsed.tiles[0])).toEqual(Uint8Array.from([1, 9, 255, 4, 2, 9, 0, 8]));
});

test("tiles of more pixels than an image has are refused", () => {
  const frame = rawFrame(new Uint8Array(8));
  const tile = (bytes: Bytes) => bytes.u16(0, 0, 2, 1).u32(frame.length).bytes(frame);
  const bytes = (count: number) => {
    const all = new Bytes().header(18).u16(2, 2).u16(count, 0);
    for (let i = 0; i < count; i++) tile(all);
    return all.done();
  };
  expect(parseStill(bytes(2)).tiles.length).toBe(2);
  expect(() => parseStill(bytes(3))).toThrow(/tiles of 6 pixels in an image of 2x2/);
});

test("an acknowledgement counts bytes in 64 bits", () => {
  const bytes = encodeAck(2 ** 33 + 5);
  expect([...bytes]).toEqual([65, 0, 0, 0, 5, 0, 0, 0, 2, 0, 0, 0]);
});
