import { croppedBox, type Vec3 } from "../volume/index";
import { basisOf, type Camera, scale } from "./camera";
import { type Bound, type Gl, Program, type Target } from "./gl";
import boxRay from "./shaders/box-ray.glsl?raw";
import volumeVertex from "./shaders/volume.vert.glsl?raw";

/** From where a picture shows what lies in a box, as far as the camera does not crop it. */
export interface BoxView {
  readonly camera: Camera;
  /** Width over height. */
  readonly aspect: number;
  /** Of the box, centred at the origin. */
  readonly edges: Vec3;
}

/** A ray ends where less light than this comes through. */
export const LEAST_LIGHT = 1 / 1024;

/** Runs a fragment shader once for each pixel that sees into what is shown of a box: what all ray casting shares. */
export class BoxPass {
  readonly #gl: Gl;
  readonly #program: Program;
  readonly #empty: WebGLVertexArrayObject;

  /** `fragment`: what comes after `box-ray.glsl`. */
  constructor(gl: Gl, fragment: string) {
    this.#gl = gl;
    this.#program = new Program(gl, volumeVertex, boxRay + fragment);
    this.#empty = gl.createVertexArray();
  }

  /** Whether it can draw without waiting for the driver. */
  get isReady(): boolean {
    return this.#program.isReady;
  }

  /** The driver begins with what draws. */
  begin(): void {
    this.#program.begin();
  }

  at(name: string): WebGLUniformLocation | null {
    return this.#program.at(name);
  }

  /** Draws rows `from` to `to` (from the bottom) of `target`, its own uniforms set by `setUniforms`. */
  draw(
    target: Target,
    rows: readonly [number, number],
    view: BoxView,
    textures: readonly Bound[],
    setUniforms: () => void,
  ): void {
    target.begin(...rows);
    this.drawOver(target, rows, view, textures, setUniforms);
  }

  /** The same, into rows that keep what is there already. */
  drawOver(
    target: Target,
    rows: readonly [number, number],
    view: BoxView,
    textures: readonly Bound[],
    setUniforms: () => void,
  ): void {
    const gl = this.#gl;
    target.resume(...rows);
    gl.enable(gl.CULL_FACE);
    gl.frontFace(gl.CCW);
    gl.cullFace(gl.FRONT);
    this.#program.use();
    for (const [unit, texture] of textures.entries()) this.#program.bind(unit, texture);
    this.#setCamera(view, target);
    setUniforms();
    gl.bindVertexArray(this.#empty);
    gl.drawArrays(gl.TRIANGLES, 0, 36);
    gl.disable(gl.CULL_FACE);
    target.end();
  }

  #setCamera({ camera, aspect, edges }: BoxView, target: Target): void {
    const gl = this.#gl;
    const { eye, forward, right, up } = basisOf(camera);
    const tangent = Math.tan((camera.fov * Math.PI) / 360);
    gl.uniform3fv(this.at("uEye"), eye);
    gl.uniform3fv(this.at("uForward"), forward);
    gl.uniform3fv(this.at("uRight"), scale(right, tangent * aspect));
    gl.uniform3fv(this.at("uUp"), scale(up, tangent));
    gl.uniform2f(this.at("uPixel"), 2 / target.width, 2 / target.height);
    const { lo, hi } = croppedBox(edges, camera.crop);
    gl.uniform3fv(this.at("uLow"), lo);
    gl.uniform3fv(this.at("uHigh"), hi);
  }
}
