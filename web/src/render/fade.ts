import type { Before, Compositor, Shown } from "./compositor";
import { type Gl, Target } from "./gl";

const FADE_MS = 160;

/** Whoever wants no motion gets none. */
const stillness = () => matchMedia("(prefers-reduced-motion: reduce)").matches;

/**
 * Lets an image give way to a better one, instead of being replaced at once.
 *
 * Of the same scene a copy gives way. Of a view that turns it is drawn anew for each picture by whoever holds what it shows.
 */
export class Fade {
  readonly #compositor: Compositor;
  readonly #target: Target;
  /** The image, and what is drawn anew of it. */
  #giving: { texture: WebGLTexture; id: number | null } | null = null;
  #until = 0;
  constructor(gl: Gl, compositor: Compositor) {
    this.#compositor = compositor;
    this.#target = new Target(gl, "rgba8");
  }

  get isOn(): boolean {
    return this.#giving !== null;
  }

  /** Number of the proxy that gives way and is to be drawn anew with every picture. */
  get turning(): number | null {
    return this.#giving?.id ?? null;
  }

  /** Keeps a copy of an image that is about to be replaced, unless another gives way already. */
  begin(image: Shown, [width, height]: readonly [number, number]): void {
    if (this.#giving || stillness()) return;
    this.#target.resize(width, height);
    this.#compositor.copy(image, this.#target);
    this.#start(this.#target.texture, null);
  }

  /** Lets proxy number `id` give way, of which `texture` is an image. */
  turn(id: number, texture: WebGLTexture): void {
    if (this.#giving?.id === id) this.#giving.texture = texture;
    else if (!stillness()) this.#start(texture, id);
  }

  #start(texture: WebGLTexture, id: number | null): void {
    this.#giving = { texture, id };
    this.#until = performance.now() + FADE_MS;
  }

  end(): void {
    this.#giving = null;
  }

  /** The view turns: what does not turn with it ends. */
  endCopy(): void {
    if (this.turning === null) this.end();
  }

  /** What gives way and how much of it is left, to be presented now. */
  takeBefore(): Before | null {
    const share = (this.#until - performance.now()) / FADE_MS;
    if (share <= 0) this.end();
    return this.#giving && { texture: this.#giving.texture, share };
  }
}
