import {
  croppedBox,
  type Geometry,
  geometryOf,
  LOST,
  type TransferFunction,
  textureFromWorld,
  type Vec3,
} from "../volume/index";
import type { KeyView, SegmentKey } from "../wire/index";
import type { Box } from "./boxes";
import type { BrickSet } from "./brick-sets";
import { type KeyRays, keyBasis, scale } from "./camera";
import { Classified, placing } from "./classified";
import { type Gl, Program } from "./gl";
import integrals from "./shaders/integrals.glsl?raw";
import screenVertex from "./shaders/screen.vert.glsl?raw";
import standIn from "./shaders/stand-in.glsl?raw";
import brickFragment from "./shaders/stand-in-brick.frag.glsl?raw";
import faceFragment from "./shaders/stand-in-face.frag.glsl?raw";
import rayFragment from "./shaders/stand-in-ray.frag.glsl?raw";
import slabFragment from "./shaders/stand-in-slab.frag.glsl?raw";
import { TexturePool } from "./texture-pool";
import { rowsThatCame } from "./torn";

/** What there is to stand in. */
export interface Known {
  readonly bricks: BrickSet;
  readonly geometry: Geometry;
  /** Of the bricks' field. */
  readonly transfer: TransferFunction;
}

/** A level of bricks in a texture. */
type Samples = Omit<BrickSet, "ranges">;

type ToTexture = ReturnType<typeof textureFromWorld>;

/** A rectangle of texels in a layer of a texture. */
export interface Spot {
  readonly texture: WebGLTexture;
  readonly layer: number;
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
}

/** Draws what bricks say into the places of what is lost: coarser ones, or those of the step before. False where nothing is known of a tile of a keyframe. */
export class StandIns {
  readonly #gl: Gl;
  readonly #programs: Partial<Record<"brick" | "face" | "ray" | "slab", Program>> = {};
  readonly #classified: Classified;
  readonly #framebuffer: WebGLFramebuffer;
  readonly #empty: WebGLVertexArrayObject;
  /** For boxes that cannot be drawn where they belong, as what is around them is read. */
  readonly #boxes: Readonly<Record<"halves" | "singles", TexturePool>>;
  /** `null` while there is nothing. */
  known: Known | null = null;

  constructor(gl: Gl) {
    this.#gl = gl;
    this.#classified = new Classified(gl);
    this.#framebuffer = gl.createFramebuffer();
    this.#empty = gl.createVertexArray();
    const boxes = (format: GLenum) => new TexturePool(gl, gl.TEXTURE_3D, format, 1);
    this.#boxes = { halves: boxes(gl.R16F), singles: boxes(gl.R32F) };
  }

  /** Samples of a level of bricks, from what is `shown` until now: what is lost of its torn boxes, among which are the `missing` ones, of which nothing came. */
  bricks(into: Samples, shown: Samples | null, missing: readonly Box[]): void {
    // Where nothing is known of the field, the level itself says nothing of what it has lost.
    const known = shown?.field === into.field ? shown : into;
    for (const box of missing) this.#lose(into.texture, box);
    for (const box of into.torn) this.#complete(into, known, box);
  }

