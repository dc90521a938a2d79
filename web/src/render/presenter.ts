import { Compositor, type Shown } from "./compositor";
import { Fade } from "./fade";
import { type Gl, GraphicsError } from "./gl";
import type { Setting, Surroundings } from "./surroundings";

/** Puts an image of the volume on the canvas, between the far and the near edges of its box, and labels above it. */
export class Presenter {
  readonly #canvas: HTMLCanvasElement;
  readonly #overlayCanvas: HTMLCanvasElement;
  readonly #gl: Gl;
  readonly #compositor: Compositor;
  #surroundings: Surroundings | null = null;
  #isLoading = false;
  readonly fade: Fade;
  #pixelRatio = 1;

  constructor(canvas: HTMLCanvasElement, overlay: HTMLCanvasElement, gl: Gl) {
    this.#canvas = canvas;
    this.#overlayCanvas = overlay;
    this.#gl = gl;
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

  /** What surrounds the image is on its way. */
  get isLoading(): boolean {
    return this.#isLoading;
  }

  /** Loads what surrounds the image, if it is not there; `then` is called once it can be drawn. */
  async surround(then: () => void): Promise<void> {
    if (this.#surroundings !== null || this.#isLoading) return;
    this.#isLoading = true;
    // Without a server there is none: it is asked again when something else is to be seen.
    const loaded = await import("./surroundings").catch(() => null);
    this.#isLoading = false;
    if (loaded === null) return;
    this.#surroundings = new loaded.Surroundings(this.#canvas, this.#overlayCanvas, this.#gl);
    then();
  }

  present(image: Shown | null, setting: Setting): void {
    const [width, height] = this.size;
    const around = this.#surroundings;
    around?.look(setting);
    const before = this.fade.takeBefore();
    this.#compositor.clear(width, height);
    if (setting.annotation.axes) around?.drawBox("far", this.#pixelRatio);
    if (image) this.#compositor.over(image, before, width, height);
    if (setting.annotation.axes) around?.drawBox("near", this.#pixelRatio);
    around?.drawLabels(setting, this.#pixelRatio);
  }

  /** The image alone. */
  presentPlain(image: Shown | null): void {
    const [width, height] = this.size;
    this.#compositor.clear(width, height);
    if (image) this.#compositor.over(image, null, width, height);
  }

  /** What the canvas shows now, as PNG; call in the task that presented it. */
  png(caption: string | null): Promise<Blob> {
    const copy = this.copy(caption);
    return new Promise((resolve, reject) => {
      copy.toBlob((blob) => (blob ? resolve(blob) : reject(new GraphicsError("the browser made no PNG"))), "image/png");
    });
  }

  /** The same as a canvas; with labels and a caption, or without either. */
  copy(caption: string | null): HTMLCanvasElement {
    const copy = document.createElement("canvas");
    [copy.width, copy.height] = this.size;
    const context = copy.getContext("2d");
    if (!context) throw new GraphicsError("the browser gave no canvas for a copy of the picture");
    context.drawImage(this.#canvas, 0, 0);
    if (caption === null) return copy;
    context.drawImage(this.#overlayCanvas, 0, 0);
    this.#surroundings?.writeCaption(context, caption, this.#pixelRatio);
    return copy;
  }
}
