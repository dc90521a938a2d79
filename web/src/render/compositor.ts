import { type Gl, Program } from "./gl";
import compositeFragment from "./shaders/composite.frag.glsl?raw";
import screenVertex from "./shaders/screen.vert.glsl?raw";

/** An image of associated colours to show; `fromTop` where its first row is the top one. */
export interface Shown {
  readonly texture: WebGLTexture;
  readonly fromTop: boolean;
}

/** Lays an image over what the canvas already shows. */
export class Compositor {
  readonly #gl: Gl;
  readonly #program: Program;
  readonly #empty: WebGLVertexArrayObject;

  constructor(gl: Gl) {
    this.#gl = gl;
    this.#program = new Program(gl, screenVertex, compositeFragment);
    this.#empty = gl.createVertexArray();
  }

  clear(width: number, height: number): void {
    const gl = this.#gl;
    gl.bindFramebuffer(gl.FRAMEBUFFER, null);
    gl.viewport(0, 0, width, height);
    gl.disable(gl.SCISSOR_TEST);
    gl.colorMask(true, true, true, true);
    gl.clearColor(0, 0, 0, 1);
    gl.clear(gl.COLOR_BUFFER_BIT);
  }

  over(image: Shown, width: number, height: number): void {
    const gl = this.#gl;
    gl.bindFramebuffer(gl.FRAMEBUFFER, null);
    gl.viewport(0, 0, width, height);
    gl.disable(gl.DEPTH_TEST);
    gl.disable(gl.CULL_FACE);
    gl.enable(gl.BLEND);
    gl.blendEquation(gl.FUNC_ADD);
    gl.blendFunc(gl.ONE, gl.ONE_MINUS_SRC_ALPHA);
    this.#program.use();
    gl.activeTexture(gl.TEXTURE0);
    gl.bindTexture(gl.TEXTURE_2D, image.texture);
    gl.bindSampler(0, null);
    gl.uniform1i(this.#program.at("uImage"), 0);
    gl.uniform1f(this.#program.at("uFromTop"), image.fromTop ? 1 : 0);
    gl.bindVertexArray(this.#empty);
    gl.drawArrays(gl.TRIANGLES, 0, 3);
    gl.bindVertexArray(null);
    gl.disable(gl.BLEND);
  }
}
