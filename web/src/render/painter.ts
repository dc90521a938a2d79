import type { Geometry, TransferFunction } from "../volume/index";
import type { BulkPart } from "../worker/index";
import { BoxScene, boxEdges, type Edge } from "./box-scene";
import { BrickSets } from "./brick-sets";
import { basisOf, type Camera, homeCamera } from "./camera";
import { Compositor, type Shown } from "./compositor";
import { Fences, type WorkKind } from "./fences";
import { type Gl, GraphicsError, Target } from "./gl";
import { drawLabels, type Labels } from "./overlay";
import { Pacing } from "./pacing";
import { slabsFit, type Wanted } from "./selection";
import { SlabPass, slabsServe } from "./slab-pass";
import { type SlabSet, SlabSets } from "./slab-sets";
import { type Still, Stills } from "./stills";
import { type BrickPicture, VolumePass } from "./volume-pass";

/** What is on the screen. */
export interface ShownState {
  readonly proxy: "bricks" | "slabs" | "still" | "none";
  readonly step: number | null;
  readonly time: number;
  readonly level: number | null;
  readonly bits: number | null;
  readonly field: number | null;
  /** Linear fraction of the full resolution it was drawn at. */
  readonly resolution: number;
}

export interface PainterOptions {
  /** Keep the drawing buffer, so that tests can read it. */
  readonly keepBuffer: boolean;
  /** Always draw at full resolution. */
  readonly fullResolution: boolean;
  /** Show stills; tests that look at the page's own pictures switch them off. */
  readonly stills: boolean;
}

/** Words and scales drawn over the picture. */
export interface Annotation {
  readonly lengthUnit: string;
  readonly legendTitle: string | null;
  readonly caption: string;
  readonly axes: boolean;
}

type Subject =
  | { readonly kind: "bricks"; readonly picture: BrickPicture }
  | { readonly kind: "slabs"; readonly set: SlabSet };

const UPLOAD_BUDGET_MS = 6;
/** While the view moves: 30 pictures a second. */
const MOVING_BUDGET_MS = 30;
/** When only the data changed. */
const DATA_BUDGET_MS = 140;
/** A piece of the full picture at rest: how long a new movement may have to wait. */
const REFINE_BUDGET_MS = 40;
const POLLS_PER_PIECE = 12;
const REST_MS = 140;
const DATA_REST_MS = 450;

/**
 * Draws what there is, when something changed, at a resolution the machine can hold; refines at rest.
 *
 * Owns the page's one WebGL context. Never waits: not for the network, not for the graphics processor.
 */
export class Painter {
  readonly #gl: Gl;
  readonly #canvas: HTMLCanvasElement;
  readonly #overlay: HTMLCanvasElement;
  readonly #options: PainterOptions;
  readonly #bricks: BrickSets;
  readonly #slabs: SlabSets;
  readonly #stills: Stills;
  readonly #volumePass: VolumePass;
  readonly #slabPass: SlabPass;
  readonly #compositor: Compositor;
  readonly #box: BoxScene;
  readonly #fences: Fences;
  readonly #pacing = { bricks: new Pacing(), slabs: new Pacing() };
  #front: { target: Target; kind: WorkKind } | null = null;
  readonly #targets: Record<WorkKind, [Target, Target]>;
  #geometry: Geometry | null = null;
  readonly #transfers = new Map<number, TransferFunction>();
  #camera: Camera = homeCamera(1);
  #wanted: Wanted = { field: 0, step: null };
  #annotation: Annotation = { lengthUnit: "", legendTitle: null, caption: "", axes: true };
  #pixelRatio = 1;
  #sequence = 0;
  #version = 1;
  #drawn = 0;
  #resolution = 0;
  #restAt = 0;
  #budget = MOVING_BUDGET_MS;
  #refining: { target: Target; row: number; version: number } | null = null;
  #presentDue = true;
  #scheduled = false;
  #shownState: ShownState = nothingShown;
  frameCount = 0;
  lastFrameTime = 0;
  /** Called after each frame that reached the canvas, with its state. */
  onFrame: (state: ShownState) => void = () => {};

