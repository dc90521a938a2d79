import { anyCellRanges, axisScales, geometryOf, transferFromMessage, UNSTRETCHED } from "../volume/index";
import { halfFromNumber } from "../wire/index";
import type { BulkPart } from "../worker/index";
import { basisOf, homeCamera } from "./camera";
import type { Shown } from "./compositor";
import { Fences, type WorkKind } from "./fences";
import type { Gl, Target } from "./gl";
import type { Passes } from "./passes";
import type { Presenter } from "./presenter";
import { Proxies, type Scene } from "./proxies";

const EDGE = 8;
const CUBE = [EDGE, EDGE, EDGE] as const;
const AT_ONCE = Number.POSITIVE_INFINITY;

const camera = homeCamera(1);
const grid = { size: CUBE, spacing: [1, 1, 1], origin: [0, 0, 0], unit: "", centering: "cell" } as const;
const geometry = geometryOf(grid, UNSTRETCHED);
const points = [[0, 0, 0, 0, 0] as const, [1, 1, 1, 1, 1] as const];
const transfer = transferFromMessage({ range: [0, 1], points });
const wanted = { field: 0, step: null, proxy: "auto" } as const;
const scene: Scene = { wanted, camera, aspect: 1, geometry, transfers: new Map([[0, transfer]]) };
const annotation = {
  scales: axisScales({ grid, along: [null, null, null] }),
  legends: [],
  axes: true,
  mark: null,
} as const;
const legend = { title: "", transfer, scale: "linear" } as const;

/**
 * Draws a little of everything while there is nothing to show: drivers make much of a program only when it draws for the first time.
 *
 * One piece at a time, what a first picture needs first; nothing of it stays on the screen.
 */
export class WarmUp {
  readonly #passes: Passes;
  readonly #proxies: Proxies;
  readonly #presenter: Presenter;
  readonly #targets: Readonly<Record<WorkKind, readonly Target[]>>;
  readonly #fences: Fences;
  readonly #due = samples();
  #hasPresented = false;

  constructor(gl: Gl, passes: Passes, presenter: Presenter, targets: Readonly<Record<WorkKind, readonly Target[]>>) {
    this.#passes = passes;
    this.#proxies = new Proxies(gl, passes);
    this.#presenter = presenter;
    this.#targets = targets;
    this.#fences = new Fences(gl);
  }

  get isDone(): boolean {
    return this.#due.length === 0 && !this.#proxies.isUploading;
  }

  /** Draws the next piece once the one before is done and the driver has its program; whether the screen is to be presented anew. */
  advance(): boolean {
    this.#fences.poll();
    if (this.#fences.pending || !this.#passes.bricks.isReady) return false;
    if (!this.#proxies.isUploading) this.#begin();
    this.#proxies.advance(AT_ONCE, scene);
    const subject = this.#proxies.isUploading ? null : this.#proxies.subject(scene);
    if (!subject) return false;
    const [target] = this.#targets[subject.kind];
    target.resize(EDGE, EDGE);
    subject.draw(target, 0, EDGE, "exact");
    const presents = !this.#hasPresented;
    this.#hasPresented = true;
    const image: Shown = { texture: target.texture, fromTop: false };
    // Once: it takes all pixels of the screen.
    if (presents) this.#presenter.present(image, { geometry, camera, annotation, legend });
    this.#fences.submit(performance.now(), EDGE * EDGE, subject.kind);
    if (this.isDone) this.#proxies.begin(1, false);
    return presents;
  }

  #begin(): void {
    const part = this.#due.shift();
    if (part) this.#proxies.accept(part, 0);
  }
}

/** The least of each kind of proxy, in the order in which pages need them. */
function samples(): BulkPart[] {
  const header = (set: number) => ({ completes: true, field: 0, set, step: 0, time: Number.NaN, view: 1 });
  const [lo, first] = [[0, 0, 0] as const, { x: 0, y: 0, width: EDGE, height: EDGE }];
  const level = { level: 0, bits: 8, size: CUBE, lo: 0, hi: 1, asSingles: false } as const;
  const halves = () => new Uint16Array(CUBE[0] * CUBE[1] * CUBE[2]).fill(halfFromNumber(0.5));
  const box = () => ({ lo, size: CUBE, lost: [], samples: halves(), ranges: anyCellRanges(lo, CUBE) });
  const rays = [EDGE, EDGE] as const;
  const [near, far] = [camera.distance - 0.9, camera.distance + 0.9];
  const slabs = { camera, rays, slabCount: 1, normal: basisOf(camera).forward, near, far };
  const values = { edges: geometry.edges, range: [0, 1] as const };
  const texels = new Uint16Array(4 * EDGE * EDGE);
  const face = { face: 0, ...first, values: new Uint16Array(EDGE * EDGE) };
  const along = { camera, rays, planeCount: EDGE, near, spacing: (far - near) / EDGE };
  return [
    { type: "bricks", header: header(1), ...level, boxes: [box()] },
    { type: "scalarSlabs", header: header(2), ...slabs, ...values, tiles: [face] },
    { type: "segments", header: header(3), ...along, ...values, tiles: [box()] },
    { type: "slabs", header: header(4), ...slabs, tiles: [{ slab: 0, ...first, texels }] },
  ];
}