  /** Draws what is lost of a box of a level. */
  #complete(into: Samples, bricks: Samples, { lo, size }: Box): void {
    const gl = this.#gl;
    const boxes = into.asSingles ? this.#boxes.singles : this.#boxes.halves;
    const room = boxes.take(size);
    if (!room) return;
    const finer = 2 ** (into.level - bricks.level);
    const toTexture = { scale: perAxis((axis) => finer / bricks.size[axis]), offset: [0, 0, 0] as const };
    const program = this.#begin("brick", brickFragment, bricks, [into.lo, into.hi], toTexture, into.level);
    program.bind(1, { name: "uLevel", kind: gl.TEXTURE_3D, texture: into.texture });
    const areMeans = bricks.step === into.step && bricks.level === into.level + 1;
    const half = (of: Vec3) => perAxis((axis) => of[axis] / 2);
    gl.uniform1i(program.at("uMeans"), areMeans ? rowsThatCame(bricks.torn, { lo: half(lo), size: half(size) }) : 0);
    const span = into.hi > into.lo ? (bricks.hi - bricks.lo) / (into.hi - into.lo) : 0;
    gl.uniform1f(program.at("uMostOff"), (0.5 * span) / (2 ** bricks.bits - 2));
    for (let layer = 0; layer < size[2]; layer++) {
      gl.uniform3i(program.at("uFirst"), lo[0], lo[1], lo[2] + layer);
      this.#fill({ texture: room.texture, layer, x: 0, y: 0, width: size[0], height: size[1] });
    }
    this.#copy(room.texture, into.texture, { lo, size });
    boxes.keep(room);
  }

  /** Texels of a face of scalar slabs. */
  face(key: KeyView & { readonly range: readonly [number, number] }, spot: Spot): boolean {
    const { known } = this;
    if (!known) return false;
    const gl = this.#gl;
    const program = this.#begin("face", faceFragment, known.bricks, key.range, fromWorldOf(key, known));
    this.#setKey(program, key);
    gl.uniform3fv(program.at("uNormal"), key.normal);
    gl.uniform1f(program.at("uDepth"), key.near + (spot.layer * (key.far - key.near)) / key.slabCount);
    this.#fill(spot);
    return true;
  }

  /** Values of rays of segments, `apart` along them; `lo` and `size` in values, columns and rows. */
  rays(key: SegmentKey, texture: WebGLTexture, apart: number, lo: Vec3, size: Vec3): boolean {
    const { known } = this;
    if (!known) return false;
    const gl = this.#gl;
    const program = this.#begin("ray", rayFragment, known.bricks, key.range, fromWorldOf(key, known));
    this.#setKey(program, key);
    gl.uniform2f(program.at("uDepth"), key.near - apart / 2, apart);
    for (let layer = lo[2]; layer < lo[2] + size[2]; layer++) {
      gl.uniform1f(program.at("uLayer"), layer);
      this.#fill({ texture, layer, x: lo[0], y: lo[1], width: size[0], height: size[1] });
    }
    return true;
  }

  /** Texels of slab number `slab` of colour, the first of which is that of ray `first`. */
  slab(key: KeyView, slab: number, first: readonly [number, number], spot: Spot): boolean {
    const { known } = this;
    if (!known) return false;
    const gl = this.#gl;
    const { bricks, transfer } = known;
    const program = this.#begin("slab", integrals + slabFragment, bricks, [0, 1], fromWorldOf(key, known));
    this.#setKey(program, key);
    this.#classified.update(transfer);
    program.bind(1, { name: "uIntegrals", kind: gl.TEXTURE_2D, texture: this.#classified.texture });
    const place = placing([bricks.lo, bricks.hi], transfer);
    gl.uniform2f(program.at("uRange"), place.scale, place.offset);
    gl.uniform3fv(program.at("uNormal"), key.normal);
    const thickness = (key.far - key.near) / key.slabCount;
    gl.uniform2f(program.at("uBetween"), key.near + slab * thickness, key.near + (slab + 1) * thickness);
    const { lo, hi } = croppedBox(boxOf(key, known).edges, key.camera.crop);
    gl.uniform3fv(program.at("uLow"), lo);
    gl.uniform3fv(program.at("uHigh"), hi);
    gl.uniform2f(program.at("uFirst"), first[0] - spot.x, first[1] - spot.y);
    this.#fill(spot);
    return true;
  }

  /** Values between `lo` and `hi` are kept as 0 to 1, and as those of `level` are. */
  #begin(
    name: "brick" | "face" | "ray" | "slab",
    fragment: string,
    bricks: Samples,
    [lo, hi]: readonly [number, number],
    toTexture: ToTexture,
    level = 0,
  ): Program {
    const gl = this.#gl;
    const program = this.#programs[name] ?? new Program(gl, screenVertex, standIn + fragment);
    this.#programs[name] = program;
    program.use();
    program.bind(0, { name: "uVolume", kind: gl.TEXTURE_3D, texture: bricks.texture });
    gl.uniform3fv(program.at("uTextureScale"), toTexture.scale);
    gl.uniform3fv(program.at("uTextureOffset"), toTexture.offset);
    const coarser = Math.max(0, bricks.level - level);
    gl.uniform2f(program.at("uFlattened"), (1 - 4 ** -coarser) / 24, coarser > 0 ? 0.5 : 0);
    const span = hi - lo;
    gl.uniform2f(
      program.at("uShare"),
      span > 0 ? (bricks.hi - bricks.lo) / span : 0,
      span > 0 ? (bricks.lo - lo) / span : 0,
    );
    return program;
  }

  #setKey(program: Program, key: KeyRays): void {
    const gl = this.#gl;
    const { eye, forward, right, up, tangents } = keyBasis(key);
    gl.uniform3fv(program.at("uKeyEye"), eye);
    gl.uniform3fv(program.at("uKeyForward"), forward);
    gl.uniform3fv(program.at("uKeyRight"), scale(right, tangents[0]));
    gl.uniform3fv(program.at("uKeyDown"), scale(up, -tangents[1]));
    gl.uniform2fv(program.at("uRays"), key.rays);
  }

  /** Runs the program in use for a spot. */
  #fill({ texture, layer, x, y, width, height }: Spot): void {
    const gl = this.#gl;
    gl.bindFramebuffer(gl.FRAMEBUFFER, this.#framebuffer);
    gl.framebufferTextureLayer(gl.FRAMEBUFFER, gl.COLOR_ATTACHMENT0, texture, 0, layer);
    gl.disable(gl.BLEND);
    gl.disable(gl.DEPTH_TEST);
    gl.disable(gl.CULL_FACE);
    gl.disable(gl.SCISSOR_TEST);
    // The fragments' coordinates are those of the whole layer.
    gl.viewport(x, y, width, height);
    gl.bindVertexArray(this.#empty);
    gl.drawArrays(gl.TRIANGLES, 0, 3);
    gl.bindVertexArray(null);
    gl.bindFramebuffer(gl.FRAMEBUFFER, null);
  }

  /** All samples of a box are lost. */
  #lose(texture: WebGLTexture, { lo, size }: Box): void {
    const gl = this.#gl;
    gl.bindFramebuffer(gl.FRAMEBUFFER, this.#framebuffer);
    gl.enable(gl.SCISSOR_TEST);
    gl.scissor(lo[0], lo[1], size[0], size[1]);
    for (let layer = lo[2]; layer < lo[2] + size[2]; layer++) {
      gl.framebufferTextureLayer(gl.FRAMEBUFFER, gl.COLOR_ATTACHMENT0, texture, 0, layer);
      gl.clearBufferfv(gl.COLOR, 0, [LOST, 0, 0, 0]);
    }
    gl.disable(gl.SCISSOR_TEST);
    gl.bindFramebuffer(gl.FRAMEBUFFER, null);
  }

  /** Takes as much of a texture as fills a box of another one. */
  #copy(from: WebGLTexture, into: WebGLTexture, { lo, size }: Box): void {
    const gl = this.#gl;
    gl.activeTexture(gl.TEXTURE0);
    gl.bindTexture(gl.TEXTURE_3D, into);
    gl.bindFramebuffer(gl.FRAMEBUFFER, this.#framebuffer);
    for (let layer = 0; layer < size[2]; layer++) {
      gl.framebufferTextureLayer(gl.FRAMEBUFFER, gl.COLOR_ATTACHMENT0, from, 0, layer);
      gl.copyTexSubImage3D(gl.TEXTURE_3D, 0, lo[0], lo[1], lo[2] + layer, 0, 0, size[0], size[1]);
    }
    gl.bindFramebuffer(gl.FRAMEBUFFER, null);
  }
}

/** The box as a keyframe has it, which may be stretched otherwise than it is shown. */
function boxOf({ camera }: KeyRays, { geometry }: Known): Geometry {
  return geometryOf(geometry.grid, camera.stretch);
}

function fromWorldOf(key: KeyRays, known: Known): ToTexture {
  return textureFromWorld(boxOf(key, known), known.bricks.level, known.bricks.size);
}

function perAxis(of: (axis: 0 | 1 | 2) => number): Vec3 {
  return [of(0), of(1), of(2)];
}
