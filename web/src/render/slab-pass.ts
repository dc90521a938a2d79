import { croppedBox, type Vec3 } from "../volume/index";
import { add, basisOf, type Camera, isSameCrop, keyBasis, scale } from "./camera";
import { type Gl, Program, type Target } from "./gl";
import slabFragment from "./shaders/slab.frag.glsl?raw";
import slabVertex from "./shaders/slab.vert.glsl?raw";
import { ATLAS_EDGE, type SlabSet } from "./slab-sets";

/** Beyond all boxes. */
const EVERYWHERE = { lo: [-1e6, -1e6, -1e6], hi: [1e6, 1e6, 1e6] } as const;

/** Draws a keyframe's tiles back to front. */
export class SlabPass {
  readonly #gl: Gl;
  readonly #program: Program;

  constructor(gl: Gl) {
    this.#gl = gl;
    this.#program = new Program(gl, slabVertex, slabFragment);
  }

  /** The driver begins with what draws. */
  begin(): void {
    this.#program.begin();
  }

  /** Whether it can draw without waiting for the driver. */
  get isReady(): boolean {
    return this.#program.isReady;
  }

  /** Draws rows `from` to `to` (from the bottom) of `target`, an image of floats; `edges`: of the box. */
  draw(target: Target, set: SlabSet, edges: Vec3, camera: Camera, aspect: number, from: number, to: number): void {
    const gl = this.#gl;
    target.begin(from, to);
    gl.enable(gl.BLEND);
    gl.blendEquation(gl.FUNC_ADD);
    gl.blendFunc(gl.ONE, gl.ONE_MINUS_SRC_ALPHA);
    this.#program.use();
    this.#program.bind(0, { name: "uAtlas", kind: gl.TEXTURE_2D_ARRAY, texture: set.atlas.texture });
    this.#setKey(set);
    this.#setCamera(camera, aspect);
    this.#crop(set, edges, camera);
    gl.bindVertexArray(set.tiles);
    gl.drawArraysInstanced(gl.TRIANGLE_STRIP, 0, 4, set.tileCount);
    gl.bindVertexArray(null);
    gl.disable(gl.BLEND);
    target.end();
  }

  #setKey(set: SlabSet): void {
    const gl = this.#gl;
    const at = (name: string) => this.#program.at(name);
    const { eye, forward, right, up, tangents } = keyBasis(set);
    const thickness = (set.far - set.near) / set.slabCount;
    gl.uniform3fv(at("uKeyEye"), eye);
    gl.uniform3fv(at("uKeyForward"), forward);
    gl.uniform3fv(at("uKeyRight"), right);
    gl.uniform3fv(at("uKeyUp"), up);
    gl.uniform2fv(at("uKeyTangents"), tangents);
    gl.uniform3fv(at("uNormal"), set.normal);
    gl.uniform2f(at("uRays"), set.rays[0], set.rays[1]);
    gl.uniform2f(at("uDepth"), set.near + thickness / 2, thickness);
    gl.uniform1f(at("uAtlasEdge"), ATLAS_EDGE);
  }

  /** Layers of another part of the box are cut as they lie; those of this part are whole. */
  #crop(set: SlabSet, edges: Vec3, camera: Camera): void {
    const { lo, hi } = isSameCrop(set.camera.crop, camera.crop) ? EVERYWHERE : croppedBox(edges, camera.crop);
    const toEye = scale(basisOf(camera).eye, -1);
    this.#gl.uniform3fv(this.#program.at("uLow"), add(lo, toEye));
    this.#gl.uniform3fv(this.#program.at("uHigh"), add(hi, toEye));
  }

  #setCamera(camera: Camera, aspect: number): void {
    const gl = this.#gl;
    const at = (name: string) => this.#program.at(name);
    const { eye, forward, right, up } = basisOf(camera);
    const tangent = Math.tan((camera.fov * Math.PI) / 360);
    gl.uniform3fv(at("uEye"), eye);
    gl.uniform3fv(at("uForward"), forward);
    gl.uniform3fv(at("uRight"), scale(right, 1 / (tangent * aspect)));
    gl.uniform3fv(at("uUp"), scale(up, 1 / tangent));
  }
}
