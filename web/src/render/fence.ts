import type { Gl } from "./gl";

/** Tells when the graphics processor has finished what was submitted, without waiting for it. */
export class Fence {
  readonly #gl: Gl;
  #sync: WebGLSync | null = null;
  #submitted = 0;
  #pixels = 0;

  constructor(gl: Gl) {
    this.#gl = gl;
  }

  get pending(): boolean {
    return this.#sync !== null;
  }

  /** Marks the end of a piece of work that began at `since` and drew `pixels`. */
  submit(since: number, pixels: number): void {
    this.#sync = this.#gl.fenceSync(this.#gl.SYNC_GPU_COMMANDS_COMPLETE, 0);
    this.#gl.flush();
    this.#submitted = since;
    this.#pixels = pixels;
  }

  /** `busy`, `idle`, or once: how long the work took. */
  poll(): "busy" | "idle" | { readonly ms: number; readonly pixels: number } {
    if (this.#sync === null) return "idle";
    const gl = this.#gl;
    const status = gl.getSyncParameter(this.#sync, gl.SYNC_STATUS) as GLenum;
    if (status !== gl.SIGNALED && !gl.isContextLost()) return "busy";
    gl.deleteSync(this.#sync);
    this.#sync = null;
    return { ms: performance.now() - this.#submitted, pixels: this.#pixels };
  }
}
