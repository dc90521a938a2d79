import type { TransferFunction } from "../volume/index";
import { BoxPass, LEAST_LIGHT } from "./box-pass";
import { type Camera, keyBasis, scale } from "./camera";
import { Classified, placing } from "./classified";
import type { FaceSet } from "./face-sets";
import type { Gl, Target } from "./gl";
import facesFragment from "./shaders/faces.frag.glsl?raw";
import integrals from "./shaders/integrals.glsl?raw";

/** What a picture of scalar slabs shows. */
export interface FacePicture {
  readonly set: FaceSet;
  readonly transfer: TransferFunction;
  readonly camera: Camera;
  /** Width over height. */
  readonly aspect: number;
}

/** Casts rays through the faces of a keyframe. */
export class FacePass {
  readonly #gl: Gl;
  readonly #pass: BoxPass;
  readonly #classified: Classified;

  constructor(gl: Gl) {
    this.#gl = gl;
    this.#pass = new BoxPass(gl, integrals + facesFragment);
    this.#classified = new Classified(gl);
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
  draw(target: Target, picture: FacePicture, from: number, to: number): void {
    const gl = this.#gl;
    const { set, transfer, camera, aspect } = picture;
    this.#classified.update(transfer);
    const textures = [
      { name: "uFaces", kind: gl.TEXTURE_2D_ARRAY, texture: set.faces.texture },
      { name: "uIntegrals", kind: gl.TEXTURE_2D, texture: this.#classified.texture },
    ];
    const view = { camera, aspect, edges: set.edges };
    this.#pass.draw(target, [from, to], view, textures, () => this.#setKey(picture));
  }

  #setKey({ set, transfer }: FacePicture): void {
    const gl = this.#gl;
    const at = (name: string) => this.#pass.at(name);
    const { eye, forward, right, up, tangents } = keyBasis(set);
    gl.uniform3fv(at("uKeyEye"), eye);
    gl.uniform3fv(at("uKeyForward"), forward);
    gl.uniform3fv(at("uKeyRight"), scale(right, 1 / tangents[0]));
    gl.uniform3fv(at("uKeyUp"), scale(up, 1 / tangents[1]));
    gl.uniform3fv(at("uNormal"), set.normal);
    gl.uniform3f(at("uSlabs"), set.near, set.far, set.slabCount);
    const place = placing(set.range, transfer);
    gl.uniform2f(at("uRange"), place.scale, place.offset);
    gl.uniform1f(at("uLeast"), LEAST_LIGHT);
  }
}
