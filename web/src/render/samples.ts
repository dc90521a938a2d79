import type { DecodedBrick, Vec3 } from "../volume/index";
import { type Gl, resetUnpacking, setSampling } from "./gl";

/**
 * How a level's samples lie in a texture.
 *
 * `volume`: a 3-D texture; graphics processors interpolate in it at full speed.
 * `pairs`: layer z of an array holds the samples of slices z and z + 1. Software renderers spend most of a ray on fetching eight
 * texels a sample; this way it is four of twice the size.
 */
export type Layout = "volume" | "pairs";

/** The layout of this name, if it is one. */
export function layoutNamed(name: string | null): Layout | null {
  return name === "volume" || name === "pairs" ? name : null;
}

/** The layout that this machine draws fastest. */
export function layoutFor(gl: Gl): Layout {
  const info = gl.getExtension("WEBGL_debug_renderer_info");
  const renderer = info ? String(gl.getParameter(info.UNMASKED_RENDERER_WEBGL)) : "";
  return /llvmpipe|softpipe|swiftshader|software|basic render/i.test(renderer) ? "pairs" : "volume";
}

/** Largest edge of a level. */
export function largestEdge(gl: Gl, layout: Layout): number {
  if (layout === "volume") return gl.getParameter(gl.MAX_3D_TEXTURE_SIZE) as number;
  const [edge, layers] = [gl.MAX_TEXTURE_SIZE, gl.MAX_ARRAY_TEXTURE_LAYERS].map((of) => gl.getParameter(of) as number);
  return Math.min(edge, layers);
}

/** The samples of one level, filled brick by brick. */
export class Samples {
  readonly #gl: Gl;
  readonly size: Vec3;
  readonly texture: WebGLTexture;
  /** What the texture is bound as. */
  readonly target: GLenum;
  /** `[z, y, x, 2]` half floats: a texel belongs to two bricks where they meet. */
  readonly #pairs: Uint16Array<ArrayBuffer> | null;

  constructor(gl: Gl, layout: Layout, size: Vec3) {
    const [nx, ny, nz] = size;
    this.#gl = gl;
    this.size = size;
    this.texture = gl.createTexture();
    this.target = layout === "pairs" ? gl.TEXTURE_2D_ARRAY : gl.TEXTURE_3D;
    this.#pairs = layout === "pairs" ? new Uint16Array(2 * nx * ny * nz) : null;
    gl.activeTexture(gl.TEXTURE0);
    gl.bindTexture(this.target, this.texture);
    gl.texStorage3D(this.target, 1, layout === "pairs" ? gl.RG16F : gl.R16F, nx, ny, nz);
    setSampling(gl, this.target, gl.LINEAR);
  }

  upload(brick: DecodedBrick): void {
    const gl = this.#gl;
    resetUnpacking(gl);
    gl.activeTexture(gl.TEXTURE0);
    gl.bindTexture(this.target, this.texture);
    if (this.#pairs) {
      this.#uploadPairs(this.#pairs, brick);
      return;
    }
    const { lo, size, samples } = brick;
    gl.texSubImage3D(this.target, 0, ...lo, ...size, gl.RED, gl.HALF_FLOAT, samples);
  }

  #uploadPairs(pairs: Uint16Array<ArrayBuffer>, brick: DecodedBrick): void {
    const gl = this.#gl;
    const [nx, ny] = this.size;
    const { lo, size } = brick;
    pair(pairs, this.size, brick);
    // The slice below holds this brick's first one as its second.
    const first = Math.max(lo[2] - 1, 0);
    gl.pixelStorei(gl.UNPACK_ROW_LENGTH, nx);
    gl.pixelStorei(gl.UNPACK_IMAGE_HEIGHT, ny);
    const [layers, offset] = [lo[2] + size[2] - first, 2 * ((first * ny + lo[1]) * nx + lo[0])];
    const { target } = this;
    gl.texSubImage3D(target, 0, lo[0], lo[1], first, size[0], size[1], layers, gl.RG, gl.HALF_FLOAT, pairs, offset);
    resetUnpacking(gl);
  }

  delete(): void {
    this.#gl.deleteTexture(this.texture);
  }
}

/** Puts a brick's samples in the pairs of a level of `level` samples: as the first of their own slice, and the second of the one below. */
export function pair(pairs: Uint16Array, level: Vec3, brick: DecodedBrick): void {
  const [nx, ny] = level;
  const { lo, size, samples } = brick;
  let from = 0;
  for (let z = lo[2]; z < lo[2] + size[2]; z++) {
    for (let y = lo[1]; y < lo[1] + size[1]; y++) {
      const row = 2 * ((z * ny + y) * nx + lo[0]);
      const below = row - 2 * nx * ny + 1;
      for (let x = 0; x < size[0]; x++, from++) {
        pairs[row + 2 * x] = samples[from];
        if (z > 0) pairs[below + 2 * x] = samples[from];
      }
    }
  }
}
