import { type Geometry, geometryOf, type TransferFunction, transferToMessage } from "../volume/index";
import type { GridInfo } from "../wire/index";
import type { BulkPart } from "../worker/index";
import { type Camera, homeCamera, seesSameBox } from "./camera";
import type { ColoursInForce } from "./colours-of-views";
import type { Shown } from "./compositor";
import { DrawingOrder, type Found, MOVING_BUDGET_MS } from "./drawing-order";
import { Fences, type WorkKind } from "./fences";
import { type Gl, GraphicsError, Target } from "./gl";
import type { Legend } from "./overlay";
import { Pacing } from "./pacing";
import { Passes } from "./passes";
import { Presenter } from "./presenter";
import { Proxies, type Scene } from "./proxies";
import type { Wanted } from "./selection";
import { nothingShown, type ShownState, stillShown } from "./shown";
import { type Still, Stills } from "./stills";
import type { Annotation } from "./surroundings";
import { hasSingles } from "./texels";
import { WarmUp } from "./warm-up";

export interface PainterOptions {
  /** Keep the drawing buffer, so that tests can read it. */
  readonly keepBuffer: boolean;
  /** Always draw at full resolution. */
  readonly fullResolution: boolean;
  /** Draw bricks in draft precision while the view moves faster than they can be drawn. */
  readonly drafts: boolean;
  /** Show stills; tests that look at the page's own pictures switch them off. */
  readonly stills: boolean;
}

/** Of a picture, in device pixels (view protocol, *View*). */
const LONGEST_EDGE = 4096;
const UPLOAD_BUDGET_MS = 6;
/** A piece of the full picture at rest: how long a new movement may have to wait. */
const REFINE_BUDGET_MS = 40;

/**
 * Draws what there is, when something changed, at a resolution the machine can hold; refines at rest.
 *
 * Owns the page's one WebGL context. Never waits: not for the network, not for the graphics processor.
 */
