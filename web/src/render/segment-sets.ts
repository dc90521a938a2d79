import { type DecodedBrick, LevelRanges, NO_DATA, planeStride, type Vec3, valuesAlongRay } from "../volume/index";
import type { SegmentKey } from "../wire/index";
import type { SegmentsPart } from "../worker/index";
import { clearLayers, type Gl, resetUnpacking, setSampling } from "./gl";
import { KeyframeAssembly } from "./keyframe-assembly";

/** A keyframe of segments ready to draw, through any transfer function. */
export interface SegmentSet extends SegmentKey {
  readonly id: number;
  readonly field: number;
  readonly step: number;
  readonly time: number;
  readonly values: Values;
  /** Distance from value to value along the key view's direction, world units. */
  readonly apart: number;
  readonly ranges: LevelRanges;
  /** When it was complete, page clock. */
  readonly since: number;
}

/** Half floats by plane, column and row of the key view; shares of the keyframe's range, or no data. */
interface Values {
  readonly texture: WebGLTexture;
  readonly size: Vec3;
}

interface Room {
  readonly values: Values;
  readonly ranges: LevelRanges;
}

/** Assembles keyframes of segments in textures. */
export class SegmentSets {
  readonly #gl: Gl;
  readonly #assembly: KeyframeAssembly<DecodedBrick, SegmentsPart, Room>;
  #spare: Values | null = null;
  /** The newest complete keyframe; `null` if none. */
  shown: SegmentSet | null = null;

  constructor(gl: Gl) {
    this.#gl = gl;
    this.#assembly = new KeyframeAssembly({
      prepare: (part) => this.#prepare(part),
      upload: (room, tile) => this.#upload(room, tile),
      recycle: ({ values }) => this.#keep(values),
    });
  }

  get isUploading(): boolean {
    return this.#assembly.isUploading;
  }

  begin(groups: number): void {
    this.#assembly.begin(groups);
    if (this.shown) this.#keep(this.shown.values);
    this.shown = null;
  }

  accept(part: SegmentsPart): void {
    this.#assembly.accept(part);
  }

  /** Uploads a complete keyframe for about `budgetMs`. True if what is shown changed. */
  advance(budgetMs: number): boolean {
    const made = this.#assembly.advance(budgetMs);
    if (!made) return false;
    if (this.shown) this.#keep(this.shown.values);
    const { type: _, header, tiles: __, ...key } = made.part;
    const { set, field, step, time } = header;
    const apart = key.spacing * planeStride(key);
    this.shown = { ...key, id: set, field, step, time, ...made.room, apart, since: performance.now() };
    return true;
  }

  #prepare(part: SegmentsPart): Room {
    const size = [valuesAlongRay(part), part.rays[0], part.rays[1]] as const;
    const values = this.#take(size);
    clearLayers(this.#gl, values.texture, size[2], NO_DATA);
    return { values, ranges: new LevelRanges(size) };
  }

  #upload({ values, ranges }: Room, { lo, size, samples, ranges: bounds }: DecodedBrick): void {
    const gl = this.#gl;
    ranges.merge(bounds);
    resetUnpacking(gl);
    gl.activeTexture(gl.TEXTURE0);
    gl.bindTexture(gl.TEXTURE_3D, values.texture);
    gl.texSubImage3D(gl.TEXTURE_3D, 0, ...lo, ...size, gl.RED, gl.HALF_FLOAT, samples);
  }

  #take(size: Vec3): Values {
    const spare = this.#spare;
    this.#spare = null;
    if (spare?.size.every((n, axis) => n === size[axis])) return spare;
    const gl = this.#gl;
    if (spare) gl.deleteTexture(spare.texture);
    const texture = gl.createTexture();
    gl.activeTexture(gl.TEXTURE0);
    gl.bindTexture(gl.TEXTURE_3D, texture);
    gl.texStorage3D(gl.TEXTURE_3D, 1, gl.R16F, ...size);
    setSampling(gl, gl.TEXTURE_3D, gl.LINEAR);
    return { texture, size };
  }

  #keep(values: Values): void {
    if (this.#spare) this.#gl.deleteTexture(this.#spare.texture);
    this.#spare = values;
  }
}
