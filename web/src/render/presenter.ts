import type { Geometry, TransferFunction } from "../volume/index";
import { BoxScene, boxEdges, type Edge, type Side } from "./box-scene";
import { basisOf, type Camera } from "./camera";
import { Compositor, type Shown } from "./compositor";
import { Fade } from "./fade";
import { type Gl, GraphicsError } from "./gl";
import { Overlay } from "./overlay";

/** Words and scales drawn over the picture. */
export interface Annotation {
  readonly lengthUnit: string;
  readonly legendTitle: string | null;
  readonly axes: boolean;
}

/** What is laid around an image of the volume. */
export interface Setting {
  readonly geometry: Geometry | null;
  readonly camera: Camera;
  readonly annotation: Annotation;
  /** Of the legend. */
  readonly transfer: TransferFunction | null;
}

/** Puts an image of the volume on the canvas, between the far and the near edges of its box, and labels above it. */
export class Presenter {
  readonly #canvas: HTMLCanvasElement;
  readonly #overlayCanvas: HTMLCanvasElement;
  readonly #overlay: Overlay;
  readonly #compositor: Compositor;
  readonly #box: BoxScene;
  readonly fade: Fade;
  #pixelRatio = 1;

  constructor(canvas: HTMLCanvasElement, overlay: HTMLCanvasElement, gl: Gl) {
    this.#canvas = canvas;
    this.#overlayCanvas = overlay;
    this.#overlay = new Overlay(overlay);
    this.#box = new BoxScene(canvas, gl);
    this.#compositor = new Compositor(gl);
    this.fade = new Fade(gl, this.#compositor);
  }

  /** Width and height of the picture in device pixels. */
  get size(): readonly [number, number] {
    return [this.#canvas.width, this.#canvas.height];
  }

  /** `longest`: edge in device pixels that the picture may have at most. */
  resize(cssWidth: number, cssHeight: number, pixelRatio: number, longest: number): void {
    const ratio = Math.min(pixelRatio, longest / Math.max(1, cssWidth, cssHeight));
    const width = Math.max(1, Math.round(cssWidth * ratio));
    const height = Math.max(1, Math.round(cssHeight * ratio));
    this.#pixelRatio = ratio;
    for (const canvas of [this.#canvas, this.#overlayCanvas]) {
      if (canvas.width !== width) canvas.width = width;
      if (canvas.height !== height) canvas.height = height;
    }
  }

  present(image: Shown | null, setting: Setting): void {
    const [width, height] = this.size;
    const { geometry, camera, annotation } = setting;
    const edges = geometry ? boxEdges(geometry.edges, basisOf(camera).eye) : [];
    const drawn = annotation.axes ? edges : [];
    const isFar = (edge: Edge) => edge.facing === 0;
    this.#box.look(camera, width, height);
    const before = this.fade.takeBefore();
    this.#compositor.clear(width, height);
    this.#drawBox("far", drawn.filter(isFar));
    if (image) this.#compositor.over(image, before, width, height);
    this.#drawBox(
      "near",
      drawn.filter((edge) => !isFar(edge)),
    );
    this.#drawOverlay(setting, edges);
  }

  /** The image alone. */
  presentPlain(image: Shown | null): void {
    const [width, height] = this.size;
    this.#compositor.clear(width, height);
    if (image) this.#compositor.over(image, null, width, height);
  }

  /** What the canvas shows now, as PNG; call in the task that presented it. */
  png(withOverlay: boolean): Promise<Blob> {
    const copy = document.createElement("canvas");
    [copy.width, copy.height] = this.size;
    const context = copy.getContext("2d");
    if (!context) throw new GraphicsError("the browser gave no canvas for the PNG");
    context.drawImage(this.#canvas, 0, 0);
    if (withOverlay) context.drawImage(this.#overlayCanvas, 0, 0);
    return new Promise((resolve, reject) => {
      copy.toBlob((blob) => (blob ? resolve(blob) : reject(new GraphicsError("the browser made no PNG"))), "image/png");
    });
  }

  #drawBox(side: Side, edges: readonly Edge[]): void {
    if (edges.length === 0) return;
    const [width, height] = this.size;
    this.#box.reset();
    this.#box.draw(side, edges, width, height, this.#pixelRatio);
    this.#box.reset();
  }

  #drawOverlay({ geometry, camera, annotation, transfer }: Setting, edges: readonly Edge[]): void {
    const { lengthUnit, legendTitle, axes } = annotation;
    const legend = legendTitle !== null && transfer ? { title: legendTitle, transfer } : null;
    const labels = geometry && { geometry, lengthUnit, camera, edges, legend, axes };
    this.#overlay.draw(labels, this.#box.camera, this.#pixelRatio);
  }
}