export class Painter {
  readonly #gl: Gl;
  readonly #presenter: Presenter;
  readonly #options: PainterOptions;
  readonly #proxies: Proxies;
  readonly #stills: Stills;
  readonly #fences: Fences;
  readonly #pacing = { bricks: new Pacing(), slabs: new Pacing(), segments: new Pacing() };
  /** The image on the screen, unless a still replaces it. */
  #front: { target: Target; state: ShownState; id: number; scene: number } | null = null;
  readonly #targets: Record<WorkKind, [Target, Target]>;
  readonly #warmUp: WarmUp;
  #grid: GridInfo | null = null;
  #geometry: Geometry | null = null;
  readonly #transfers = new Map<number, TransferFunction>();
  readonly #colours = new Map<number, ColoursInForce>();
  #camera: Camera = homeCamera(1);
  #wanted: Wanted = { field: 0, step: null, proxy: "auto" };
  #annotation: Annotation = { scales: null, legends: [], axes: true, mark: null };
  #sequence = 0;
  readonly #order = new DrawingOrder();
  /** Grows whenever something else is to be seen than before: a copy that fades would show a mixture of two views, steps or colours. */
  #sceneNumber = 1;
  #shownStill: Still | null = null;
  #refining: { target: Target; row: number; version: number; id: number } | null = null;
  #scheduled = false;
  #lapse: ReturnType<typeof setTimeout> | null = null;
  #shownState: ShownState = nothingShown;
  frameCount = 0;
  lastFrameTime = 0;
  /** Called after each frame that reached the canvas, with its state. */
  onFrame: (state: ShownState) => void = () => {};
  /** Called where the graphics driver turns out to refuse what is drawn with; nothing is drawn after that. */
  onFailure: (error: GraphicsError) => void = () => {};

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
    this.#presenter = new Presenter(canvas, overlay, gl);
    this.#options = options;
    const passes = new Passes(gl);
    this.#proxies = new Proxies(gl, passes);
    this.#stills = new Stills(gl);
    this.#fences = new Fences(gl);
    this.#targets = {
      bricks: [new Target(gl, "rgba8"), new Target(gl, "rgba8")],
      slabs: [new Target(gl, "rgba16f"), new Target(gl, "rgba16f")],
      segments: [new Target(gl, "rgba8"), new Target(gl, "rgba8")],
    };
    this.#warmUp = new WarmUp(gl, passes, this.#presenter, this.#targets);
  }

  get shown(): ShownState {
    return this.#shownState;
  }

  /** Whether bricks may come as 32-bit floats. */
  get hasSingles(): boolean {
    return hasSingles(this.#gl);
  }

  /** Width over height. */
  get aspect(): number {
    const [width, height] = this.size;
    return width / height;
  }

  /** Width and height of the picture in device pixels. */
  get size(): readonly [number, number] {
    return this.#presenter.size;
  }

  /** A new session with `groups` data connections; of the `same` source, the picture stays until new data come. */
  begin(groups: number, grid: GridInfo, same: boolean): void {
    this.#proxies.begin(groups, same);
    if (!same) {
      this.#transfers.clear();
      this.#colours.clear();
    }
    this.#stills.begin(groups);
    this.#grid = grid;
    this.#locate();
    this.#newScene();
  }

  resize(cssWidth: number, cssHeight: number, pixelRatio: number): void {
    const largest = this.#gl.getParameter(this.#gl.MAX_RENDERBUFFER_SIZE) as number;
    this.#presenter.resize(cssWidth, cssHeight, pixelRatio, Math.min(LONGEST_EDGE, largest));
    this.#newScene();
    this.#present();
  }

  /** `sequence`: of the view as it will be sent; a still is shown only for the current one. */
  look(camera: Camera, sequence: number): void {
    this.#sequence = sequence;
    if (camera === this.#camera) return;
    const isOtherBox = !seesSameBox(camera, this.#camera);
    this.#camera = camera;
    if (isOtherBox) this.#locate();
    this.#presenter.fade.endCopy();
    this.#viewChanged();
  }

  /** Where the box lies for who looks at it so. */
  #locate(): void {
    this.#geometry = this.#grid && geometryOf(this.#grid, this.#camera.stretch);
  }

  /** `isOwn`: the user made it; otherwise it is the server's, which may follow its data. */
  setTransfer(field: number, transfer: TransferFunction, isOwn: boolean): void {
    if (transfer === this.#transfers.get(field)) return;
    this.#transfers.set(field, transfer);
    this.#colours.set(field, { field, transfer: JSON.stringify(transferToMessage(transfer)), isOwn });
    if (field === this.#wanted.field) this.#colour();
    this.#newScene();
  }

  /** What is asked for from now on is shown with what is in force now. */
  #colour(): void {
    const colours = this.#colours.get(this.#wanted.field);
    if (colours) this.#proxies.colour(this.#sequence, colours);
  }

  want(wanted: Wanted): void {
    const { field, step, proxy } = this.#wanted;
    if (wanted.field === field && wanted.step === step && wanted.proxy === proxy) return;
    this.#wanted = wanted;
    if (wanted.field !== field) this.#colour();
    if (wanted.proxy !== proxy) {
      this.#order.viewChanged(performance.now());
      this.#proxies.keepKeyframes();
    }
    this.#sceneNumber += 1;
    this.#presenter.fade.end();
    this.#schedule();
  }

  /** The simulation began anew, and counts its steps anew. */
  restart(): void {
    this.#proxies.forgetKeyframes();
    this.#newScene();
  }

  /** What is wanted is sent as bricks alone from now on, until another proxy is wanted. */
  refuseKeyframes(): void {
    this.#proxies.refuseKeyframes(this.#wanted);
  }

  annotate(annotation: Annotation): void {
    const before = this.#annotation;
    const same = (Object.keys(annotation) as (keyof Annotation)[]).every((name) => annotation[name] === before[name]);
    if (same) return;
    this.#annotation = annotation;
    this.#order.coverChanged();
    this.#schedule();
  }

  /** Takes what came over connection `group`. */
  accept(part: BulkPart, group: number): void {
    this.#proxies.accept(part, group);
    this.#order.dataCame(performance.now());
    if (part.type === "still" && this.#stills.accept(part)) this.#order.coverChanged();
    this.#schedule();
  }

  /** The picture as PNG, with labels and a caption, or without either. */
  async png(caption: string | null): Promise<Blob> {
    this.#presenter.fade.end();
    if (caption === null) this.#presenter.presentPlain(this.#image());
    else this.#present();
    const blob = this.#presenter.png(caption);
    this.#present();
    return blob;
  }

  /** The picture with labels and a caption, to be printed: what it is drawn on is empty there. */
  copy(caption: string): HTMLCanvasElement {
    this.#presenter.fade.end();
    this.#present();
    return this.#presenter.copy(caption);
  }

  #newScene(): void {
    this.#presenter.fade.end();
    this.#viewChanged();
  }

  #viewChanged(): void {
    this.#sceneNumber += 1;
    this.#order.viewChanged(performance.now());
    this.#schedule();
  }

  /** No frame is due. */
  get isAtRest(): boolean {
    return !this.#scheduled;
  }

  #schedule(): void {
    if (this.#scheduled) return;
    this.#scheduled = true;
    requestAnimationFrame(() => this.#run());
  }

  /** While the graphics processor works: looks again before the next display frame, so that slow ones follow each other closely. */
  #pollSoon(): void {
    if (this.#scheduled) return;
    this.#scheduled = true;
    setTimeout(() => this.#run(), this.#fences.untilNextLook);
  }

  #run(): void {
    try {
      this.#scheduled = false;
      this.#tick();
    } catch (error) {
      if (!(error instanceof GraphicsError)) throw error;
      // For good.
      this.#scheduled = true;
      this.onFailure(error);
    }
  }

  #tick(): void {
    const now = performance.now();
    if (this.#proxies.advance(UPLOAD_BUDGET_MS, this.#scene)) this.#order.dataChanged(now);
    for (const { kind, pixels, ms } of this.#fences.poll()) this.#pacing[kind].record(pixels, ms);
    if (this.#fences.full) return this.#pollSoon();
    switch (this.#order.next(this.#found, now)) {
      case "whole":
        this.#drawWhole();
        break;
      case "present":
        this.#present();
        break;
      case "refine":
        this.#refine();
        break;
      case "wait":
        if (this.#isWarmingUp && this.#warmUp.advance()) this.#present();
    }
    if (!this.#isWarmingUp) this.#presenter.surround(() => this.#order.coverChanged());
    const { isLoading } = this.#presenter;
    const isBusy = this.#proxies.isUploading || this.#fences.pending || this.#isWarmingUp || isLoading;
    if (isBusy || !this.#order.isDone(this.#found)) this.#schedule();
  }

  /** What is shown gives way then, whether or not anything comes. */
  #lookAgain(at: number | null): void {
    if (this.#lapse !== null) clearTimeout(this.#lapse);
    const again = () => {
      this.#order.dataChanged(performance.now());
      this.#schedule();
    };
    this.#lapse = at === null ? null : setTimeout(again, Math.max(0, at - performance.now()));
  }

  /** Only while there is nothing to show. */
  get #isWarmingUp(): boolean {
    return this.#front === null && !this.#warmUp.isDone;
  }

  get #found(): Found {
    const { resolution, precision } = this.#front?.state ?? { resolution: 1, precision: "exact" };
    return { isFading: this.#presenter.fade.isOn, isCoarse: resolution < 1 || precision === "draft" };
  }

  get #scene(): Scene {
    const [wanted, camera, aspect] = [this.#wanted, this.#camera, this.aspect];
    return { wanted, camera, aspect, geometry: this.#geometry, transfers: this.#transfers };
  }

  #drawWhole(): void {
    const subject = this.#proxies.subject(this.#scene);
    this.#lookAgain(subject?.lapses ?? null);
    this.#order.beginsWhole();
    this.#refining = null;
    if (!subject) {
      this.#front = null;
      return this.#present();
    }
    const [width, height] = this.size;
    const pacing = this.#pacing[subject.kind];
    const { budgetMs } = this.#order;
    const scale = this.#options.fullResolution ? 1 : pacing.scale(width * height, budgetMs);
    const fits = !this.#options.drafts || pacing.fits(width * height, budgetMs);
    const precision = fits ? "exact" : "draft";
    const state = subject.shown(scale, precision);
    // Before its target, which may be this one, loses it.
    const giving = this.#front?.id === subject.id ? this.#presenter.fade.turning : this.#giveWay(this.#image(), state);
    const target = this.#targets[subject.kind][0];
    target.resize(Math.max(1, Math.round(width * scale)), Math.max(1, Math.round(height * scale)));
    const since = performance.now();
    subject.draw(target, 0, target.height, precision);
    this.#front = { target, state, id: subject.id, scene: this.#sceneNumber };
    this.#fences.submit(since, target.width * target.height, subject.kind);
    if (giving !== null) this.#drawGiving(giving, target, subject.kind);
    this.#present();
  }

  /** Draws proxy number `id`, which gives way to what `front` shows, as it looks from here; not where that leaves too few pictures a second. */
  #drawGiving(id: number, front: Target, kind: WorkKind): void {
    const { fade } = this.#presenter;
    const subject = this.#proxies.held(id, this.#scene);
    const pixels = front.width * front.height;
    const expected = (of: WorkKind) => this.#pacing[of].expected(pixels);
    if (!subject || expected(subject.kind) + expected(kind) > MOVING_BUDGET_MS) return fade.end();
    const target = this.#targets[subject.kind][1];
    target.resize(front.width, front.height);
    const since = performance.now();
    subject.draw(target, 0, target.height, "draft");
    fade.turn(id, target.texture);
    this.#fences.submit(since, pixels, subject.kind);
  }

  /** Draws the next rows at full resolution into the hidden target; shows it when all are there. */
  #refine(): void {
    const subject = this.#proxies.subject(this.#scene);
    if (!subject) return;
    const [width, height] = this.size;
    const { version } = this.#order;
    if (this.#refining?.version !== version || this.#refining.id !== subject.id) {
      const target = this.#targets[subject.kind][1];
      target.resize(width, height);
      this.#refining = { target, row: 0, version, id: subject.id };
    }
    const { target, row } = this.#refining;
    const end = Math.min(height, row + this.#pacing[subject.kind].rows(width, REFINE_BUDGET_MS));
    const since = performance.now();
    subject.draw(target, row, end, "exact");
    this.#refining.row = end;
    if (end === height) {
      this.#targets[subject.kind].reverse();
      this.#front = { target, state: subject.shown(1, "exact"), id: subject.id, scene: this.#sceneNumber };
      this.#refining = null;
      this.#present();
    }
    this.#fences.submit(since, width * (end - row), subject.kind);
  }

  /**
   * Lets `image`, which is on the screen, fade if what comes shows the same scene of the same step. Where the view has turned since: the number of the proxy
   * that is to be drawn anew while it gives way.
   */
  #giveWay(image: Shown | null, { step, field }: ShownState): number | null {
    const { fade } = this.#presenter;
    const [front, shown] = [this.#front, this.#shownState];
    const isOfIt = image !== null && shown.step === step && shown.field === field;
    if (isOfIt && front && front.scene !== this.#sceneNumber && !image.fromTop) return front.id;
    if (isOfIt && front?.scene === this.#sceneNumber) fade.begin(image, this.size);
    else fade.end();
    return null;
  }

  /** The still of exactly this view, if there is one that is not older than the bricks. */
  #still(): Still | null {
    const still = this.#stills.complete;
    if (!this.#options.stills || !still || still.view !== this.#sequence || still.field !== this.#wanted.field)
      return null;
    const [width, height] = this.size;
    if (still.width !== width || still.height !== height) return null;
    const set = this.#proxies.bricks;
    if (set?.field !== still.field) return still;
    // Of the step that is wanted there may be no still any more, but of another one.
    return set.step > still.step || (set.step === this.#wanted.step && still.step !== set.step) ? null : still;
  }

  #image(): Shown | null {
    const still = this.#still();
    return still ? { texture: still.texture, fromTop: true } : this.#frontImage();
  }

  #frontImage(): Shown | null {
    return this.#front ? { texture: this.#front.target.texture, fromTop: false } : null;
  }

  #present(): void {
    this.#order.presents();
    const still = this.#still();
    if (still && still !== this.#shownStill) this.#giveWay(this.#frontImage(), stillShown(still));
    this.#shownStill = still;
    const state = still ? stillShown(still) : (this.#front?.state ?? nothingShown);
    // While nothing is shown: that of what comes.
    const legend = this.#legend(state.field ?? this.#wanted.field);
    const setting = { geometry: this.#geometry, camera: this.#camera, annotation: this.#annotation, legend };
    this.#presenter.present(this.#image(), setting);
    this.frameCount += 1;
    this.lastFrameTime = performance.now();
    this.#shownState = state;
    if (this.#presenter.fade.turning === null) this.#proxies.settle();
    this.onFrame(this.#shownState);
  }

  #legend(field: number): Legend | null {
    const words = this.#annotation.legends[field];
    const transfer = this.#transfers.get(field);
    return words && transfer ? { ...words, transfer } : null;
  }
}
