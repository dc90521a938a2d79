import { CELL_EDGE, emptyDistances, type Integrals, type TransferFunction } from "../volume/index";
import { BoxPass, LEAST_LIGHT } from "./box-pass";
import { type Camera, keyBasis, scale } from "./camera";
import { Classified, placing } from "./classified";
import { type Gl, resetUnpacking, setSampling, type Target } from "./gl";
import type { SegmentSet } from "./segment-sets";
import integrals from "./shaders/integrals.glsl?raw";
import segmentsFragment from "./shaders/segments.frag.glsl?raw";

/** What a picture of segments shows. */
export interface SegmentPicture {
  readonly set: SegmentSet;
  readonly transfer: TransferFunction;
  readonly camera: Camera;
  /** Width over height. */
  readonly aspect: number;
}

/** Distance of places that are read, in distances of values along key rays: between two, values count as linear. */
const STEP = 1;

/** Casts rays through the segments of a keyframe. */
export class SegmentPass {
  readonly #gl: Gl;
  readonly #pass: BoxPass;
  readonly #classified: Classified;
  readonly #distances: WebGLTexture;
  #skipping: { set: SegmentSet; transfer: TransferFunction } | null = null;

  constructor(gl: Gl) {
    this.#gl = gl;
    this.#pass = new BoxPass(gl, integrals + segmentsFragment);
    this.#classified = new Classified(gl);
    this.#distances = gl.createTexture();
  }

  /** The driver begins with what draws. */
  begin(): void {
    this.#pass.begin();
  }

  /** Whether it can draw without waiting for the driver. */
  get isReady(): boolean {
    return this.#pass.isReady;
  }

  /** Draws rows `from` to `to` (from the bottom) of `target`. */
  draw(target: Target, picture: SegmentPicture, from: number, to: number): void {
    const gl = this.#gl;
    const { set, transfer, camera, aspect } = picture;
    this.#skip(set, transfer, this.#classified.update(transfer));
    const textures = [
      { name: "uValues", kind: gl.TEXTURE_3D, texture: set.values.texture },
      { name: "uDistances", kind: gl.TEXTURE_3D, texture: this.#distances },
      { name: "uIntegrals", kind: gl.TEXTURE_2D, texture: this.#classified.texture },
    ];
    const view = { camera, aspect, edges: set.edges };
    this.#pass.draw(target, [from, to], view, textures, () => this.#setKey(set, transfer));
  }

  /** Brings the distances to what is visible up to date. */
  #skip(set: SegmentSet, transfer: TransferFunction, integrals: Integrals): void {
    if (this.#skipping?.set === set && this.#skipping.transfer === transfer) return;
    this.#skipping = { set, transfer };
    const gl = this.#gl;
    const distances = emptyDistances(set.ranges, integrals, placing(set.range, transfer));
    resetUnpacking(gl);
    gl.activeTexture(gl.TEXTURE0);
    gl.bindTexture(gl.TEXTURE_3D, this.#distances);
    gl.texImage3D(gl.TEXTURE_3D, 0, gl.R8UI, ...set.ranges.size, 0, gl.RED_INTEGER, gl.UNSIGNED_BYTE, distances);
    setSampling(gl, gl.TEXTURE_3D, gl.NEAREST);
  }

  #setKey(set: SegmentSet, transfer: TransferFunction): void {
    const gl = this.#gl;
    const at = (name: string) => this.#pass.at(name);
    const { eye, forward, right, up, tangents } = keyBasis(set);
    const [along, width, height] = set.values.size;
    gl.uniform3fv(at("uKeyEye"), eye);
    gl.uniform3fv(at("uKeyForward"), forward);
    gl.uniform3fv(at("uKeyRight"), scale(right, 1 / 2 / tangents[0]));
    gl.uniform3fv(at("uKeyDown"), scale(up, -1 / 2 / tangents[1]));
    gl.uniform2f(at("uPlane"), 1 / (set.apart * along), (0.5 - set.near / set.apart) / along);
    gl.uniform3f(at("uCellsPerTexture"), along / CELL_EDGE, width / CELL_EDGE, height / CELL_EDGE);
    gl.uniform3fv(
      at("uTexturePerCell"),
      set.ranges.size.map((n) => 1 / n),
    );
    const place = placing(set.range, transfer);
    gl.uniform2f(at("uRange"), place.scale, place.offset);
    gl.uniform1f(at("uStep"), STEP * set.apart);
    gl.uniform1f(at("uLeast"), LEAST_LIGHT);
  }
}
