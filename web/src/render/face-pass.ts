import { INTEGRAL_BINS, Integrals, type TransferFunction } from "../volume/index";
import { basisOf, type Camera, scale } from "./camera";
import type { FaceSet } from "./face-sets";
import { type Gl, Program, resetUnpacking, setSampling, type Target } from "./gl";
import facesFragment from "./shaders/faces.frag.glsl?raw";
import volumeVertex from "./shaders/volume.vert.glsl?raw";

/** What a picture of scalar slabs shows. */
export interface FacePicture {
  readonly set: FaceSet;
  readonly transfer: TransferFunction;
  readonly camera: Camera;
  /** Width over height. */
  readonly aspect: number;
}

/** A ray ends where less light than this comes through. */
const LEAST_LIGHT = 1 / 1024;

/** Casts rays through the faces of a keyframe. */
export class FacePass {
  readonly #gl: Gl;
  readonly #program: Program;
  readonly #integrals: WebGLTexture;
  readonly #empty: WebGLVertexArrayObject;
  #classified: TransferFunction | null = null;

  constructor(gl: Gl) {
    this.#gl = gl;
    this.#program = new Program(gl, volumeVertex, facesFragment);
    this.#integrals = gl.createTexture();
    this.#empty = gl.createVertexArray();
  }

  /** Draws rows `from` to `to` (from the bottom) of `target`. */
  draw(target: Target, picture: FacePicture, from: number, to: number): void {
    const gl = this.#gl;
    this.#classify(picture.transfer);
    target.bind();
    gl.disable(gl.BLEND);
    gl.disable(gl.DEPTH_TEST);
    gl.enable(gl.SCISSOR_TEST);
    gl.scissor(0, from, target.width, to - from);
    gl.clearColor(0, 0, 0, 0);
    gl.clear(gl.COLOR_BUFFER_BIT);
    gl.enable(gl.CULL_FACE);
    gl.frontFace(gl.CCW);
    gl.cullFace(gl.FRONT);
    this.#program.use();
    this.#bindTextures(picture.set);
    this.#setCamera(picture, target);
    this.#setKey(picture);
    gl.bindVertexArray(this.#empty);
    gl.drawArrays(gl.TRIANGLES, 0, 36);
    gl.disable(gl.CULL_FACE);
    gl.disable(gl.SCISSOR_TEST);
  }

  /** Brings the integrals of the transfer function up to date. */
  #classify(transfer: TransferFunction): void {
    if (this.#classified === transfer) return;
    this.#classified = transfer;
    const gl = this.#gl;
    resetUnpacking(gl);
    gl.activeTexture(gl.TEXTURE0);
    gl.bindTexture(gl.TEXTURE_2D, this.#integrals);
    const { texels } = new Integrals(transfer);
    gl.texImage2D(gl.TEXTURE_2D, 0, gl.RGBA32F, INTEGRAL_BINS, 2, 0, gl.RGBA, gl.FLOAT, texels);
    setSampling(gl, gl.TEXTURE_2D, gl.NEAREST);
  }

  #bindTextures(set: FaceSet): void {
    const gl = this.#gl;
    const bind = (unit: number, kind: GLenum, texture: WebGLTexture, name: string) => {
      gl.activeTexture(gl.TEXTURE0 + unit);
      gl.bindTexture(kind, texture);
      gl.uniform1i(this.#program.at(name), unit);
    };
    bind(0, gl.TEXTURE_2D_ARRAY, set.faces.texture, "uFaces");
    bind(1, gl.TEXTURE_2D, this.#integrals, "uIntegrals");
  }

  #setCamera({ camera, aspect, set }: FacePicture, target: Target): void {
    const gl = this.#gl;
    const at = (name: string) => this.#program.at(name);
    const { eye, forward, right, up } = basisOf(camera);
    const tangent = Math.tan((camera.fov * Math.PI) / 360);
    gl.uniform3fv(at("uEye"), eye);
    gl.uniform3fv(at("uForward"), forward);
    gl.uniform3fv(at("uRight"), scale(right, tangent * aspect));
    gl.uniform3fv(at("uUp"), scale(up, tangent));
    gl.uniform2f(at("uPixel"), 2 / target.width, 2 / target.height);
    gl.uniform3fv(at("uHalfEdges"), scale(set.edges, 0.5));
    gl.uniform1f(at("uLeast"), LEAST_LIGHT);
  }

  #setKey({ set, transfer }: FacePicture): void {
    const gl = this.#gl;
    const at = (name: string) => this.#program.at(name);
    const { eye, forward, right, up } = basisOf(set.camera);
    const tangent = Math.tan((set.camera.fov * Math.PI) / 360);
    const wide = (tangent * set.rays[0]) / set.rays[1];
    gl.uniform3fv(at("uKeyEye"), eye);
    gl.uniform3fv(at("uKeyForward"), forward);
    gl.uniform3fv(at("uKeyRight"), scale(right, 1 / wide));
    gl.uniform3fv(at("uKeyUp"), scale(up, 1 / tangent));
    gl.uniform3fv(at("uNormal"), set.normal);
    gl.uniform3f(at("uSlabs"), set.near, set.far, set.slabCount);
    const [lo, hi] = set.range;
    const [from, to] = transfer.range;
    const width = to > from ? to - from : Number.POSITIVE_INFINITY;
    gl.uniform2f(at("uRange"), (hi - lo) / width, to > from ? (lo - from) / width : 0.5);
  }
}
