import { type Gl, Program, type Target } from "./gl";
import fadingFragment from "./shaders/fading.frag.glsl?raw";
import imageFragment from "./shaders/image.frag.glsl?raw";
import screenVertex from "./shaders/screen.vert.glsl?raw";

/** An image of associated colours to show; `fromTop` where its first row is the top one. */
export interface Shown {
  readonly texture: WebGLTexture;
  readonly fromTop: boolean;
}

/** An image that gives way to another, its first row the bottom one. */
export interface Before {
  readonly texture: WebGLTexture;
  /** From 1, it alone, to 0. */
  readonly share: number;
}

/** Lays an image over what the canvas already shows. */
export class Compositor {
  readonly #gl: Gl;
  readonly #image: Program;
  /** A program of its own: software renderers would fetch from both images even where nothing gives way. */
  readonly #fading: Program;
  readonly #empty: WebGLVertexArrayObject;

  constructor(gl: Gl) {
    this.#gl = gl;
    this.#image = new Program(gl, screenVertex, imageFragment);
    this.#image.begin();
    this.#fading = new Program(gl, screenVertex, fadingFragment);
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

  /** `before`: what gives way to it. */
  over(image: Shown, before: Before | null, width: number, height: number): void {
    const gl = this.#gl;
    gl.bindFramebuffer(gl.FRAMEBUFFER, null);
    gl.viewport(0, 0, width, height);
    gl.enable(gl.BLEND);
    gl.blendEquation(gl.FUNC_ADD);
    gl.blendFunc(gl.ONE, gl.ONE_MINUS_SRC_ALPHA);
    this.#draw(image, before);
    gl.disable(gl.BLEND);
  }

  /** The image alone, its first row the bottom one. */
  copy(image: Shown, target: Target): void {
    const gl = this.#gl;
    target.bind();
    gl.disable(gl.BLEND);
    gl.disable(gl.SCISSOR_TEST);
    this.#draw(image, null);
    gl.bindFramebuffer(gl.FRAMEBUFFER, null);
  }

  #draw(image: Shown, before: Before | null): void {
    const gl = this.#gl;
    gl.disable(gl.DEPTH_TEST);
    gl.disable(gl.CULL_FACE);
    const program = before ? this.#fading : this.#image;
    program.use();
    program.bind(0, { name: "uImage", kind: gl.TEXTURE_2D, texture: image.texture });
    gl.uniform1f(program.at("uFromTop"), image.fromTop ? 1 : 0);
    if (before) {
      program.bind(1, { name: "uBefore", kind: gl.TEXTURE_2D, texture: before.texture });
      gl.uniform1f(program.at("uShareBefore"), before.share);
    }
    gl.bindVertexArray(this.#empty);
    gl.drawArrays(gl.TRIANGLES, 0, 3);
    gl.bindVertexArray(null);
  }
}
