import type { Gl } from "./gl";

interface Piece {
  readonly sync: WebGLSync;
  readonly submitted: number;
  readonly pixels: number;
  readonly kind: WorkKind;
}

export type WorkKind = "bricks" | "slabs" | "segments";

/** How long a piece of work kept the graphics processor, and how many pixels it drew. */
export interface Finished {
  readonly ms: number;
  readonly pixels: number;
  readonly kind: WorkKind;
}

/** One piece being drawn and the next one waiting: enough to keep the graphics processor busy, and no more delay than that. */
const MOST_UNDER_WAY = 2;

/** Tells when the graphics processor has finished what was submitted, without waiting for it. */
export class Fences {
  readonly #gl: Gl;
  #pieces: Piece[] = [];
  #lastEnd = 0;
  #lastMs = 0;

  constructor(gl: Gl) {
    this.#gl = gl;
  }

  get pending(): boolean {
    return this.#pieces.length > 0;
  }

  get full(): boolean {
    return this.#pieces.length >= MOST_UNDER_WAY;
  }

  /** Milliseconds the last piece of work took. */
  get expected(): number {
    return this.#lastMs;
  }

  /** Marks the end of a piece of work that began at `submitted`. */
  submit(submitted: number, pixels: number, kind: WorkKind): void {
    const gl = this.#gl;
    const sync = gl.fenceSync(gl.SYNC_GPU_COMMANDS_COMPLETE, 0);
    gl.flush();
    if (sync) this.#pieces.push({ sync, submitted, pixels, kind });
  }

  /** The pieces that have been finished since the last call. */
  poll(): readonly Finished[] {
    const gl = this.#gl;
    const finished: Finished[] = [];
    while (this.#pieces.length > 0) {
      const [piece] = this.#pieces;
      if (gl.getSyncParameter(piece.sync, gl.SYNC_STATUS) !== gl.SIGNALED && !gl.isContextLost()) break;
      gl.deleteSync(piece.sync);
      this.#pieces.shift();
      const now = performance.now();
      this.#lastMs = now - Math.max(piece.submitted, this.#lastEnd);
      this.#lastEnd = now;
      finished.push({ ms: this.#lastMs, pixels: piece.pixels, kind: piece.kind });
    }
    return finished;
  }
}
