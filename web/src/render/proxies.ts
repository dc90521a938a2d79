import type { Geometry, TransferFunction } from "../volume/index";
import type { BulkPart } from "../worker/index";
import { type BrickSet, BrickSets } from "./brick-sets";
import { type Camera, isWithin, seesSameBox } from "./camera";
import type { ColoursInForce } from "./colours-of-views";
import { coverage } from "./coverage";
import type { FacePicture } from "./face-pass";
import { type FaceSet, type FaceSets, faceSets } from "./face-sets";
import type { WorkKind } from "./fences";
import type { Gl, Target } from "./gl";
import type { Passes } from "./passes";
import type { SegmentPicture } from "./segment-pass";
import { type SegmentSet, type SegmentSets, segmentSets } from "./segment-sets";
import { keyframeFits, lapseOf, newestOf, rangeHolds, slabsServe, type Wanted, WIDEST_ANGLE } from "./selection";
import { bricksShown, keyframeShown, type Precision, type ShownState } from "./shown";
import { type SlabSet, SlabSets } from "./slab-sets";
import { type Known, StandIns } from "./stand-ins";
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
  /** When something newer is to be shown in its place, page clock. */
  readonly lapses: number | null;
}

type Keyframe = SlabSet | FaceSet | SegmentSet;

/** Share of what is seen of the box that the rays of a keyframe must pass to be shown: where bricks are drawn beside it, and where there are none. */
const LEAST_COVERED = { besideBricks: 1 / 3, alone: 0.98 } as const;

/** The proxies that the page holds; chooses the one that shows a scene best. */
export class Proxies {
  readonly #bricks: BrickSets;
  readonly #slabs: SlabSets;
  readonly #faces: FaceSets;
  readonly #segments: SegmentSets;
  readonly #passes: Passes;
  readonly #standIns: StandIns;
  #refuses = false;

  constructor(gl: Gl, passes: Passes) {
    this.#standIns = new StandIns(gl);
    this.#bricks = new BrickSets(gl, this.#standIns);
    this.#slabs = new SlabSets(gl, this.#standIns);
    this.#faces = faceSets(gl, this.#standIns);
    this.#segments = segmentSets(gl, this.#standIns);
    this.#passes = passes;
  }

