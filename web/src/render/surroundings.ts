import {
  type AxisScales,
  type Corners,
  croppedBox,
  type Geometry,
  type Scale,
  UNCROPPED,
  type Vec3,
  worldFromSample,
} from "../volume/index";
import { BoxScene, boxEdges, type Edge, type Side } from "./box-scene";
import { basisOf, type Camera, isSameCrop } from "./camera";
import type { Gl } from "./gl";
import { type Legend, Overlay, writeCaption } from "./overlay";

/** What the legend of a field says. */
export interface LegendWords {
  readonly title: string;
  /** On which it tells values. */
  readonly scale: Scale;
}

/** Words and scales drawn over the picture. */
export interface Annotation {
  /** Of the box; none before a source is known. */
  readonly scales: AxisScales | null;
  /** Of all fields. */
  readonly legends: readonly LegendWords[];
  readonly axes: boolean;
  /** A place whose value is told. */
  readonly mark: Mark | null;
}

/** A place of the grid, and what is said of it. */
export interface Mark {
  /** Sample coordinates. */
  readonly place: Vec3;
  readonly words: string;
}

/** What is laid around an image of the volume. */
export interface Setting {
  readonly geometry: Geometry | null;
  readonly camera: Camera;
  readonly annotation: Annotation;
  /** Of the field that is in the image. */
  readonly legend: Legend | null;
}

/** Of a box, that places at its faces are rounded by. */
const ROUNDING = 1e-6;

function isInside(place: Vec3, { lo, hi }: Corners): boolean {
  return place.every((at, axis) => at >= lo[axis] - ROUNDING && at <= hi[axis] + ROUNDING);
}

/** What three.js and a canvas of words draw around an image of the volume. It is loaded by itself: a first picture does not wait for it. */
export class Surroundings {
  readonly #canvas: HTMLCanvasElement;
  readonly #overlay: Overlay;
  readonly #box: BoxScene;
  /** Of the box. */
  #edges: readonly Edge[] = [];
  /** Of what is shown of it, where that is not all. */
  #cropped: readonly Edge[] = [];

  constructor(canvas: HTMLCanvasElement, overlay: HTMLCanvasElement, gl: Gl) {
    this.#canvas = canvas;
    this.#overlay = new Overlay(overlay);
    this.#box = new BoxScene(canvas, gl);
  }

  /** What is drawn next surrounds this. */
  look({ geometry, camera }: Setting): void {
    const { eye } = basisOf(camera);
    const of = (crop: Camera["crop"]) => (geometry ? boxEdges(croppedBox(geometry.edges, crop), eye) : []);
    this.#edges = of(UNCROPPED);
    this.#cropped = isSameCrop(camera.crop, UNCROPPED) ? [] : of(camera.crop);
    this.#box.look(camera, this.#canvas.width, this.#canvas.height);
  }

  /** The edges of the box, and of what is shown of it, behind the volume, or before it: where it is cropped, all of the box's are behind it. */
  drawBox(side: Side, pixelRatio: number): void {
    const isOn = (edge: Edge) => (edge.facing === 0) === (side === "far");
    const isCropped = this.#cropped.length > 0;
    const whole = isCropped ? this.#edges.filter(() => side === "far") : this.#edges.filter(isOn);
    const edges = [...whole, ...this.#cropped.filter(isOn)];
    if (edges.length === 0) return;
    this.#box.reset();
    this.#box.draw(side, edges, this.#canvas.width, this.#canvas.height, pixelRatio);
    this.#box.reset();
  }

  /** What a picture of the canvas' size is of. */
  writeCaption(context: CanvasRenderingContext2D, words: string, pixelRatio: number): void {
    context.scale(pixelRatio, pixelRatio);
    writeCaption(context, words, this.#canvas.width / pixelRatio, this.#canvas.height / pixelRatio);
  }

  drawLabels({ geometry, camera, annotation, legend }: Setting, pixelRatio: number): void {
    const { scales, axes, mark } = annotation;
    const place = geometry && mark && worldFromSample(geometry, mark.place);
    const at = place && isInside(place, croppedBox(geometry.edges, camera.crop)) ? place : null;
    const labels = geometry && { scales, camera, edges: this.#edges, legend, axes, mark, at };
    this.#overlay.draw(labels, this.#box.camera, pixelRatio);
  }
}
