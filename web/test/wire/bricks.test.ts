import { expect, test } from "vitest";
import { parseBricks, parseBulk, unpackBrick, WireError } from "../../src/wire/index";
import { Bytes, rawFrame } from "./build";

/** A brick of two rows of two samples. */
function message(frame: Uint8Array, bits = 8, size = [2, 4, 1], part = 1): Bytes {
  return new Bytes()
    .header(16)
    .u8(1, bits)
    .u16(1)
    .u16(4, 8, 4)
    .u16(0)
    .f32(-1, 3)
    .u16(1, 2, 3)
    .u8(...size, part)
    .f32(0, 2)
    .u32(frame.length)
    .bytes(frame);
}

test("reads header, level and bricks", () => {
  const parsed = parseBricks(message(rawFrame([1, 1, 254, 3])).done());
  expect(parsed.header).toEqual({ completes: true, field: 3, set: 7, step: 12, time: 0.25, view: 17 });
  expect([parsed.level, parsed.bits, parsed.size, parsed.lo, parsed.hi]).toEqual([1, 8, [4, 8, 4], -1, 3]);
  expect(parsed.bricks[0]).toMatchObject({ lo: [1, 2, 3], size: [2, 4, 1], part: 1, valueLo: 0, valueHi: 2 });
});

test("undoes differences modulo 256", () => {
  const parsed = parseBricks(message(rawFrame([1, 1, 254, 3])).done());
  expect(unpackBrick(parsed.bricks[0], 8)).toEqual(Uint8Array.from([1, 2, 0, 3]));
});

test("undoes differences modulo 65536 of split bytes", () => {
  // Codes 300, 299, 65535, 0: differences 300, 65535, 65236, 1.
  const parsed = parseBricks(message(rawFrame([44, 255, 212, 1, 1, 255, 254, 0]), 16).done());
  expect(unpackBrick(parsed.bricks[0], 16)).toEqual(Uint16Array.from([300, 299, 65535, 0]));
});

test("a brick without bytes is constant", () => {
  const parsed = parseBricks(message(new Uint8Array(0)).done());
  expect(unpackBrick(parsed.bricks[0], 8)).toBeNull();
});

test.each([
  [
    "cut short",
    message(rawFrame([1, 2, 3, 4]))
      .done()
      .subarray(0, 50),
    /needs/,
  ],
  [
    "with bytes left over",
    message(rawFrame([1, 2, 3, 4]))
      .u8(0)
      .done(),
    /left over/,
  ],
  ["with a box outside the level", message(rawFrame([1, 2, 3, 4]), 8, [4, 4, 1]).done(), /does not lie/],
  ["with an empty box", message(rawFrame([1, 2, 3, 4]), 8, [0, 4, 1]).done(), /does not lie/],
  ["with part 4", message(rawFrame([1, 2, 3, 4]), 8, [2, 4, 1], 4).done(), /no part 4/],
  ["with a part that has no slice", message(rawFrame([1, 2, 3, 4]), 8, [2, 4, 1], 2).done(), /no part 2/],
  ["with 12 bits", message(rawFrame([1, 2, 3, 4]), 12).done(), /12 bits/],
])("a message %s is refused", (_, bytes, reason) => {
  expect(() => parseBricks(bytes)).toThrow(WireError);
  expect(() => parseBricks(bytes)).toThrow(reason);
});

test("a frame that states another size is refused before it is decompressed", () => {
  const parsed = parseBricks(message(rawFrame([1, 2, 3])).done());
  expect(() => unpackBrick(parsed.bricks[0], 8)).toThrow(/holds 3 bytes where 4 are due/);
});

test("a damaged frame is refused", () => {
  const frame = rawFrame([1, 2, 3, 4]);
  frame[9] = 0xff;
  const parsed = parseBricks(message(frame).done());
  expect(() => unpackBrick(parsed.bricks[0], 8)).toThrow(WireError);
});

test("every truncation of a valid message is refused", () => {
  const bytes = message(rawFrame([1, 2, 3, 4])).done();
  for (let end = 0; end < bytes.length; end++) expect(() => parseBricks(bytes.subarray(0, end))).toThrow(WireError);
});

test("a bulk message of an unknown kind is skipped", () => {
  expect(parseBulk(Uint8Array.from([99, 1, 2]))).toBeNull();
});
