import type { Gl } from "./gl";

interface Piece {
  readonly sync: WebGLSync;
  readonly submitted: number;
  readonly pixels: number;
  readonly kind: WorkKind;
  /** Whether the page was hidden meanwhile: when it ended is not seen then. */
  isUnseen: boolean;
}

type Sight = Pick<Document, "visibilityState" | "addEventListener">;

export type WorkKind = "bricks" | "slabs" | "segments";

/** How long a piece of work kept the graphics processor, and how many pixels it drew. */
export interface Finished {
  readonly ms: number;
  readonly pixels: number;
  readonly kind: WorkKind;
}

/** One piece being drawn and the next one waiting: enough to keep the graphics processor busy, and no more delay than that. */
const MOST_UNDER_WAY = 2;
const LOOKS_PER_PIECE = 12;
const LONGEST_UNTIL_LOOK_MS = 50;
/** Drivers end what takes longer: page or machine have been asleep. */
const LONGEST_MS = 10_000;

/** Tells when the graphics processor has finished what was submitted, without waiting for it. */
export class Fences {
  readonly #gl: Gl;
  readonly #sight: Sight;
  #pieces: Piece[] = [];
  #lastEnd = 0;
  #lastMs = 0;

  constructor(gl: Gl, sight: Sight = document) {
    this.#gl = gl;
    this.#sight = sight;
    sight.addEventListener("visibilitychange", () => {
      for (const piece of this.#pieces) piece.isUnseen = true;
    });
  }

  get pending(): boolean {
    return this.#pieces.length > 0;
  }

  get full(): boolean {
    return this.#pieces.length >= MOST_UNDER_WAY;
  }

  /** Milliseconds after which to look again whether what is under way has ended. */
  get untilNextLook(): number {
    return Math.min(this.#lastMs / LOOKS_PER_PIECE, LONGEST_UNTIL_LOOK_MS);
  }

  /** Marks the end of a piece of work that began at `submitted`. */
  submit(submitted: number, pixels: number, kind: WorkKind): void {
    const gl = this.#gl;
    const sync = gl.fenceSync(gl.SYNC_GPU_COMMANDS_COMPLETE, 0);
    gl.flush();
    const isUnseen = this.#sight.visibilityState === "hidden";
    if (sync) this.#pieces.push({ sync, submitted, pixels, kind, isUnseen });
  }

  /** The pieces that have been finished since the last call, but for those of which nobody knows how long they took. */
  poll(): readonly Finished[] {
    const gl = this.#gl;
    const finished: Finished[] = [];
    while (this.#pieces.length > 0) {
      const [piece] = this.#pieces;
      if (gl.getSyncParameter(piece.sync, gl.SYNC_STATUS) !== gl.SIGNALED && !gl.isContextLost()) break;
      gl.deleteSync(piece.sync);
      this.#pieces.shift();
      const now = performance.now();
      const ms = now - Math.max(piece.submitted, this.#lastEnd);
      this.#lastEnd = now;
      if (piece.isUnseen || ms > LONGEST_MS) continue;
      this.#lastMs = ms;
      finished.push({ ms, pixels: piece.pixels, kind: piece.kind });
    }
    return finished;
  }
}
