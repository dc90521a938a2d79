import { expect, test } from "vitest";
import { rowsThatCame } from "../../src/render/torn";

const box = { lo: [32, 16, 0], size: [32, 16, 16] } as const;

test("rows came whose bricks did, wherever the boxes begin", () => {
  const lost = (y: number, z: number, ...parts: number[]) => [
    { lo: [0, y, z], size: [64, 32, 32], lost: parts } as const,
  ];
  expect(rowsThatCame([], box)).toBe(0b1111);
  expect(rowsThatCame(lost(0, 0, 1), box)).toBe(0b1101);
  expect(rowsThatCame(lost(0, 0, 0, 2), box)).toBe(0b1010);
  expect(rowsThatCame(lost(1, 0, 1), box)).toBe(0b1110);
  expect(rowsThatCame(lost(0, 1, 1), box)).toBe(0b0111);
  expect(rowsThatCame([...lost(0, 0, 0), ...lost(0, 1, 0)], box)).toBe(0b1010);
});

test("what is lost elsewhere says nothing of a box", () => {
  const beside = { lo: [64, 16, 0], size: [64, 32, 32], lost: [0, 1, 2, 3] } as const;
  expect(rowsThatCame([beside, { ...beside, lo: [0, 32, 0] }], box)).toBe(0b1111);
});