  constructor(canvas: HTMLCanvasElement, overlay: HTMLCanvasElement, options: PainterOptions) {
    const gl = canvas.getContext("webgl2", {
      alpha: false,
      antialias: false,
      depth: false,
      stencil: false,
      powerPreference: "high-performance",
      preserveDrawingBuffer: options.keepBuffer,
    });
    if (!gl) throw new GraphicsError("WebGL2 is not available");
    if (!gl.getExtension("EXT_color_buffer_float") && !gl.getExtension("EXT_color_buffer_half_float")) {
      throw new GraphicsError("this browser's WebGL2 cannot draw into images of half floats");
    }
    this.#gl = gl;
    this.#canvas = canvas;
    this.#overlay = overlay;
    this.#options = options;
    this.#box = new BoxScene(canvas, gl);
    this.#bricks = new BrickSets(gl);
    this.#slabs = new SlabSets(gl);
    this.#stills = new Stills(gl);
    this.#volumePass = new VolumePass(gl);
    this.#slabPass = new SlabPass(gl);
    this.#compositor = new Compositor(gl);
    this.#fences = new Fences(gl);
    this.#targets = {
      bricks: [new Target(gl, "rgba8"), new Target(gl, "rgba8")],
      slabs: [new Target(gl, "rgba16f"), new Target(gl, "rgba16f")],
    };
  }

  get shown(): ShownState {
    return this.#shownState;
  }

  /** Width over height. */
  get aspect(): number {
    return this.#canvas.width / this.#canvas.height;
  }

  /** Width and height of the picture in device pixels. */
  get size(): readonly [number, number] {
    return [this.#canvas.width, this.#canvas.height];
  }

  /** A new session with `groups` data connections; `sameGrid` keeps the picture until new data come. */
  begin(groups: number, geometry: Geometry, sameGrid: boolean): void {
    this.#bricks.begin(groups);
    this.#slabs.begin(groups);
    this.#stills.begin(groups);
    if (!sameGrid) this.#bricks.clear();
    this.#geometry = geometry;
    this.#touch(MOVING_BUDGET_MS);
  }

  resize(cssWidth: number, cssHeight: number, pixelRatio: number): void {
    const limit = Math.min(4096, this.#gl.getParameter(this.#gl.MAX_RENDERBUFFER_SIZE) as number);
    const ratio = Math.min(pixelRatio, limit / Math.max(1, cssWidth, cssHeight));
    const width = Math.max(1, Math.round(cssWidth * ratio));
    const height = Math.max(1, Math.round(cssHeight * ratio));
    this.#pixelRatio = ratio;
    for (const canvas of [this.#canvas, this.#overlay]) {
      if (canvas.width !== width) canvas.width = width;
      if (canvas.height !== height) canvas.height = height;
    }
    this.#present();
    this.#touch(MOVING_BUDGET_MS);
  }

  /** `sequence`: of the view as it will be sent; a still is shown only for the current one. */
  look(camera: Camera, sequence: number): void {
    this.#sequence = sequence;
    if (camera === this.#camera) return;
    this.#camera = camera;
    this.#touch(MOVING_BUDGET_MS);
  }

  /** The view changed in something else than the camera. */
  setSequence(sequence: number): void {
    this.#sequence = sequence;
  }

  setTransfer(field: number, transfer: TransferFunction): void {
    if (transfer === this.#transfers.get(field)) return;
    this.#transfers.set(field, transfer);
    if (field === this.#wanted.field) this.#slabs.invalidate();
    this.#touch(MOVING_BUDGET_MS);
  }

  want(wanted: Wanted): void {
    if (wanted.field === this.#wanted.field && wanted.step === this.#wanted.step) return;
    if (wanted.field !== this.#wanted.field) this.#slabs.invalidate();
    this.#wanted = wanted;
    this.#schedule();
  }

  annotate(annotation: Annotation): void {
    const before = this.#annotation;
    const same = (Object.keys(annotation) as (keyof Annotation)[]).every((name) => annotation[name] === before[name]);
    if (same) return;
    this.#annotation = annotation;
    this.#presentDue = true;
    this.#schedule();
  }

  accept(part: BulkPart): void {
    switch (part.type) {
      case "bricks":
        this.#bricks.accept(part);
        break;
      case "slabs":
        this.#slabs.accept(part);
        break;
      case "still":
        if (this.#stills.accept(part)) this.#presentDue = true;
        break;
    }
    this.#schedule();
  }

  /** The picture as PNG, with labels or without. */
  async png(withLabels: boolean): Promise<Blob> {
    this.#present();
    const copy = document.createElement("canvas");
    copy.width = this.#canvas.width;
    copy.height = this.#canvas.height;
    const context = copy.getContext("2d");
    if (!context) throw new GraphicsError("the browser gave no canvas for the PNG");
    if (withLabels) {
      context.drawImage(this.#canvas, 0, 0);
      context.drawImage(this.#overlay, 0, 0);
    } else {
      this.#presentPlain();
      context.drawImage(this.#canvas, 0, 0);
      this.#present();
    }
    return new Promise((resolve, reject) => {
      copy.toBlob((blob) => (blob ? resolve(blob) : reject(new GraphicsError("the browser made no PNG"))), "image/png");
    });
  }

  #touch(budgetMs: number): void {
    this.#version += 1;
    this.#budget = budgetMs;
    this.#restAt = performance.now() + (budgetMs === DATA_BUDGET_MS ? DATA_REST_MS : REST_MS);
    this.#schedule();
  }

  #schedule(): void {
    if (this.#scheduled) return;
    this.#scheduled = true;
    requestAnimationFrame(() => {
      this.#scheduled = false;
      this.#tick();
    });
  }

  /** While the graphics processor works: looks again before the next display frame, so that slow ones follow each other closely. */
  #pollSoon(): void {
    if (this.#scheduled) return;
    this.#scheduled = true;
    setTimeout(() => {
      this.#scheduled = false;
      this.#tick();
    }, this.#fences.expected / POLLS_PER_PIECE);
  }

  #tick(): void {
    if (this.#bricks.advance(UPLOAD_BUDGET_MS, this.#wanted)) this.#touch(DATA_BUDGET_MS);
    if (this.#slabs.advance(UPLOAD_BUDGET_MS)) this.#touch(DATA_BUDGET_MS);
    for (const { kind, pixels, ms } of this.#fences.poll()) this.#pacing[kind].record(pixels, ms);
    if (this.#fences.full) return this.#pollSoon();
    if (this.#drawn !== this.#version) this.#drawWhole();
    else if (this.#resolution < 1 && this.#front) this.#refine();
    else if (this.#presentDue) this.#present();
    const waiting = this.#bricks.isUploading || this.#slabs.isUploading || this.#presentDue;
    const unfinished = this.#drawn !== this.#version || this.#resolution < 1 || this.#fences.pending;
    if (waiting || unfinished) this.#schedule();
  }

  #subject(): Subject | null {
    const set = this.#bricks.shown;
    const slabs = this.#slabs.shown;
    if (slabs && slabsFit(slabs, set, this.#wanted, performance.now()) && slabsServe(slabs, this.#camera)) {
      return { kind: "slabs", set: slabs };
    }
    const transfer = set && this.#transfers.get(set.field);
    if (!set || !this.#geometry || !transfer) return null;
    const { aspect } = this;
    const picture = { set, geometry: this.#geometry, transfer, camera: this.#camera, aspect };
    return { kind: "bricks", picture };
  }

  #drawWhole(): void {
    const subject = this.#subject();
    this.#drawn = this.#version;
    this.#refining = null;
    if (!subject) {
      this.#front = null;
      this.#resolution = 1;
      return this.#present();
    }
    const [width, height] = this.size;
    const scale = this.#options.fullResolution ? 1 : this.#pacing[subject.kind].scale(width * height, this.#budget);
    const target = this.#targets[subject.kind][0];
    target.resize(Math.max(1, Math.round(width * scale)), Math.max(1, Math.round(height * scale)));
    const since = performance.now();
    this.#paint(subject, target, 0, target.height);
    this.#front = { target, kind: subject.kind };
    this.#resolution = scale;
    this.#present();
    this.#fences.submit(since, target.width * target.height, subject.kind);
  }

  /** Draws the next rows at full resolution into the hidden target; shows it when all are there. */
  #refine(): void {
    if (performance.now() < this.#restAt) return;
    const subject = this.#subject();
    if (!subject) return;
    const [width, height] = this.size;
    if (this.#refining?.version !== this.#version) {
      const target = this.#targets[subject.kind][1];
      target.resize(width, height);
      this.#refining = { target, row: 0, version: this.#version };
    }
    const { target, row } = this.#refining;
    const end = Math.min(height, row + this.#pacing[subject.kind].rows(width, REFINE_BUDGET_MS));
    const since = performance.now();
    this.#paint(subject, target, row, end);
    this.#refining.row = end;
    if (end === height) {
      this.#targets[subject.kind].reverse();
      this.#front = { target, kind: subject.kind };
      this.#resolution = 1;
      this.#refining = null;
      this.#present();
    }
    this.#fences.submit(since, width * (end - row), subject.kind);
  }

  #paint(subject: Subject, target: Target, from: number, to: number): void {
    if (subject.kind === "bricks") return this.#volumePass.draw(target, subject.picture, from, to);
    this.#slabPass.draw(target, subject.set, this.#camera, this.aspect, from, to);
  }

  /** The still of exactly this view, if there is one that is not older than the bricks. */
  #still(): Still | null {
    const still = this.#stills.complete;
    if (!this.#options.stills || !still || still.sequence !== this.#sequence || still.field !== this.#wanted.field)
      return null;
    const [width, height] = this.size;
    if (still.width !== width || still.height !== height) return null;
    const set = this.#bricks.shown;
    return set && set.field === still.field && set.step > still.step ? null : still;
  }

  #image(): Shown | null {
    const still = this.#still();
    if (still) return { texture: still.texture, fromTop: true };
    return this.#front ? { texture: this.#front.target.texture, fromTop: false } : null;
  }

  #present(): void {
    this.#presentDue = false;
    const [width, height] = this.size;
    const edges = this.#geometry ? boxEdges(this.#geometry.edges, basisOf(this.#camera).eye) : [];
    const image = this.#image();
    this.#compositor.clear(width, height);
    this.#drawBox(
      edges.filter((edge) => edge.facing === 0),
      0.45,
    );
    if (image) this.#compositor.over(image, width, height);
    this.#drawBox(
      edges.filter((edge) => edge.facing !== 0),
      0.55,
    );
    this.#drawOverlay(edges);
    this.frameCount += 1;
    this.lastFrameTime = performance.now();
    this.#shownState = this.#state();
    this.onFrame(this.#shownState);
  }

  #presentPlain(): void {
    const [width, height] = this.size;
    this.#compositor.clear(width, height);
    const image = this.#image();
    if (image) this.#compositor.over(image, width, height);
  }

  #drawBox(edges: readonly Edge[], opacity: number): void {
    const [width, height] = this.size;
    if (!this.#annotation.axes || edges.length === 0) return;
    this.#box.look(this.#camera, width, height);
    this.#box.reset();
    this.#box.draw(edges, width, height, this.#pixelRatio, opacity);
    this.#box.reset();
  }

  #drawOverlay(edges: readonly Edge[]): void {
    const context = this.#overlay.getContext("2d");
    if (!context) return;
    const [width, height] = this.size;
    context.setTransform(1, 0, 0, 1, 0, 0);
    context.clearRect(0, 0, width, height);
    if (!this.#geometry) return;
    context.setTransform(this.#pixelRatio, 0, 0, this.#pixelRatio, 0, 0);
    const { lengthUnit, legendTitle, caption, axes } = this.#annotation;
    const transfer = this.#transfers.get(this.#wanted.field);
    const legend = legendTitle !== null && transfer ? { title: legendTitle, transfer } : null;
    const labels: Labels = { geometry: this.#geometry, lengthUnit, camera: this.#camera, edges, legend, caption, axes };
    drawLabels(context, labels, this.#box.camera, width / this.#pixelRatio, height / this.#pixelRatio);
  }

  #state(): ShownState {
    const still = this.#still();
    if (still) {
      const { step, time, field } = still;
      return { proxy: "still", step, time, level: 0, bits: null, field, resolution: 1 };
    }
    if (!this.#front) return nothingShown;
    const slabs = this.#front.kind === "slabs" ? this.#slabs.shown : null;
    const resolution = this.#resolution;
    if (slabs) {
      const { step, time, field } = slabs;
      return { proxy: "slabs", step, time, level: null, bits: null, field, resolution };
    }
    const set = this.#bricks.shown;
    if (!set) return nothingShown;
    const { step, time, level, bits, field } = set;
    return { proxy: "bricks", step, time, level, bits, field, resolution };
  }
}

const nothingShown: ShownState = {
  proxy: "none",
  step: null,
  time: Number.NaN,
  level: null,
  bits: null,
  field: null,
  resolution: 0,
};
