import { PerspectiveCamera } from "three";
import { expect, test } from "vitest";
import type { Edge } from "../../src/render/box-scene";
import { homeCamera } from "../../src/render/camera";
import { type Labels, Overlay } from "../../src/render/overlay";
import { axisScales, type TransferFunction, UNSTRETCHED, type Vec3 } from "../../src/volume/index";

const grid = { size: [8, 8, 8], spacing: [1, 1, 1], origin: [0, 0, 0], unit: "", centering: "point" } as const;
const scales = axisScales({ grid, along: [null, null, null] });
const transfer: TransferFunction = {
  range: [0, 1],
  colours: { kind: "map", name: "gray" },
  opacity: [
    [0, 0],
    [1, 1],
  ],
};

/** A canvas whose context takes everything; `cleared` counts how often it was drawn anew. */
function canvas() {
  const counts = { cleared: 0 };
  const context: unknown = new Proxy({} as Record<string, unknown>, {
    get: (kept, name) => {
      if (name === "clearRect") counts.cleared += 1;
      return kept[String(name)] ?? (() => ({ width: 0, addColorStop: () => {} }));
    },
    set: () => true,
  });
  return { counts, element: { width: 100, height: 80, getContext: () => context } as unknown as HTMLCanvasElement };
}

test("labels are drawn anew only where others are to be seen", () => {
  const { counts, element } = canvas();
  const overlay = new Overlay(element);
  const three = new PerspectiveCamera();
  const labels: Labels = { scales, camera: homeCamera(1), edges: [], legend: null, axes: false, mark: null, at: null };
  const drawings = (next: Labels | null, ratio = 1) => {
    overlay.draw(next, three, ratio);
    return counts.cleared;
  };
  expect(drawings(labels)).toBe(1);
  expect(drawings({ ...labels, camera: homeCamera(1) })).toBe(1);
  const legend = { title: "u", transfer, scale: "linear" } as const;
  expect(drawings({ ...labels, legend })).toBe(2);
  expect(drawings({ ...labels, legend: { ...legend } })).toBe(2);
  expect(drawings({ ...labels, legend: { ...legend, transfer: { ...transfer } } })).toBe(3);
  expect(drawings({ ...labels, legend })).toBe(4);
  expect(drawings({ ...labels, legend: { ...legend, scale: "logarithmic" } })).toBe(5);
  const withAxes = { ...labels, axes: true };
  expect(drawings(withAxes)).toBe(6);
  expect(drawings(withAxes)).toBe(6);
  expect(drawings({ ...withAxes, camera: homeCamera(1) })).toBe(7);
  expect(drawings({ ...withAxes, camera: homeCamera(1) }, 2)).toBe(8);
  element.width = 200;
  expect(drawings(null)).toBe(9);
  expect(drawings(null)).toBe(9);
});

/** The words of axes and legend on a picture of 390 x 420 pixels, and where they are. */
function written(title: string, edges: readonly Edge[], stretch = UNSTRETCHED) {
  const written: { words: string; box: readonly [number, number, number, number] }[] = [];
  const state: Record<string, unknown> = {};
  const strokeText = (words: string, x: number, y: number) => {
    const extent = 6.5 * words.length;
    const left = x - (state.textAlign === "right" ? extent : state.textAlign === "center" ? extent / 2 : 0);
    // The gizmo's letters turn with it.
    if (!String(state.font).startsWith("600")) written.push({ words, box: [left, y - 6, left + extent, y + 6] });
  };
  const context: unknown = new Proxy(state, {
    get: (kept, name) => {
      if (name === "measureText") return (words: string) => ({ width: 6.5 * words.length });
      if (name === "strokeText") return strokeText;
      return kept[String(name)] ?? (() => ({ addColorStop: () => {} }));
    },
  });
  const overlay = new Overlay({ width: 390, height: 420, getContext: () => context } as unknown as HTMLCanvasElement);
  const camera = homeCamera(390 / 420, undefined, stretch);
  const three = new PerspectiveCamera(camera.fov, 390 / 420, 0.01, 100);
  three.position.set(0, 0, 1.5);
  three.updateMatrixWorld();
  const legend = { title, transfer, scale: "linear" } as const;
  overlay.draw({ scales, camera, edges, legend, axes: true, mark: null, at: null }, three, 1);
  return written;
}

const edge = (axis: 0 | 1 | 2, a: Vec3, b: Vec3): Edge => ({ axis, facing: 1, a, b });

