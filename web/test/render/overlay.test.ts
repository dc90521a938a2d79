import { PerspectiveCamera } from "three";
import { expect, test } from "vitest";
import { homeCamera } from "../../src/render/camera";
import { type Labels, Overlay } from "../../src/render/overlay";
import { geometryOf, type TransferFunction } from "../../src/volume/index";

const grid = { size: [8, 8, 8], spacing: [1, 1, 1], origin: [0, 0, 0], unit: "", centering: "point" } as const;
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
  const geometry = geometryOf(grid);
  const labels: Labels = { geometry, lengthUnit: "", camera: homeCamera(1), edges: [], legend: null, axes: false };
  const drawings = (next: Labels | null, ratio = 1) => {
    overlay.draw(next, three, ratio);
    return counts.cleared;
  };
  expect(drawings(labels)).toBe(1);
  expect(drawings({ ...labels, camera: homeCamera(1) })).toBe(1);
  expect(drawings({ ...labels, legend: { title: "u", transfer } })).toBe(2);
  expect(drawings({ ...labels, legend: { title: "u", transfer } })).toBe(2);
  expect(drawings({ ...labels, legend: { title: "u", transfer: { ...transfer } } })).toBe(3);
  const withAxes = { ...labels, axes: true };
  expect(drawings(withAxes)).toBe(4);
  expect(drawings(withAxes)).toBe(4);
  expect(drawings({ ...withAxes, camera: homeCamera(1) })).toBe(5);
  expect(drawings({ ...withAxes, camera: homeCamera(1) }, 2)).toBe(6);
  element.width = 200;
  expect(drawings(null)).toBe(7);
  expect(drawings(null)).toBe(7);
});
