import { expect, test } from "vitest";
import { homeCamera } from "../../src/render/camera";
import { coverage } from "../../src/render/coverage";

const cube = [1, 1, 1] as const;
const near = { ...homeCamera(1), distance: 1.4 };
const square = { camera: near, rays: [512, 512] as const };

test("a keyframe covers its own view, and a wider picture of it only where the box ends before", () => {
  expect(coverage(square, cube, near, 1)).toBe(1);
  expect(coverage(square, cube, near, 2)).toBeLessThan(0.8);
  expect(coverage({ ...square, rays: [1024, 512] }, cube, near, 2)).toBe(1);
  const far = { ...near, distance: 3.6 };
  expect(coverage({ ...square, camera: far }, cube, far, 2)).toBe(1);
});

test("of what is cut away nothing needs to be covered", () => {
  const panned = { ...near, target: [0.3, 0, 0] as const };
  const crop = [
    [0.1, 0.5],
    [0.3, 0.7],
    [0, 1],
  ] as const;
  expect(coverage(square, cube, panned, 1)).toBeLessThan(1);
  expect(coverage(square, cube, { ...panned, crop }, 1)).toBe(1);
});

test("a keyframe of the whole box covers it from everywhere", () => {
  const whole = { camera: { ...near, distance: 3.6 }, rays: [512, 512] as const };
  for (const azimuth of [0, 45, 130]) {
    expect(coverage(whole, cube, { ...near, azimuth }, 1.5)).toBe(1);
    expect(coverage(whole, cube, { ...near, azimuth, distance: 0.2 }, 1.5)).toBe(1);
  }
});

test("the further a view was panned or zoomed out beyond the rays, the less of it is covered", () => {
  const panned = [0, 0.1, 0.3, 0.6].map((x) => coverage(square, cube, { ...near, target: [x, 0, 0] }, 1));
  const zoomed = [1.4, 1.6, 1.8, 2.4].map((distance) => coverage(square, cube, { ...near, distance }, 1));
  for (const shares of [panned, zoomed]) {
    expect(shares[0]).toBe(1);
    for (const [i, share] of shares.entries()) expect(share).toBeLessThanOrEqual(shares[i - 1] ?? 1);
    expect(shares[3]).toBeLessThan(0.5);
  }
});

test("a view zoomed out of until the box is a speck is covered no better than one that it fills", () => {
  for (const distance of [6, 16, 60]) {
    expect(coverage(square, cube, { ...near, distance }, 16 / 9)).toBeLessThan(0.7);
  }
});

test("a picture that shows nothing of the box needs nothing", () => {
  expect(coverage(square, cube, { ...near, target: [9, 0, 0] }, 1)).toBe(1);
});

test("a strip along the picture's edge that no ray passes is seen, however narrow", () => {
  expect(coverage({ ...square, rays: [960, 1000] }, cube, near, 1)).toBeLessThan(0.98);
  expect(coverage({ ...square, rays: [1000, 1000] }, cube, near, 1)).toBe(1);
  const wider = { ...near, fov: near.fov * 1.04 };
  expect(coverage(square, cube, wider, 1)).toBeLessThan(0.98);
});
