import { basisOf, type Camera, scale } from "./camera";
import { type Gl, Program, type Target } from "./gl";
import slabFragment from "./shaders/slab.frag.glsl?raw";
import slabVertex from "./shaders/slab.vert.glsl?raw";
import { ATLAS_EDGE, type SlabSet } from "./slab-sets";

/** Draws a keyframe's tiles back to front. */
export class SlabPass {
  readonly #gl: Gl;
  readonly #program: Program;

  constructor(gl: Gl) {
    this.#gl = gl;
    this.#program = new Program(gl, slabVertex, slabFragment);
  }

  /** Draws rows `from` to `to` (from the bottom) of `target`, an image of floats. */
  draw(target: Target, set: SlabSet, camera: Camera, aspect: number, from: number, to: number): void {
    const gl = this.#gl;
    target.bind();
    gl.disable(gl.DEPTH_TEST);
    gl.disable(gl.CULL_FACE);
    gl.enable(gl.SCISSOR_TEST);
    gl.scissor(0, from, target.width, to - from);
    gl.clearColor(0, 0, 0, 0);
    gl.clear(gl.COLOR_BUFFER_BIT);
    gl.enable(gl.BLEND);
    gl.blendEquation(gl.FUNC_ADD);
    gl.blendFunc(gl.ONE, gl.ONE_MINUS_SRC_ALPHA);
    this.#program.use();
    gl.activeTexture(gl.TEXTURE0);
    gl.bindTexture(gl.TEXTURE_2D_ARRAY, set.atlas.texture);
    gl.uniform1i(this.#program.at("uAtlas"), 0);
    this.#setKey(set);
    this.#setCamera(camera, aspect);
    gl.bindVertexArray(set.tiles);
    gl.drawArraysInstanced(gl.TRIANGLE_STRIP, 0, 4, set.tileCount);
    gl.bindVertexArray(null);
    gl.disable(gl.BLEND);
    gl.disable(gl.SCISSOR_TEST);
  }

  #setKey(set: SlabSet): void {
    const gl = this.#gl;
    const at = (name: string) => this.#program.at(name);
    const { eye, forward, right, up } = basisOf(set.camera);
    const tangent = Math.tan((set.camera.fov * Math.PI) / 360);
    const wide = (tangent * set.rays[0]) / set.rays[1];
    const thickness = (set.far - set.near) / set.slabCount;
    gl.uniform3fv(at("uKeyEye"), eye);
    gl.uniform3fv(at("uKeyForward"), forward);
    gl.uniform3fv(at("uKeyRight"), right);
    gl.uniform3fv(at("uKeyUp"), up);
    gl.uniform2f(at("uKeyTangents"), wide, tangent);
    gl.uniform3fv(at("uNormal"), set.normal);
    gl.uniform2f(at("uRays"), set.rays[0], set.rays[1]);
    gl.uniform2f(at("uDepth"), set.near + thickness / 2, thickness);
    gl.uniform1f(at("uAtlasEdge"), ATLAS_EDGE);
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
