import { expect, test } from "vitest";
import { differenceOf, unpackSymbols } from "../../src/wire/symbols";
import { rawFrame } from "./build";

/** Nine symbols of 8 bits, and parts of eight and two of 16. */
const PACKED = [1, 0x21, 0x03, 0xef, 0, 0, 200, 1, 0xf4, 5, 0, 0, 2, 1, 0, 7, 44, 0, 1];
const WIDE = [8, 2];

test("small symbols are nibbles, and large ones follow; parts of large ones are plain", () => {
  const { narrow, wide } = unpackSymbols(rawFrame(PACKED), 9, WIDE, "tile");
  expect([...narrow]).toEqual([1, 2, 3, 0, 200, 14, 0, 0, 0]);
  expect(wide.map((part) => [...part])).toEqual([
    [4, 0x0102, 5, 0, 0, 0, 0, 0],
    [7, 300],
  ]);
});

test("parts of nothing take no bytes", () => {
  const { narrow, wide } = unpackSymbols(rawFrame([0, 7]), 1, [0, 0], "tile");
  expect([[...narrow], wide.map((part) => part.length)]).toEqual([[7], [0, 0]]);
});

test.each([
  ["nibbles", PACKED.slice(0, 4), /tile: 4 bytes where 6 are due/],
  ["large ones", PACKED.slice(0, 6), /tile: 6 bytes where 7 are due/],
  ["high bytes", PACKED.slice(0, 18), /tile: 18 bytes where 19 are due/],
])("too few %s are refused", (_, bytes, reason) => {
  expect(() => unpackSymbols(rawFrame(bytes), 9, WIDE, "tile")).toThrow(reason);
});

test("what is left over is refused, and what is more than plain ones", () => {
  expect(() => unpackSymbols(rawFrame([...PACKED, 0]), 9, WIDE, "tile")).toThrow(/tile: 20 bytes where 19 are due/);
  expect(() => unpackSymbols(rawFrame(new Array(33).fill(0)), 9, WIDE, "tile")).toThrow(
    /holds 33 bytes where at most 32/,
  );
});

test("parts that are written in no known way are refused", () => {
  const unknown = (at: number, way: number) => PACKED.map((byte, i) => (i === at ? way : byte));
  const due = (way: number) => `tile: a part begins with the byte ${way}, where 0 or 1 is due`;
  expect(() => unpackSymbols(rawFrame(unknown(0, 2)), 9, WIDE, "tile")).toThrow(due(2));
  expect(() => unpackSymbols(rawFrame(unknown(14, 255)), 9, WIDE, "tile")).toThrow(due(255));
  // Where what is behind it would be as long in a way that is known.
  expect(() => unpackSymbols(rawFrame([2, 7]), 1, [], "tile")).toThrow(due(2));
});

test("signs are interleaved", () => {
  expect([0, 1, 2, 3, 254, 255, 65535].map(differenceOf)).toEqual([0, -1, 1, -2, 127, -128, -32768]);
});