  /** A new session with `groups` data connections; of the `same` source, what there is stays until new data come. */
  begin(groups: number, same: boolean): void {
    for (const sets of this.#all()) sets.begin(groups);
    if (!same) this.#bricks.clear();
  }

  /** Takes what came over connection `group`. */
  accept(part: BulkPart, group: number): void {
    this.#take(part);
    for (const sets of this.#all()) sets.hear(part.header, group);
  }

  #take(part: BulkPart): void {
    switch (part.type) {
      case "bricks":
        return this.#bricks.accept(part);
      case "slabs":
        this.#passes.slabs.begin();
        return this.#slabs.accept(part);
      case "scalarSlabs":
        this.#passes.faces.begin();
        return this.#faces.accept(part);
      case "segments":
        this.#passes.segments.begin();
        return this.#segments.accept(part);
      case "tileList":
        for (const sets of [this.#slabs, this.#faces, this.#segments]) sets.expect(part.header.set, part.list);
    }
  }

  /** Uploads for a while; whether something new can be shown. A keyframe waits until the driver has what draws it: bricks are there meanwhile. */
  advance(budgetMs: number, scene: Scene): boolean {
    const { wanted } = scene;
    const { slabs, faces, segments } = this.#passes;
    const isBetter = this.#bricks.advance(budgetMs, wanted);
    this.#standIns.known = this.#known(scene);
    const advanced = [
      isBetter,
      this.#slabs.isUploading && slabs.isReady && this.#slabs.advance(budgetMs),
      this.#faces.isUploading && faces.isReady && this.#faces.advance(budgetMs),
      this.#segments.isUploading && segments.isReady && this.#segments.advance(budgetMs),
    ];
    this.#releaseUnwanted(wanted);
    return advanced.includes(true);
  }

  /** What stands in for what is lost: bricks, whichever step's. */
  #known({ geometry, transfers }: Scene): Known | null {
    const bricks = this.#bricks.shown;
    const transfer = bricks && transfers.get(bricks.field);
    return bricks && geometry && transfer ? { bricks, geometry, transfer } : null;
  }

  /** Keyframes of another kind than the one asked for, once there is one of that: the server sends them anew when they are asked for. */
  #releaseUnwanted({ field, proxy }: Wanted): void {
    const isOfField = (sets: { readonly shown: { readonly field: number } | null }) => sets.shown?.field === field;
    if (proxy === "slabs" && (isOfField(this.#slabs) || isOfField(this.#faces))) this.#segments.keyframes.release();
    if (proxy === "segments" && isOfField(this.#segments)) {
      this.#slabs.keyframes.release();
      this.#faces.keyframes.release();
    }
    if (this.#refuses && isOfField(this.#bricks)) this.forgetKeyframes();
  }

  /** The server knows that bricks alone are asked for, and sends a keyframe anew when one is asked for. Those on their way are let go as they come. */
  refuseKeyframes(wanted: Wanted): void {
    this.#refuses = true;
    this.#releaseUnwanted(wanted);
  }

  /** The simulation began anew: keyframes of later steps are not newer. */
  forgetKeyframes(): void {
    for (const sets of [this.#slabs, this.#faces, this.#segments]) sets.keyframes.release();
  }

  /** Keyframes may be asked for again. */
  keepKeyframes(): void {
    this.#refuses = false;
  }

  get isUploading(): boolean {
    return this.#all().some((sets) => sets.isUploading);
  }

  /** The bricks that all else is held against. */
  get bricks(): BrickSet | null {
    return this.#bricks.shown;
  }

  /** What is asked for after view `after` is shown with these colours. */
  colour(after: number, colours: ColoursInForce): void {
    this.#slabs.colour(after, colours);
  }

  /** The newest keyframe that serves; else bricks. */
  subject(scene: Scene): Subject | null {
    const keyframes = [this.#ofSegments(scene), this.#ofFaces(scene), this.#ofColours(scene)].filter((s) => s !== null);
    return newestOf(keyframes, scene.wanted.proxy) ?? this.#ofBricks(scene);
  }

  /** Whatever has this number, if it is still there and shows the same box, well as it may serve: to give way to another. */
  held(id: number, scene: Scene): Subject | null {
    const ofBox = <K extends Keyframe>(keyframe: K | null) =>
      keyframe && seesSameBox(keyframe.camera, scene.camera) ? keyframe : null;
    const segments = pictureOf(ofBox(this.#segments.keyframes.find(id)), scene);
    const faces = pictureOf(ofBox(this.#faces.keyframes.find(id)), scene);
    const colours = ofBox(this.#slabs.find(id));
    if (segments) return this.#drawnAsSegments(segments, scene);
    if (faces) return this.#drawnAsFaces(faces, scene);
    if (colours) return this.#drawnAsColours(colours, scene);
    return this.#bricks.shown?.id === id ? this.#ofBricks(scene) : null;
  }

  /** Nothing gives way any more. */
  settle(): void {
    for (const sets of [this.#slabs, this.#faces, this.#segments]) sets.keyframes.settle();
  }

  #all() {
    return [this.#bricks, this.#slabs, this.#faces, this.#segments];
  }

  /** Whether a keyframe is of what is wanted, and has data where the camera sees the box, or where it sees most of it and bricks show the rest; else bricks show more. */
  #fits(keyframe: Keyframe, scene: Scene): boolean {
    const { wanted, camera, aspect, geometry } = scene;
    if (!geometry || !seesSameBox(keyframe.camera, camera)) return false;
    if (!keyframeFits(keyframe, this.#bricks.shown, wanted, performance.now())) return false;
    const least = this.#bricksBeside(keyframe, scene) ? LEAST_COVERED.besideBricks : LEAST_COVERED.alone;
    return coverage(keyframe, geometry.edges, camera, aspect) >= least;
  }

  /** Bricks of the step of a keyframe, to be drawn where that has nothing. */
  #bricksBeside({ field, step }: Keyframe, scene: Scene): BrickPicture | null {
    const picture = this.#brickPicture(scene);
    return picture?.set.field === field && picture.set.step === step ? picture : null;
  }

  /** Draws what a keyframe lacks over its rows `from` to `to` of a target. */
  #drawBeside(keyframe: Keyframe, scene: Scene, target: Target, from: number, to: number): void {
    const bricks = this.#bricksBeside(keyframe, scene);
    if (!bricks || coverage(keyframe, bricks.geometry.edges, scene.camera, scene.aspect) === 1) return;
    this.#passes.bricks.drawBeside(keyframe, target, bricks, from, to);
  }

  /** The picture of a keyframe of values, if it holds all that the transfer function tells apart. */
  #picture<OfValues extends FaceSet | SegmentSet>(set: OfValues | null, scene: Scene) {
    const picture = pictureOf(set, scene);
    const holds =
      picture && this.#fits(picture.set, scene) && rangeHolds(picture.set, this.#bricks.shown, picture.transfer);
    return holds ? picture : null;
  }

  #ofSegments(scene: Scene): Subject | null {
    const picture = this.#picture(this.#segments.shown, scene);
    return picture && this.#drawnAsSegments(picture, scene);
  }

  #drawnAsSegments(picture: SegmentPicture, scene: Scene): Subject {
    const { segments } = this.#passes;
    return this.#drawnAs("segments", picture.set, scene, (target, from, to) =>
      segments.draw(target, picture, from, to),
    );
  }

  #ofFaces(scene: Scene): Subject | null {
    const picture = this.#picture(this.#faces.shown, scene);
    const serves = picture && slabsServe(picture.set, scene.camera, WIDEST_ANGLE.values);
    return serves ? this.#drawnAsFaces(picture, scene) : null;
  }

  #drawnAsFaces(picture: FacePicture, scene: Scene): Subject {
    const { faces } = this.#passes;
    return this.#drawnAs("slabs", picture.set, scene, (target, from, to) => faces.draw(target, picture, from, to));
  }

  #ofColours(scene: Scene): Subject | null {
    const set = this.#slabs.shown;
    // Beyond what they were made of, layers have nothing.
    if (!set || !isWithin(scene.camera.crop, set.camera.crop)) return null;
    if (!this.#fits(set, scene) || !slabsServe(set, scene.camera, WIDEST_ANGLE.colours)) return null;
    return this.#drawnAsColours(set, scene);
  }

  #drawnAsColours(set: SlabSet, scene: Scene): Subject {
    const [{ slabs }, { camera, aspect, geometry }] = [this.#passes, scene];
    const edges = geometry?.edges ?? [1, 1, 1];
    return this.#drawnAs("slabs", set, scene, (target, from, to) =>
      slabs.draw(target, set, edges, camera, aspect, from, to),
    );
  }

  /** A keyframe that `draw` draws, and bricks beside it. */
  #drawnAs(
    kind: "slabs" | "segments",
    set: Keyframe,
    scene: Scene,
    draw: (target: Target, from: number, to: number) => void,
  ): Subject {
    return {
      kind,
      id: set.id,
      draw: (target, from, to) => {
        draw(target, from, to);
        this.#drawBeside(set, scene, target, from, to);
      },
      shown: (resolution) => keyframeShown(kind, set, resolution),
      lapses: lapseOf(set, this.#bricks.shown, scene.wanted),
    };
  }

  #brickPicture({ geometry, transfers, camera, aspect }: Scene): BrickPicture | null {
    const set = this.#bricks.shown;
    const transfer = set && transfers.get(set.field);
    return set && geometry && transfer ? { set, geometry, transfer, camera, aspect } : null;
  }

  #ofBricks(scene: Scene): Subject | null {
    const picture = this.#brickPicture(scene);
    if (!picture) return null;
    const { set } = picture;
    return {
      kind: "bricks",
      id: set.id,
      draw: (target, from, to, precision) => this.#passes.bricks.draw(target, picture, from, to, precision),
      shown: (resolution, precision) => bricksShown(set, resolution, precision),
      lapses: null,
    };
  }
}

/** The picture of a keyframe of values, whether it serves or not. */
function pictureOf<OfField extends { readonly field: number }>(set: OfField | null, scene: Scene) {
  const transfer = set && scene.transfers.get(set.field);
  return set && transfer ? { set, transfer, camera: scene.camera, aspect: scene.aspect } : null;
}
