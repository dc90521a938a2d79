import type { StillPart } from "../worker/index";
import { type Gl, resetUnpacking, setSampling } from "./gl";
import { StillAssembly } from "./still-assembly";

export interface Still {
  readonly id: number;
  readonly field: number;
  readonly step: number;
  readonly time: number;
  /** Sequence of the view that it shows. */
  readonly view: number;
  readonly width: number;
  readonly height: number;
  readonly texture: WebGLTexture;
}

/** Assembles stills in textures. */
export class Stills {
  readonly #gl: Gl;
  readonly #assembly: StillAssembly<StillPart, Still>;

  constructor(gl: Gl) {
    this.#gl = gl;
    this.#assembly = new StillAssembly({
      create: (part) => this.#create(part),
      upload: (still, part) => this.#upload(still, part),
      recycle: ({ texture }) => gl.deleteTexture(texture),
    });
  }

  get complete(): Still | null {
    return this.#assembly.complete;
  }

  begin(groups: number): void {
    this.#assembly.begin(groups);
  }

  /** True if a still became complete. */
  accept(part: StillPart): boolean {
    return this.#assembly.accept(part);
  }

  #create(part: StillPart): Still {
    const gl = this.#gl;
    const texture = gl.createTexture();
    gl.activeTexture(gl.TEXTURE0);
    gl.bindTexture(gl.TEXTURE_2D, texture);
    gl.texStorage2D(gl.TEXTURE_2D, 1, gl.RGBA8, part.width, part.height);
    setSampling(gl, gl.TEXTURE_2D, gl.NEAREST);
    const { field, step, time, set, view } = part.header;
    return { id: set, field, step, time, view, width: part.width, height: part.height, texture };
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
