import { describe, expect, test } from "vitest";
import { type LinkState, readHash, writeHash } from "../../src/ui/hash";
import type { LinkedTransfer } from "../../src/ui/link-transfer";
import { absentStepWords, linkWords } from "../../src/ui/link-words";
import { type ColourMapName, type TransferFunction, transferToMessage, UNCROPPED } from "../../src/volume/index";

const transfer = (name: ColourMapName): TransferFunction => ({
  range: [0, 0.125],
  colours: { kind: "map", name },
  opacity: [
    [0, 0],
    [0.25, 1],
  ],
});

const state: LinkState = {
  camera: {
    azimuth: 12.5,
    elevation: -40,
    distance: 2.25,
    fov: 30,
    target: [0.1, 0, -0.2],
    stretch: [1, 0.5, 40],
    up: "z",
    crop: [
      [0, 1],
      [0.125, 0.75],
      [0.5, 1],
    ],
  },
  up: "z",
  mark: [12.5, 0, -0.25],
  field: "pressure, static",
  step: 12,
  playing: true,
  stride: 5,
  proxy: "bricks",
  panel: false,
  axes: false,
  plot: true,
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

/** What a link that says all of it is read as. */
function asRead(said: LinkState) {
  return { ...said, stretch: said.camera.stretch, crop: said.camera.crop, unknown: [], unusable: [] };
}

test("a link restores the whole state", () => {
  expect(readHash(writeHash(state))).toEqual(asRead(state));
});

test("the logarithm of a field is named like any other", () => {
  const logarithmic: LinkState = {
    ...state,
    field: "log10(mass fraction, OH)",
    others: new Map([["log10(T)", transfer("gray")]]),
  };
  expect(readHash(writeHash(logarithmic))).toEqual(asRead(logarithmic));
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
  expect(readHash(writeHash(custom))).toEqual(asRead(custom));
});

test("a damaged link falls back to the defaults, and what is damaged is known", () => {
  const damaged = ["view=1,2", "at=0,0,0", "step=-3", "play=yes", "by=0", "proxy=none", "axes=2", "mark=1,2", "plot=2"];
  const transfers = ["range=a,b", "map=nope", "opacity=1", "map.p=x"];
  const { unusable, ...read } = readHash(`#${[...damaged, ...transfers].join("&")}`);
  expect(read).toEqual({
    camera: null,
    up: null,
    stretch: [1, 1, 1],
    crop: UNCROPPED,
    mark: null,
    field: null,
    step: undefined,
    playing: false,
    stride: 1,
    proxy: "auto",
    panel: null,
    axes: true,
    plot: false,
    transfer: null,
    others: new Map(),
    unknown: [],
  });
  expect([...unusable].sort()).toEqual([...damaged, ...transfers].sort());
});

test("each part of a transfer function holds without the others", () => {
  const read = (hash: string) => {
    const { transfer, unusable } = readHash(hash);
    return { transfer, unusable };
  };
  expect(read("#range=0,10")).toEqual({ transfer: { range: [0, 10] }, unusable: [] });
  expect(read("#map=inferno")).toEqual({ transfer: { colours: { kind: "map", name: "inferno" } }, unusable: [] });
  expect(read("#opacity=1,1;0,0").transfer).toEqual({
    opacity: [
      [0, 0],
      [1, 1],
    ],
  });
  expect(read("#range=0,10&map=nope")).toEqual({ transfer: { range: [0, 10] }, unusable: ["map=nope"] });
  const others = readHash("#map.q=gray&range.x.y=1,2").others;
  expect(others).toEqual(
    new Map<string, LinkedTransfer>([
      ["q", { colours: { kind: "map", name: "gray" } }],
      ["x.y", { range: [1, 2] }],
    ]),
  );
  const partial = { ...state, transfer: { range: [0, 10] as const }, others };
  expect(readHash(writeHash(partial))).toEqual(asRead(partial));
});

test("numbers with which nothing would be seen are told, and the default is taken", () => {
  const read = (hash: string) => {
    const { camera, unusable } = readHash(hash);
    return { camera, unusable };
  };
  const stance = { stretch: [1, 1, 1], up: "y", crop: UNCROPPED };
  const home = { azimuth: 30, elevation: 20, distance: 3, fov: 30, target: [0, 0, 0], ...stance };
  for (const at of ["1e300,0,0", "0,-4.1,0", "0,0,99"])
    expect(read(`#view=30,20,3,30&at=${at}`)).toEqual({ camera: home, unusable: [`at=${at}`] });
  for (const view of ["1e300,20,3,30", "30,20,1e-300,30", "30,20,1e300,30", "30,20,3,1e300", "30,90,3,30"])
    expect(read(`#view=${view}`)).toEqual({ camera: null, unusable: [`view=${view}`] });
  expect(read("#view=-360,-89,0.02,30&at=4,-4,0")).toEqual({
    camera: { azimuth: -360, elevation: -89, distance: 0.02, fov: 30, target: [4, -4, 0], ...stance },
    unusable: [],
  });
  expect(readHash("#step=1e300&by=1e300").unusable).toEqual(["step=1e300", "by=1e300"]);
});

test("how long axes are shown holds with a view and without one, within limits", () => {
  expect(readHash("#view=30,20,3,30&stretch=1,1,30").camera?.stretch).toEqual([1, 1, 30]);
  expect(readHash("#stretch=1,1,30")).toMatchObject({ camera: null, stretch: [1, 1, 30], unusable: [] });
  expect(readHash("#up=z")).toMatchObject({ camera: null, up: "z", unusable: [] });
  expect(readHash("#view=30,20,3,30")).toMatchObject({ camera: { up: "y" }, up: null });
  expect(readHash("#up=x")).toMatchObject({ up: null, unusable: ["up=x"] });
  for (const stretch of ["1,1", "1,1,0", "1,1,-2", "1e7,1,1", "a,1,1"])
    expect(readHash(`#stretch=${stretch}`)).toMatchObject({
      stretch: [1, 1, 1],
      unusable: [`stretch=${stretch}`],
    });
});

test("what is shown of the box holds with a view and without one, as the program takes it", () => {
  const part = [[0, 1], [0.25, 1], [0, 0.5]]; // biome-ignore format: as it is written
  for (const crop of ["0:1,0.25:1,0:0.5", ":,0.25:,:0.5"]) {
    expect(readHash(`#view=30,20,3,30&crop=${crop}`).camera?.crop).toEqual(part);
    expect(readHash(`#crop=${crop}`)).toMatchObject({ camera: null, crop: part, unusable: [] });
  }
  for (const crop of [
    "0:1,0:1",
    "0:1,0:1,0.5:0.5",
    "0:1,0:1,0.7:0.2",
    "0:1,0:1,-1:1",
    "0:1,0:1,0:2",
    "a:,:,:",
    "1,1,1",
  ])
    expect(readHash(`#crop=${crop}`)).toMatchObject({ crop: UNCROPPED, unusable: [`crop=${crop}`] });
  expect(writeHash(state)).toContain("&crop=0:1,0.125:0.75,0.5:1");
});

test("a range is taken if single precision has its bounds, in order", () => {
  const range = (text: string) => readHash(`#range=${text}&map=viridis&opacity=0,0;1,1`).transfer?.range;
  expect([range("1,5"), range("2,2"), range("-3e38,3e38")]).toEqual([
    [1, 5],
    [2, 2],
    [-3e38, 3e38],
  ]);
  for (const none of ["5,1", "0,1e60", "-1e60,0", "3.5e38,3.6e38", "NaN,1", "0,", ","])
    expect(range(none), none).toBeUndefined();
});

describe("what a link says in vain", () => {
  const fields = [{ name: "p" }, { name: "q" }];
  const grid = { size: [48, 48, 1] } as const;
  const words = (hash: string, live = false) => linkWords(readHash(hash), { live, fields, grid });

  test("is told, with what it may say", () => {
    expect(words("#field=q&range.p=0,1&step=3")).toBe("");
    expect(words("#bogus=1")).toMatch(
      /^This link says \u201cbogus\u201d, which means nothing here: it may say view,.*\.$/,
    );
    expect(words("#field=nope&range=5,1")).toBe(
      "This link says \u201crange=5,1\u201d, \u201cfield=nope\u201d, which cannot be used here: the default is shown instead.",
    );
    expect(words("#bogus=1&proxy=magic")).toMatch(
      /\u201cbogus\u201d, .* opacity; and \u201cproxy=magic\u201d, which cannot/,
    );
    expect(words("#step=live", true)).toBe("");
    expect(words("#step=live")).toMatch(/\u201cstep=live\u201d, which cannot/);
    expect(words("#map.nope=gray")).toMatch(/\u201cmap.nope\u201d/);
    expect(words(`#map=${"x".repeat(99)}`)).toContain(`\u201cmap=${"x".repeat(20)}\u2026\u201d`);
    expect(words("#map=%E2%80%AEgnorw%00")).toContain("\u201cmap=gnorw\ufffd\u201d");
    expect(words("#step=a&play=b&axes=c&map=d")).toMatch(/\u201caxes=c\u201d, and more, which cannot/);
  });

  test("is told of a place that the source does not have", () => {
    expect(words("#mark=47.5,-0.5,0")).toBe("");
    expect(words("#mark=100,1,0")).toBe(
      "This link says \u201cmark=100,1,0\u201d, which cannot be used here: the default is shown instead.",
    );
    expect(words("#mark=-5,1,1")).toMatch(/\u201cmark=-5,1,1\u201d, which cannot/);
  });

  test("is told of a step that is not there, or not any more", () => {
    const steps = { first: 2, last: 5 };
    expect(absentStepWords(99, { first: 0, last: 0 }, false, false)).toBe("There is no step 99: step 0 is shown.");
    expect(absentStepWords(7, steps, false, true)).toBe("Step 7 is gone: step 5 is shown.");
    expect(absentStepWords(9, steps, true, false)).toBe("There is no step 9 yet: following the newest.");
    expect(absentStepWords(1, steps, true, false)).toBe("Step 1 is gone: following the newest.");
    expect(absentStepWords(9, steps, true, true)).toBe("Step 9 is gone: following the newest.");
  });
});

test("stops and points beyond 0 and 1 are told, and the default is taken", () => {
  for (const beyond of ["opacity=0,2;1,1", "opacity=-0.1,0;1,1", "map=0,0,0,0;1,1,1,1.5", "map=0,0,0,0;2,1,1,1"])
    expect(readHash(`#${beyond}`)).toMatchObject({ transfer: null, unusable: [beyond] });
});

test("all stops and points of a link are taken, or none and that is told", () => {
  const places = (count: number) => Array.from({ length: count }, (_, i) => (i / count).toFixed(4));
  const map = (count: number) =>
    `map=${places(count)
      .map((s) => `${s},${s},0,1`)
      .join(";")}`;
  const opacity = (count: number) =>
    `opacity=${places(count)
      .map((s) => `${s},${s}`)
      .join(";")}`;
  const most = readHash(`#${map(192)}&${opacity(64)}`);
  expect(most.unusable).toEqual([]);
  const { colours, opacity: points } = most.transfer ?? {};
  if (colours?.kind !== "stops" || !points) throw new Error("the link has stops and points");
  expect([colours.stops.length, points.length]).toEqual([192, 64]);
  // What the server takes at most.
  const whole: TransferFunction = { range: [0, 1], colours, opacity: points };
  expect(transferToMessage(whole).points.length).toBeLessThanOrEqual(256);
  for (const more of [map(193), opacity(65)])
    expect(readHash(`#${more}`)).toMatchObject({ transfer: null, unusable: [more] });
});

test("keys that no link has are told, those of other fields are none", () => {
  const { unknown } = readHash("#veiw=1,2,3,4&stpe=3&stpe=4&play=1&paly=1&range.a=0,1&map.a=gray&opacity.a=0,0&axes=0");
  expect(unknown).toEqual(["veiw", "stpe", "paly"]);
  expect(readHash(writeHash(state)).unknown).toEqual([]);
});
