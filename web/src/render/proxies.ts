import type { Geometry, TransferFunction } from "../volume/index";
import type { BulkPart } from "../worker/index";
import { type BrickSet, BrickSets } from "./brick-sets";
import type { Camera } from "./camera";
import { covers } from "./coverage";
import type { FacePicture } from "./face-pass";
import { type FaceSet, FaceSets } from "./face-sets";
import type { WorkKind } from "./fences";
import type { Gl, Target } from "./gl";
import type { Passes } from "./passes";
import type { SegmentPicture } from "./segment-pass";
import { type SegmentSet, SegmentSets } from "./segment-sets";
import { keyframeFits, newestOf, rangeHolds, slabsServe, type Wanted, WIDEST_ANGLE } from "./selection";
import { bricksShown, keyframeShown, type Precision, type ShownState } from "./shown";
import { type SlabSet, SlabSets } from "./slab-sets";
import type { BrickPicture } from "./volume-pass";

/** What is to be seen, and how. */
export interface Scene {
  readonly wanted: Wanted;
  readonly camera: Camera;
  readonly aspect: number;
  readonly geometry: Geometry | null;
  /** By field. */
  readonly transfers: ReadonlyMap<number, TransferFunction>;
}

/** A proxy that shows a scene. */
export interface Subject {
  readonly kind: WorkKind;
  /** No other proxy has it. */
  readonly id: number;
  /** Draws rows `from` to `to`, from the bottom. */
  draw(target: Target, from: number, to: number, precision: Precision): void;
  /** What it is that is shown, drawn at `resolution`. */
  shown(resolution: number, precision: Precision): ShownState;
}

/** The proxies that the page holds; chooses the one that shows a scene best. */
export class Proxies {
  readonly #bricks: BrickSets;
  readonly #slabs: SlabSets;
  readonly #faces: FaceSets;
  readonly #segments: SegmentSets;
  readonly #passes: Passes;

  constructor(gl: Gl, passes: Passes) {
    this.#bricks = new BrickSets(gl);
    this.#slabs = new SlabSets(gl);
    this.#faces = new FaceSets(gl);
    this.#segments = new SegmentSets(gl);
    this.#passes = passes;
  }

