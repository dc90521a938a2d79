import { expect, test } from "vitest";
import { homeCamera } from "../../src/render/camera";
import { covers } from "../../src/render/coverage";

const cube = [1, 1, 1] as const;
const near = { ...homeCamera(1), distance: 1.4 };
const square = { camera: near, rays: [512, 512] as const };

test("a keyframe covers its own view, and a wider picture of it only where the box ends before", () => {
  expect(covers(square, cube, near, 1)).toBe(true);
  expect(covers(square, cube, near, 2)).toBe(false);
  expect(covers({ ...square, rays: [1024, 512] }, cube, near, 2)).toBe(true);
  const far = { ...near, distance: 3.6 };
  expect(covers({ ...square, camera: far }, cube, far, 2)).toBe(true);
});

test("a keyframe of the whole box covers it from everywhere", () => {
  const whole = { camera: { ...near, distance: 3.6 }, rays: [512, 512] as const };
  for (const azimuth of [0, 45, 130]) {
    expect(covers(whole, cube, { ...near, azimuth }, 1.5)).toBe(true);
    expect(covers(whole, cube, { ...near, azimuth, distance: 0.2 }, 1.5)).toBe(true);
  }
});

test("a view that was panned or zoomed out beyond the rays is not covered", () => {
  expect(covers(square, cube, { ...near, target: [0.3, 0, 0] }, 1)).toBe(false);
  expect(covers(square, cube, { ...near, distance: 1.8 }, 1)).toBe(false);
});

test("a picture that shows nothing of the box needs nothing", () => {
  expect(covers(square, cube, { ...near, target: [9, 0, 0] }, 1)).toBe(true);
});

test("a strip along the picture's edge that no ray passes is seen, however narrow", () => {
  expect(covers({ ...square, rays: [960, 1000] }, cube, near, 1)).toBe(false);
  expect(covers({ ...square, rays: [1000, 1000] }, cube, near, 1)).toBe(true);
  const wider = { ...near, fov: near.fov * 1.04 };
  expect(covers(square, cube, wider, 1)).toBe(false);
});