test("on a phone no words run into others, and of a long title both ends are kept", () => {
  const words = written("turbulent kinetic energy dissipation rate [m^2/s^3]", [
    edge(0, [-0.25, -0.4, 0], [0.25, -0.4, 0]),
    edge(1, [-0.32, -0.4, 0], [-0.32, 0.5, 0]),
    edge(2, [-0.25, -0.4, 0], [0.25, -0.4, 0]),
  ]);
  for (const [i, { box, words: one }] of words.entries())
    for (const { box: other, words: others } of words.slice(i + 1)) {
      const isApart = box[2] <= other[0] || box[0] >= other[2] || box[3] <= other[1] || box[1] >= other[3];
      expect(isApart, `${one} and ${others}`).toBe(true);
    }
  const names = words.map((one) => one.words);
  expect(names).toEqual(expect.arrayContaining(["x", "y", "z", "0", "1"]));
  expect(names.find((one) => one.startsWith("turbulent"))).toMatch(/^turbulent\u2026.* rate \[m\^2\/s\^3\]$/);
});

test("the name of an axis tells that it is shown longer than it is", () => {
  const edges = [edge(0, [-0.25, -0.4, 0], [0.25, -0.4, 0]), edge(1, [-0.32, -0.4, 0], [-0.32, 0.5, 0])];
  const names = written("u", edges, [1, 50, 1]).map(({ words }) => words);
  expect(names).toEqual(expect.arrayContaining(["x", "y, 50\u00d7 as long"]));
});

test("a short axis, or one beside the legend, has two numbers, which do not run into each other", () => {
  for (const [axis, a, b] of [
    [0, [-0.04, -0.1, 0], [0.04, -0.1, 0]],
    [1, [0.2, -0.06, 0], [0.2, 0.06, 0]],
    [1, [-0.32, -0.1, 0], [-0.32, 0.15, 0]],
  ] as const) {
    const words = written("u", [edge(axis, a, b)]).filter(
      ({ words, box }) => box[0] !== 37 && !Number.isNaN(Number(words)),
    );
    expect(words.length, JSON.stringify(words)).toBeGreaterThan(1);
    for (const [i, { box }] of words.entries())
      for (const { box: other } of words.slice(i + 1))
        expect(box[2] <= other[0] || box[0] >= other[2] || box[3] <= other[1] || box[1] >= other[3]).toBe(true);
  }
});

test("the name of an axis that is close to the lower border is whole, and one that is beyond it is not brought back", () => {
  const nameAt = (y: number) => written("u", [edge(0, [0, y, 0], [0.3, y, 0])]).find(({ words }) => words === "x")?.box;
  // Half of the picture's height is so far from its middle.
  const border = 1.5 * Math.tan((homeCamera(1).fov * Math.PI) / 360);
  const pixel = border / 210;
  expect(nameAt(36 * pixel - border)?.[3]).toBeLessThanOrEqual(420);
  expect(nameAt(32 * pixel - border)?.[3]).toBeLessThanOrEqual(420);
  expect(nameAt(20 * pixel - border)?.[3]).toBeGreaterThan(430);
});

test("the name of an axis is not written right before the legend's title, as a part of it", () => {
  const words = written("pressure", [edge(1, [-0.3, -0.39, 0], [-0.3, 0.39, 0])]);
  const [title, name] = ["pressure", "y"].map((one) => words.find((other) => other.words === one)?.box);
  if (!title || !name) throw new Error(`not all is written: ${JSON.stringify(words)}`);
  const isInLine = name[1] < title[3] && name[3] > title[1];
  expect(isInLine && name[0] < title[2] + 8).toBe(false);
});

test("words of axes are not written among the legend's numbers", () => {
  const words = written("u", [edge(1, [-0.28, -0.39, 0], [-0.28, 0.39, 0]), edge(0, [-0.3, -0.3, 0], [0.3, -0.3, 0])]);
  const numbers = words.filter(({ box }) => box[0] === 37).map(({ box }) => box);
  expect(numbers.length).toBeGreaterThan(2);
  const right = Math.max(...numbers.map((box) => box[2]));
  const [top, bottom] = [Math.min(...numbers.map((box) => box[1])), Math.max(...numbers.map((box) => box[3]))];
  const among = words.filter(({ box }) => box[0] !== 37 && box[0] < right && box[3] > top && box[1] < bottom);
  expect(among).toEqual([]);
});