  /** A new session with `groups` data connections; of the `same` source, what there is stays until new data come. */
  begin(groups: number, same: boolean): void {
    for (const sets of this.#all()) sets.begin(groups);
    if (!same) this.#bricks.clear();
  }

  accept(part: Exclude<BulkPart, { type: "still" }>): void {
    switch (part.type) {
      case "bricks":
        return this.#bricks.accept(part);
      case "slabs":
        return this.#slabs.accept(part);
      case "scalarSlabs":
        return this.#faces.accept(part);
      case "segments":
        return this.#segments.accept(part);
    }
  }

  /** Uploads for a while; whether something new can be shown. A keyframe waits until the driver has what draws it: bricks are there meanwhile. */
  advance(budgetMs: number, wanted: Wanted): boolean {
    const { slabs, faces, segments } = this.#passes;
    const advanced = [
      this.#bricks.advance(budgetMs, wanted),
      slabs.isReady && this.#slabs.advance(budgetMs),
      faces.isReady && this.#faces.advance(budgetMs),
      segments.isReady && this.#segments.advance(budgetMs),
    ];
    this.#releaseUnwanted(wanted);
    return advanced.includes(true);
  }

  /** Keyframes of another kind than the one asked for, once there is one of that: the server sends them anew when they are asked for. */
  #releaseUnwanted({ field, proxy }: Wanted): void {
    const isOfField = (sets: { readonly shown: { readonly field: number } | null }) => sets.shown?.field === field;
    if (proxy === "slabs" && (isOfField(this.#slabs) || isOfField(this.#faces))) this.#segments.release();
    if (proxy === "segments" && isOfField(this.#segments)) {
      this.#slabs.release();
      this.#faces.release();
    }
  }

  /** The server makes bricks because they are asked for, and sends a keyframe anew when one is asked for. */
  releaseKeyframes({ field }: Wanted): void {
    if (this.#bricks.shown?.field !== field) return;
    for (const sets of [this.#slabs, this.#faces, this.#segments]) sets.release();
  }

  get isUploading(): boolean {
    return this.#all().some((sets) => sets.isUploading);
  }

  /** The bricks that all else is held against. */
  get bricks(): BrickSet | null {
    return this.#bricks.shown;
  }

  /** Slabs of colour show a transfer function that is not the user's any more. */
  forgetColours(): void {
    this.#slabs.invalidate();
  }

  /** The newest keyframe that serves; else bricks. */
  subject(scene: Scene): Subject | null {
    const keyframes = [this.#ofSegments(scene), this.#ofFaces(scene), this.#ofColours(scene)].filter((s) => s !== null);
    return newestOf(keyframes, scene.wanted.proxy) ?? this.#ofBricks(scene);
  }

  #all() {
    return [this.#bricks, this.#slabs, this.#faces, this.#segments];
  }

  /** Whether a keyframe is of what is wanted, and has data wherever the camera sees the box; else coarse bricks show more. */
  #fits(keyframe: SlabSet | FaceSet | SegmentSet, { wanted, camera, aspect, geometry }: Scene): boolean {
    const isOfIt = keyframeFits(keyframe, this.#bricks.shown, wanted, performance.now());
    return isOfIt && geometry !== null && covers(keyframe, geometry.edges, camera, aspect);
  }

  /** The picture of a keyframe of values, if it holds all that the transfer function tells apart. */
  #picture<Keyframe extends FaceSet | SegmentSet>(set: Keyframe | null, scene: Scene) {
    const transfer = set && scene.transfers.get(set.field);
    if (!set || !transfer || !this.#fits(set, scene) || !rangeHolds(set, this.#bricks.shown, transfer)) return null;
    return { set, transfer, camera: scene.camera, aspect: scene.aspect };
  }

  #ofSegments(scene: Scene): Subject | null {
    const picture: SegmentPicture | null = this.#picture(this.#segments.shown, scene);
    if (!picture) return null;
    return {
      kind: "segments",
      id: picture.set.id,
      draw: (target, from, to) => this.#passes.segments.draw(target, picture, from, to),
      shown: (resolution) => keyframeShown("segments", picture.set, resolution),
    };
  }

  #ofFaces(scene: Scene): Subject | null {
    const picture: FacePicture | null = this.#picture(this.#faces.shown, scene);
    if (!picture || !slabsServe(picture.set, scene.camera, WIDEST_ANGLE.values)) return null;
    return {
      kind: "slabs",
      id: picture.set.id,
      draw: (target, from, to) => this.#passes.faces.draw(target, picture, from, to),
      shown: (resolution) => keyframeShown("slabs", picture.set, resolution),
    };
  }

  #ofColours(scene: Scene): Subject | null {
    const set = this.#slabs.shown;
    if (!set || !this.#fits(set, scene) || !slabsServe(set, scene.camera, WIDEST_ANGLE.colours)) return null;
    return {
      kind: "slabs",
      id: set.id,
      draw: (target, from, to) => this.#passes.slabs.draw(target, set, scene.camera, scene.aspect, from, to),
      shown: (resolution) => keyframeShown("slabs", set, resolution),
    };
  }

  #ofBricks({ geometry, transfers, camera, aspect }: Scene): Subject | null {
    const set = this.#bricks.shown;
    const transfer = set && transfers.get(set.field);
    if (!set || !geometry || !transfer) return null;
    const picture: BrickPicture = { set, geometry, transfer, camera, aspect };
    return {
      kind: "bricks",
      id: set.id,
      draw: (target, from, to, precision) => this.#passes.bricks.draw(target, picture, from, to, precision),
      shown: (resolution, precision) => bricksShown(set, resolution, precision),
    };
  }
}
