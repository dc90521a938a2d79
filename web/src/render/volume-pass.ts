import {
  type Geometry,
  TABLE_ENTRIES,
  type TransferFunction,
  tableIndexing,
  textureFromWorld,
  type Vec3,
} from "../volume/index";
import { BoxPass, LEAST_LIGHT } from "./box-pass";
import type { BrickSet } from "./brick-sets";
import { type Camera, type KeyRays, keyBasis, scale } from "./camera";
import { Classification } from "./classification";
import { KEY_SLACK } from "./coverage";
import type { Gl, Target } from "./gl";
import volumeFragment from "./shaders/volume.frag.glsl?raw";
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

/** A ray ends where less light than this comes through: a draft differs by three of 255 levels at most. */
const LEAST_LIGHT_OF: Readonly<Record<Precision, number>> = { exact: LEAST_LIGHT, draft: 1 / 100 };

const NOWHERE: Vec3 = [0, 0, 0];
/** Its rays pass nothing. */
const NO_KEY = { eye: NOWHERE, forward: NOWHERE, right: NOWHERE, up: NOWHERE, tangents: [1, 1] } as const;

/** Ray casts a brick set into a target. */
export class VolumePass {
  readonly #gl: Gl;
  readonly #pass: BoxPass;
  readonly #classification: Classification;

  constructor(gl: Gl) {
    this.#gl = gl;
    this.#pass = new BoxPass(gl, volumeFragment);
    // Bricks come first; what draws keyframes waits until there are some.
    this.#pass.begin();
    this.#classification = new Classification(gl);
  }

  /** Whether it can draw without waiting for the driver. */
  get isReady(): boolean {
    return this.#pass.isReady;
  }

  /** Draws rows `from` to `to` (from the bottom) of `target`. */
  draw(target: Target, picture: BrickPicture, from: number, to: number, precision: Precision): void {
    const { view, textures, dt } = this.#prepare(picture);
    this.#pass.draw(target, [from, to], view, textures, () => this.#setPicture(picture, dt, precision, null));
  }

  /** Draws what the rays of a keyframe do not pass into rows of `target` that show the keyframe already. */
  drawBeside(keyframe: KeyRays, target: Target, picture: BrickPicture, from: number, to: number): void {
    const { view, textures, dt } = this.#prepare(picture);
    this.#pass.drawOver(target, [from, to], view, textures, () => this.#setPicture(picture, dt, "exact", keyframe));
  }

  #prepare({ set, geometry, transfer, camera, aspect }: BrickPicture) {
    const gl = this.#gl;
    const dt = sampleDistance(geometry, set.level);
    this.#classification.update(set, transfer, dt);
    const textures = [
      { name: "uVolume", kind: gl.TEXTURE_3D, texture: set.texture },
      { name: "uColours", kind: gl.TEXTURE_2D, texture: this.#classification.colours },
      { name: "uDistances", kind: gl.TEXTURE_3D, texture: this.#classification.distances },
    ];
    return { view: { camera, aspect, edges: geometry.edges }, textures, dt };
  }

  #setPicture(picture: BrickPicture, dt: number, precision: Precision, keyframe: KeyRays | null): void {
    const { set, geometry, transfer } = picture;
    this.#setVolume(set, geometry, transfer, dt);
    this.#setKey(keyframe);
    this.#gl.uniform1f(this.#pass.at("uLeast"), LEAST_LIGHT_OF[precision]);
  }

  /** `null`: nothing is drawn already. */
  #setKey(keyframe: KeyRays | null): void {
    const { eye, forward, right, up, tangents } = keyframe ? keyBasis(keyframe) : NO_KEY;
    const set = (name: string, to: Vec3) => this.#gl.uniform3fv(this.#pass.at(name), to);
    set("uKeyEye", eye);
    set("uKeyForward", forward);
    set("uKeyRight", scale(right, 1 / (KEY_SLACK * tangents[0])));
    set("uKeyUp", scale(up, 1 / (KEY_SLACK * tangents[1])));
  }

  #setVolume(set: BrickSet, geometry: Geometry, transfer: TransferFunction, dt: number): void {
    const gl = this.#gl;
    const at = (name: string) => this.#pass.at(name);
    const toTexture = textureFromWorld(geometry, set.level, set.size);
    const indexing = tableIndexing(transfer, set.lo, set.hi);
    gl.uniform3fv(at("uTextureScale"), toTexture.scale);
    gl.uniform3fv(at("uTextureOffset"), toTexture.offset);
    gl.uniform3fv(at("uCellsPerTexture"), Classification.cellsPerTexture(set));
    gl.uniform3fv(
      at("uTexturePerCell"),
      set.ranges.size.map((n) => 1 / n),
    );
    const texels = TABLE_ENTRIES + 1;
    const coordinates = [indexing.scale, indexing.offset + 0.5, TABLE_ENTRIES - 0.5].map((n) => n / texels);
    gl.uniform3fv(at("uIndex"), coordinates);
    gl.uniform1f(at("uStep"), dt);
  }
}

/** The full grid's spacing at its own level; coarser levels, smooth over 2^level samples, take half of theirs. */
function sampleDistance(geometry: Geometry, level: number): number {
  return geometry.spacing * Math.max(1, 2 ** (level - 1));
}
