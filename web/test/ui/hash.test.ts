import { expect, test } from "vitest";
import { type LinkState, readHash, writeHash } from "../../src/ui/hash";

const state: LinkState = {
  camera: { azimuth: 12.5, elevation: -40, distance: 2.25, fov: 30, target: [0.1, 0, -0.2] },
  field: "pressure, static",
  step: 12,
  proxy: "bricks",
  panel: false,
  transfer: {
    range: [-1.5, 2e6],
    colours: { kind: "map", name: "inferno" },
    opacity: [
      [0, 0],
      [0.5, 0.25],
      [1, 1],
    ],
  },
};

test("a link restores the whole state", () => {
  expect(readHash(writeHash(state))).toEqual(state);
});

test("colours that are no known map are written as stops", () => {
  const stops = [
    [0, 0.1, 0.2, 0.3],
    [1, 1, 0, 0.5],
  ] as const;
  const custom: LinkState = {
    ...state,
    step: null,
    transfer: {
      range: [0, 1],
      colours: { kind: "stops", stops },
      opacity: [
        [0, 0],
        [1, 1],
      ],
    },
  };
  expect(readHash(writeHash(custom))).toEqual(custom);
});

test("a damaged link falls back to the defaults", () => {
  const read = readHash("#view=1,2&step=-3&range=a,b&opacity=1&map=viridis&proxy=none");
  expect(read).toEqual({
    camera: null,
    field: null,
    step: undefined,
    proxy: "auto",
    panel: null,
    transfer: null,
  });
});
