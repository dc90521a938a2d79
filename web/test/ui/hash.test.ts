import { expect, test } from "vitest";
import { type LinkState, readHash, writeHash } from "../../src/ui/hash";
import type { ColourMapName, TransferFunction } from "../../src/volume/index";

const transfer = (name: ColourMapName): TransferFunction => ({
  range: [0, 0.125],
  colours: { kind: "map", name },
  opacity: [
    [0, 0],
    [0.25, 1],
  ],
});

const state: LinkState = {
  camera: { azimuth: 12.5, elevation: -40, distance: 2.25, fov: 30, target: [0.1, 0, -0.2] },
  field: "pressure, static",
  step: 12,
  playing: true,
  proxy: "bricks",
  panel: false,
  axes: false,
  transfer: {
    range: [-1.5, 2e6],
    colours: { kind: "map", name: "inferno" },
    opacity: [
      [0, 0],
      [0.5, 0.25],
      [1, 1],
    ],
  },
  others: new Map([
    ["density & more = 1+1", transfer("viridis")],
    ["x.y", transfer("cividis")],
  ]),
};

test("a link restores the whole state", () => {
  expect(readHash(writeHash(state))).toEqual({ ...state, unknown: [] });
});

test("the logarithm of a field is named like any other", () => {
  const logarithmic: LinkState = {
    ...state,
    field: "log10(mass fraction, OH)",
    others: new Map([["log10(T)", transfer("gray")]]),
  };
  expect(readHash(writeHash(logarithmic))).toEqual({ ...logarithmic, unknown: [] });
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
  expect(readHash(writeHash(custom))).toEqual({ ...custom, unknown: [] });
});

test("a damaged link falls back to the defaults", () => {
  const read = readHash(
    "#view=1,2&step=-3&range=a,b&opacity=1&map=viridis&proxy=none&range.p=0,1&map.p=x&axes=2&play=yes",
  );
  expect(read).toEqual({
    camera: null,
    field: null,
    step: undefined,
    playing: false,
    proxy: "auto",
    panel: null,
    axes: true,
    transfer: null,
    others: new Map(),
    unknown: [],
  });
});

test("keys that no link has are told, those of other fields are none", () => {
  const { unknown } = readHash("#veiw=1,2,3,4&stpe=3&stpe=4&play=1&paly=1&range.a=0,1&map.a=gray&opacity.a=0,0&axes=0");
  expect(unknown).toEqual(["veiw", "stpe", "paly"]);
  expect(readHash(writeHash(state)).unknown).toEqual([]);
});
