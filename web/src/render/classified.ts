import { INTEGRAL_PARTS, Integrals, type TransferFunction, widened } from "../volume/index";
import { type Gl, resetUnpacking, setSampling } from "./gl";

/** The integrals of a transfer function, also as a texture; brought up to date before drawing. */
export class Classified {
  readonly #gl: Gl;
  readonly texture: WebGLTexture;
  #kept: { transfer: TransferFunction; integrals: Integrals } | null = null;

  constructor(gl: Gl) {
    this.#gl = gl;
    this.texture = gl.createTexture();
  }

  update(transfer: TransferFunction): Integrals {
    if (this.#kept?.transfer === transfer) return this.#kept.integrals;
    const integrals = new Integrals(transfer);
    this.#kept = { transfer, integrals };
    const gl = this.#gl;
    resetUnpacking(gl);
    gl.activeTexture(gl.TEXTURE0);
    gl.bindTexture(gl.TEXTURE_2D, this.texture);
    gl.texImage2D(gl.TEXTURE_2D, 0, gl.RGBA32F, INTEGRAL_PARTS, 2, 0, gl.RGBA, gl.FLOAT, integrals.texels);
    setSampling(gl, gl.TEXTURE_2D, gl.NEAREST);
    return integrals;
  }
}

/** Where values that are shares of `range` lie in the range of a transfer function: `share * scale + offset`. */
export function placing(
  [lo, hi]: readonly [number, number],
  transfer: TransferFunction,
): { readonly scale: number; readonly offset: number } {
  const [from, to] = widened(transfer.range);
  return { scale: (hi - lo) / (to - from), offset: (lo - from) / (to - from) };
}
