import { expect, test } from "vitest";
import { parseBricks, parseBulk, unpackBrick, WireError } from "../../src/wire/index";
import { Bytes, rawFrame } from "./build";

/** A frame of a part of symbols that is not packed. */
function plain(...symbols: number[]): Uint8Array {
  return rawFrame([0, ...symbols]);
}

/** A brick of two rows of two samples. */
function message(frame: Uint8Array, bits = 8, size = [2, 4, 1], part = 1, predictor = 0): Bytes {
  return new Bytes()
    .header(16)
    .u8(1, bits)
    .u16(1)
    .u16(4, 8, 4)
    .u16(0)
    .f32(-1, 3)
    .u16(1, 2, 3)
    .u8(...size, part + 4 * predictor)
    .f32(0, 2)
    .u32(frame.length)
    .bytes(frame);
}

test("reads header, level and bricks", () => {
  const parsed = parseBricks(message(plain(2, 2, 1, 6)).done());
  expect(parsed.header).toEqual({ completes: true, field: 3, set: 7, step: 12, time: 0.25, view: 17 });
  expect([parsed.level, parsed.bits, parsed.size, parsed.lo, parsed.hi]).toEqual([1, 8, [4, 8, 4], -1, 3]);
  expect(parsed.bricks[0]).toMatchObject({
    lo: [1, 2, 3],
    size: [2, 4, 1],
    part: 1,
    predictor: 0,
    valueLo: 0,
    valueHi: 2,
  });
});

test("undoes what was expected of codes, modulo 256", () => {
  const parsed = parseBricks(message(plain(2, 2, 1, 6)).done());
  expect(unpackBrick(parsed.bricks[0], 8)).toEqual(Uint8Array.from([1, 2, 0, 3]));
  const wrapped = parseBricks(message(plain(3, 3, 4, 7)).done());
  expect(unpackBrick(wrapped.bricks[0], 8)).toEqual(Uint8Array.from([254, 252, 0, 252]));
});

test.each([
  ["the left one", 0, [20, 6, 14, 2, 14, 15, 0, 6, 14, 0, 14, 10]],
  ["gradients", 1, [20, 6, 14, 2, 8, 29, 0, 0, 0, 0, 4, 12]],
  ["edges above", 2, [20, 6, 14, 2, 10, 19, 0, 0, 0, 0, 8, 4]],
  ["edges behind", 3, [20, 6, 14, 2, 10, 19, 0, 0, 0, 1, 0, 24]],
])("two slices of two rows are expected from %s", (_, predictor, symbols) => {
  const [brick] = parseBricks(message(plain(...symbols), 8, [3, 4, 1], 1, predictor).done()).bricks;
  const codes = unpackBrick({ ...brick, size: [3, 4, 3] }, 8);
  expect(codes).toEqual(Uint8Array.from([10, 13, 20, 11, 18, 10, 10, 13, 20, 10, 17, 22]));
});

test("undoes 16 bits of split bytes", () => {
  // Codes 300, 299, 65535, 0: differences 300, -1, -301 and 1.
  const parsed = parseBricks(message(plain(88, 1, 89, 2, 2, 0, 2, 0), 16).done());
  expect(unpackBrick(parsed.bricks[0], 16)).toEqual(Uint16Array.from([300, 299, 65535, 0]));
});

test("codes beyond the last of few bits are that", () => {
  const parsed = parseBricks(message(plain(30, 2, 9, 255), 4).done());
  // Codes 15, 16, 10 and 138.
  expect([...(unpackBrick(parsed.bricks[0], 4) ?? [])]).toEqual([15, 15, 10, 15]);
});

test("a brick without bytes is constant", () => {
  const parsed = parseBricks(message(new Uint8Array(0)).done());
  expect(unpackBrick(parsed.bricks[0], 8)).toBeNull();
});

test.each([
  [
    "cut short",
    message(plain(1, 2, 3, 4))
      .done()
      .subarray(0, 50),
    /needs/,
  ],
  [
    "with bytes left over",
    message(plain(1, 2, 3, 4))
      .u8(0)
      .done(),
    /left over/,
  ],
  ["with a box outside the level", message(plain(1, 2, 3, 4), 8, [4, 4, 1]).done(), /does not lie/],
  ["with an empty box", message(plain(1, 2, 3, 4), 8, [0, 4, 1]).done(), /does not lie/],
  ["with predictor 4", message(plain(1, 2, 3, 4), 8, [2, 4, 1], 1, 4).done(), /predictor 4/],
  ["with a part that has no slice", message(plain(1, 2, 3, 4), 8, [2, 4, 1], 2).done(), /no part 2/],
  ["with 3 bits", message(plain(1, 2, 3, 4), 3).done(), /3 bits/],
  ["with 12 bits", message(plain(1, 2, 3, 4), 12).done(), /12 bits/],
])("a message %s is refused", (_, bytes, reason) => {
  expect(() => parseBricks(bytes)).toThrow(WireError);
  expect(() => parseBricks(bytes)).toThrow(reason);
});

test("a frame that states a larger size is refused before it is decompressed", () => {
  const parsed = parseBricks(message(plain(1, 2, 3, 4, 5)).done());
  expect(() => unpackBrick(parsed.bricks[0], 8)).toThrow(/holds 6 bytes where at most 5 are due/);
});

test("a damaged frame is refused", () => {
  const frame = plain(1, 2, 3, 4);
  frame[9] = 0xff;
  const parsed = parseBricks(message(frame).done());
  expect(() => unpackBrick(parsed.bricks[0], 8)).toThrow(WireError);
});

test("every truncation of a valid message is refused", () => {
  const bytes = message(plain(1, 2, 3, 4)).done();
  for (let end = 0; end < bytes.length; end++) expect(() => parseBricks(bytes.subarray(0, end))).toThrow(WireError);
});

test("a bulk message of an unknown kind is skipped", () => {
  expect(parseBulk(Uint8Array.from([99, 1, 2]))).toBeNull();
});
