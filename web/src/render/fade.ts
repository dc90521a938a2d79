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
  /** Until it has been presented without the other. */
  #isOn = false;

  constructor(gl: Gl, compositor: Compositor) {
    this.#compositor = compositor;
    this.#target = new Target(gl, "rgba8");
  }

  get isOn(): boolean {
    return this.#isOn;
  }

  /** Keeps a copy of an image that is about to be replaced, unless another gives way already. */
  begin(image: Shown, [width, height]: readonly [number, number]): void {
    if (this.#isOn || stillness()) return;
    this.#target.resize(width, height);
    this.#compositor.copy(image, this.#target);
    this.#until = performance.now() + FADE_MS;
    this.#isOn = true;
  }

  end(): void {
    this.#isOn = false;
  }

  /** What gives way and how much of it is left, to be presented now. */
  takeBefore(): Before | null {
    const share = (this.#until - performance.now()) / FADE_MS;
    this.#isOn &&= share > 0;
    return this.#isOn ? { texture: this.#target.texture, share } : null;
  }
}
