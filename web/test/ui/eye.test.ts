import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { basisOf } from "../../src/render/camera";
import { homeCamera } from "../../src/render/index";
import { Eye } from "../../src/ui/eye";
import { UNCROPPED, UNSTRETCHED } from "../../src/volume/index";
import type { Up } from "../../src/wire/index";

const STANCE = { stretch: UNSTRETCHED, up: null, crop: UNCROPPED } as const;

beforeEach(() => vi.useFakeTimers());
afterEach(() => vi.useRealTimers());

test("the first view fits the picture and the box until it is moved, and again when one goes home", () => {
  let aspect = 1;
  const eye = new Eye(
    null,
    STANCE,
    () => aspect,
    () => undefined,
  );
  expect(eye.camera).toEqual(homeCamera(1));
  aspect = 0.5;
  eye.fit([1, 0.2, 0.1]);
  expect(eye.camera).toEqual(homeCamera(0.5, [1, 0.2, 0.1]));
  eye.orbit(0.3, 0.1);
  const moved = eye.camera;
  aspect = 2;
  eye.fit();
  expect(eye.camera).toBe(moved);
  eye.goHome();
  aspect = 0.7;
  eye.fit();
  expect(eye.camera).toEqual(homeCamera(0.7, [1, 0.2, 0.1]));
});

test("the view of a link stays as it is", () => {
  const linked = { ...homeCamera(1), azimuth: 1 };
  const eye = new Eye(
    linked,
    linked,
    () => 0.3,
    () => undefined,
  );
  eye.fit([1, 1, 1]);
  expect(eye.camera).toBe(linked);
});

test("where axes are stretched the first view fits the longer box, and another one looks at the same place of it", () => {
  const eye = new Eye(
    null,
    { ...STANCE, stretch: [1, 1, 2], up: "y" },
    () => 1,
    () => undefined,
  );
  eye.fit([1, 1, 0.1]);
  expect(eye.camera).toEqual(homeCamera(1, [1, 1, 0.1], [1, 1, 2]));
  eye.stretch([1, 1, 10], [1, 1, 0.5]);
  expect(eye.camera).toEqual(homeCamera(1, [1, 1, 0.5], [1, 1, 10]));
  expect(eye.isMoving).toBe(false);
  eye.pan(0.1, 0.1);
  const { target } = eye.camera;
  eye.stretch([1, 1, 20], [1, 1, 1]);
  expect(eye.camera).toMatchObject({ stretch: [1, 1, 20], target: [target[0], target[1], 2 * target[2]] });
  eye.goHome();
  expect(eye.camera).toEqual(homeCamera(1, [1, 1, 1], [1, 1, 20]));
  // Beside a thin box, and beyond where one may look.
  eye.stretch([1, 1, 1], [1, 1, 0.1]);
  eye.orbit(0, -20);
  eye.pan(0, 10);
  const beside = eye.camera.target;
  eye.stretch([1, 1, 10], [1, 1, 1]);
  expect(eye.camera.target[1]).toBe(beside[1]);
  expect(Math.max(...eye.camera.target.map(Math.abs))).toBeLessThanOrEqual(4);
});

test("another axis upwards is seen from the first view", () => {
  const eye = new Eye(
    null,
    STANCE,
    () => 1,
    () => undefined,
  );
  eye.fit([1, 0.5, 0.2]);
  eye.orbit(100, 10);
  eye.stand("z");
  expect(eye.camera).toEqual(homeCamera(1, [1, 0.5, 0.2], UNSTRETCHED, "z"));
  expect(basisOf(eye.camera).up[2]).toBeGreaterThan(0.9);
  expect(basisOf(eye.camera).eye[1]).toBeLessThan(-1);
});

test("what is shown says which axis is up, unless somebody has, and a view that is turned keeps it", () => {
  const eyeOf = (up: Up | null) =>
    new Eye(
      null,
      { ...STANCE, up },
      () => 1,
      () => undefined,
    );
  const eye = eyeOf(null);
  eye.begin("z");
  eye.fit([1, 1, 1]);
  expect([eye.camera.up, eye.saidUp]).toEqual(["z", "z"]);
  eye.orbit(10, 0);
  eye.begin("y");
  eye.fit([1, 1, 1]);
  expect(eye.camera.up).toBe("z");
  eye.goHome();
  expect([eye.camera.up, eye.saidUp]).toEqual(["y", null]);
  eye.stand("z");
  eye.begin("y");
  eye.fit([1, 1, 1]);
  expect([eye.camera.up, eye.saidUp]).toEqual(["z", "z"]);
  const said = eyeOf("y");
  said.begin("z");
  said.fit([1, 1, 1]);
  expect([said.camera.up, said.saidUp]).toEqual(["y", "y"]);
});

test("it moves until nothing has moved it for a while, and tells both", () => {
  const told: boolean[] = [];
  const eye: Eye = new Eye(
    null,
    STANCE,
    () => 1,
    () => told.push(eye.isMoving),
  );
  eye.zoom(1.1);
  vi.advanceTimersByTime(100);
  eye.pan(0.1, 0);
  vi.advanceTimersByTime(100);
  expect(told).toEqual([true, true]);
  vi.advanceTimersByTime(100);
  expect(told).toEqual([true, true, false]);
});
