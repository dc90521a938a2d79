import type { StillPart } from "../worker/index";
import { type Gl, resetUnpacking, setSampling } from "./gl";

export interface Still {
  readonly id: number;
  readonly field: number;
  readonly step: number;
  readonly time: number;
  readonly sequence: number;
  readonly width: number;
  readonly height: number;
  readonly texture: WebGLTexture;
}

/** Assembles stills; at most one is in the making and one complete. */
export class Stills {
  readonly #gl: Gl;
  #assembly: { still: Still; groupsDone: number } | null = null;
  #complete: Still | null = null;
  #groups = 1;
  #newest = 0;

  constructor(gl: Gl) {
    this.#gl = gl;
  }

  get complete(): Still | null {
    return this.#complete;
  }

  begin(groups: number): void {
    this.#groups = groups;
    if (this.#assembly) this.#gl.deleteTexture(this.#assembly.still.texture);
    if (this.#complete) this.#gl.deleteTexture(this.#complete.texture);
    this.#assembly = null;
    this.#complete = null;
    this.#newest = 0;
  }

  /** True if a still became complete. */
  accept(part: StillPart): boolean {
    const id = part.header.set;
    // Another connection may still bring parts of an older one.
    if (id < this.#newest) return false;
    this.#newest = id;
    if (this.#assembly?.still.id !== id) {
      if (this.#assembly) this.#gl.deleteTexture(this.#assembly.still.texture);
      this.#assembly = { still: this.#create(part), groupsDone: 0 };
    }
    this.#upload(this.#assembly.still, part);
    if (part.header.completes) this.#assembly.groupsDone += 1;
    if (this.#assembly.groupsDone < this.#groups) return false;
    if (this.#complete) this.#gl.deleteTexture(this.#complete.texture);
    this.#complete = this.#assembly.still;
    this.#assembly = null;
    return true;
  }

  #create(part: StillPart): Still {
    const gl = this.#gl;
    const texture = gl.createTexture();
    gl.activeTexture(gl.TEXTURE0);
    gl.bindTexture(gl.TEXTURE_2D, texture);
    gl.texStorage2D(gl.TEXTURE_2D, 1, gl.RGBA8, part.width, part.height);
    setSampling(gl, gl.TEXTURE_2D, gl.NEAREST);
    const { field, step, time, set } = part.header;
    return { id: set, field, step, time, sequence: part.sequence, width: part.width, height: part.height, texture };
  }

  #upload(still: Still, part: StillPart): void {
    const gl = this.#gl;
    resetUnpacking(gl);
    gl.activeTexture(gl.TEXTURE0);
    gl.bindTexture(gl.TEXTURE_2D, still.texture);
    for (const { x, y, width, height, rgba } of part.tiles) {
      if (x + width > still.width || y + height > still.height) continue;
      gl.texSubImage2D(gl.TEXTURE_2D, 0, x, y, width, height, gl.RGBA, gl.UNSIGNED_BYTE, rgba);
    }
  }
}
