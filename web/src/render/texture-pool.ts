import type { Vec3 } from "../volume/index";
import { type Gl, setSampling } from "./gl";

/** A texture, and its width, height, and depth or layers. */
export interface Sized {
  readonly texture: WebGLTexture;
  readonly size: Vec3;
}

/** A texture that nobody takes for so long is deleted. */
const SPARE_LIFE_MS = 5000;

/** Textures of one kind (3-D, or layers) and format, made anew only where none that was given back will do. */
export class TexturePool {
  readonly #gl: Gl;
  readonly #kind: GLenum;
  readonly #format: GLenum;
  readonly #most: number;
  #spares: Sized[] = [];
  #timer: ReturnType<typeof setTimeout> | null = null;

  /** `most`: textures kept for reuse. */
  constructor(gl: Gl, kind: GLenum, format: GLenum, most: number) {
    this.#gl = gl;
    this.#kind = kind;
    this.#format = format;
    this.#most = most;
  }

  /** A texture of `size`, or of that many layers and some more; `null` if this browser has none so large. */
  take(size: Vec3): Sized | null {
    if (!this.#isPossible(size)) return null;
    const at = this.#spares.findIndex((spare) => this.#serves(spare.size, size));
    if (at >= 0) return this.#spares.splice(at, 1)[0];
    this.#deleteBeyond(this.#most - 1);
    const gl = this.#gl;
    const texture = gl.createTexture();
    gl.activeTexture(gl.TEXTURE0);
    gl.bindTexture(this.#kind, texture);
    gl.texStorage3D(this.#kind, 1, this.#format, ...size);
    setSampling(gl, this.#kind, gl.LINEAR);
    return { texture, size };
  }

  /** Takes a texture back. */
  keep(sized: Sized): void {
    this.#spares.push(sized);
    this.#deleteBeyond(this.#most);
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#deleteBeyond(0), SPARE_LIFE_MS);
  }

  #isPossible([width, height, depth]: Vec3): boolean {
    const gl = this.#gl;
    const limit = (name: GLenum) => gl.getParameter(name) as number;
    if (this.#kind === gl.TEXTURE_3D) return Math.max(width, height, depth) <= limit(gl.MAX_3D_TEXTURE_SIZE);
    return Math.max(width, height) <= limit(gl.MAX_TEXTURE_SIZE) && depth <= limit(gl.MAX_ARRAY_TEXTURE_LAYERS);
  }

  #serves(spare: Vec3, size: Vec3): boolean {
    if (spare[0] !== size[0] || spare[1] !== size[1]) return false;
    const most = this.#kind === this.#gl.TEXTURE_3D ? size[2] : 2 * size[2] + 2;
    return spare[2] >= size[2] && spare[2] <= most;
  }

  #deleteBeyond(count: number): void {
    while (this.#spares.length > count) this.#gl.deleteTexture(this.#spares.shift()?.texture ?? null);
  }
}
