import type { Before, Compositor, Shown } from "./compositor";
import { type Gl, Target } from "./gl";

const FADE_MS = 160;

/** Whoever wants no motion gets none. */
const stillness = () => matchMedia("(prefers-reduced-motion: reduce)").matches;

/** Lets an image give way to a better one of the same scene, instead of being replaced at once. */
export class Fade {
  readonly #compositor: Compositor;
  readonly #target: Target;
  #until = 0;

  constructor(gl: Gl, compositor: Compositor) {
    this.#compositor = compositor;
    this.#target = new Target(gl, "rgba8");
  }

  get isOn(): boolean {
    return performance.now() < this.#until;
  }

  /** Keeps a copy of an image that is about to be replaced, unless another gives way already. */
  begin(image: Shown, [width, height]: readonly [number, number]): void {
    if (this.isOn || stillness()) return;
    this.#target.resize(width, height);
    this.#compositor.copy(image, this.#target);
    this.#until = performance.now() + FADE_MS;
  }

  end(): void {
    this.#until = 0;
  }

  /** What gives way, and how much of it is left. */
  get before(): Before | null {
    const share = (this.#until - performance.now()) / FADE_MS;
    return share > 0 ? { texture: this.#target.texture, share } : null;
  }
}
