import { type Geometry, TABLE_ENTRIES, type TransferFunction, tableIndexing, textureFromWorld } from "../volume/index";
import type { BrickSet } from "./brick-sets";
import { basisOf, type Camera, scale } from "./camera";
import { Classification } from "./classification";
import { type Gl, Program, type Target } from "./gl";
import volumeFragment from "./shaders/volume.frag.glsl?raw";
import volumeVertex from "./shaders/volume.vert.glsl?raw";
import type { Precision } from "./shown";

/** What a picture of bricks shows. */
export interface BrickPicture {
  readonly set: BrickSet;
  readonly geometry: Geometry;
  readonly transfer: TransferFunction;
  readonly camera: Camera;
  /** Width over height. */
  readonly aspect: number;
}

/** A ray ends where less light than this comes through: a draft differs by two of 255 levels at most. */
const LEAST_LIGHT: Readonly<Record<Precision, number>> = { exact: 1 / 1024, draft: 1 / 128 };

/** Ray casts a brick set into a target. */
export class VolumePass {
  readonly #gl: Gl;
  readonly #program: Program;
  readonly #classification: Classification;
  readonly #empty: WebGLVertexArrayObject;

  constructor(gl: Gl) {
    this.#gl = gl;
    this.#program = new Program(gl, volumeVertex, volumeFragment);
    this.#classification = new Classification(gl);
    this.#empty = gl.createVertexArray();
  }

  /** Draws rows `from` to `to` (from the bottom) of `target`. */
  draw(target: Target, picture: BrickPicture, from: number, to: number, precision: Precision): void {
    const gl = this.#gl;
    const { set, geometry, transfer } = picture;
    const dt = sampleDistance(geometry, set.level);
    this.#classification.update(set, transfer, dt);
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
    this.#bindTextures(set);
    this.#setCamera(picture, target);
    this.#setVolume(set, geometry, transfer, dt);
    gl.uniform1f(this.#program.at("uLeast"), LEAST_LIGHT[precision]);
    gl.bindVertexArray(this.#empty);
    gl.drawArrays(gl.TRIANGLES, 0, 36);
    gl.disable(gl.CULL_FACE);
    gl.disable(gl.SCISSOR_TEST);
  }

  #bindTextures(set: BrickSet): void {
    const gl = this.#gl;
    const bind = (unit: number, kind: GLenum, texture: WebGLTexture, name: string) => {
      gl.activeTexture(gl.TEXTURE0 + unit);
      gl.bindTexture(kind, texture);
      gl.bindSampler(unit, null);
      gl.uniform1i(this.#program.at(name), unit);
    };
    bind(0, gl.TEXTURE_3D, set.texture, "uVolume");
    bind(1, gl.TEXTURE_2D, this.#classification.colours, "uColours");
    bind(2, gl.TEXTURE_3D, this.#classification.distances, "uDistances");
  }

  #setCamera(picture: BrickPicture, target: Target): void {
    const gl = this.#gl;
    const at = (name: string) => this.#program.at(name);
    const { eye, forward, right, up } = basisOf(picture.camera);
    const tangent = Math.tan((picture.camera.fov * Math.PI) / 360);
    gl.uniform3fv(at("uEye"), eye);
    gl.uniform3fv(at("uForward"), forward);
    gl.uniform3fv(at("uRight"), scale(right, tangent * picture.aspect));
    gl.uniform3fv(at("uUp"), scale(up, tangent));
    gl.uniform2f(at("uPixel"), 2 / target.width, 2 / target.height);
  }

  #setVolume(set: BrickSet, geometry: Geometry, transfer: TransferFunction, dt: number): void {
    const gl = this.#gl;
    const at = (name: string) => this.#program.at(name);
    const toTexture = textureFromWorld(geometry, set.level, set.size);
    const indexing = tableIndexing(transfer, set.lo, set.hi);
    gl.uniform3fv(at("uHalfEdges"), scale(geometry.edges, 0.5));
    gl.uniform3fv(at("uTextureScale"), toTexture.scale);
    gl.uniform3fv(at("uTextureOffset"), toTexture.offset);
    gl.uniform3fv(at("uCellsPerTexture"), Classification.cellsPerTexture(set));
    gl.uniform3iv(
      at("uLastCell"),
      set.ranges.size.map((n) => n - 1),
    );
    gl.uniform3f(at("uIndex"), indexing.scale, indexing.offset, TABLE_ENTRIES);
    gl.uniform1f(at("uStep"), dt);
  }
}

/** The full grid's spacing at its own level; coarser levels, smooth over 2^level samples, take half of theirs. */
function sampleDistance(geometry: Geometry, level: number): number {
  return geometry.spacing * Math.max(1, 2 ** (level - 1));
}
