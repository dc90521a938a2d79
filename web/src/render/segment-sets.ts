import { type DecodedBrick, LevelRanges, NO_DATA, planeStride, valuesAlongRay } from "../volume/index";
import type { SegmentKey } from "../wire/index";
import type { SegmentsPart } from "../worker/index";
import { clearLayers, type Gl, resetUnpacking } from "./gl";
import { KeyframeAssembly } from "./keyframe-assembly";
import { type Sized, TexturePool } from "./texture-pool";

/** A keyframe of segments ready to draw, through any transfer function. */
export interface SegmentSet extends SegmentKey {
  readonly id: number;
  readonly field: number;
  readonly step: number;
  readonly time: number;
  /** Half floats by plane, column and row of the key view; shares of the keyframe's range, or no data. */
  readonly values: Sized;
  /** Distance from value to value along the key view's direction, world units. */
  readonly apart: number;
  readonly ranges: LevelRanges;
  /** When it was complete, page clock. */
  readonly since: number;
}

interface Room {
  readonly values: Sized;
  readonly ranges: LevelRanges;
}

/** Assembles keyframes of segments in textures. */
export class SegmentSets {
  readonly #gl: Gl;
  readonly #assembly: KeyframeAssembly<DecodedBrick, SegmentsPart, Room>;
  readonly #pool: TexturePool;
  /** The newest complete keyframe; `null` if none. */
  shown: SegmentSet | null = null;

  constructor(gl: Gl) {
    this.#gl = gl;
    this.#pool = new TexturePool(gl, gl.TEXTURE_3D, gl.R16F, 1);
    this.#assembly = new KeyframeAssembly({
      prepare: (part) => this.#prepare(part),
      upload: (room, tile) => this.#upload(room, tile),
      recycle: ({ values }) => this.#pool.keep(values),
    });
  }

  get isUploading(): boolean {
    return this.#assembly.isUploading;
  }

  begin(groups: number): void {
    this.#assembly.begin(groups);
    this.release();
  }

  /** What is shown is not wanted any more. */
  release(): void {
    if (this.shown) this.#pool.keep(this.shown.values);
    this.shown = null;
  }

  accept(part: SegmentsPart): void {
    this.#assembly.accept(part);
  }

  /** Uploads a complete keyframe for about `budgetMs`. True if what is shown changed. */
  advance(budgetMs: number): boolean {
    const made = this.#assembly.advance(budgetMs);
    if (!made) return false;
    this.release();
    const { type: _, header, tiles: __, ...key } = made.part;
    const { set, field, step, time } = header;
    const apart = key.spacing * planeStride(key);
    this.shown = { ...key, id: set, field, step, time, ...made.room, apart, since: performance.now() };
    return true;
  }

  #prepare(part: SegmentsPart): Room | null {
    const size = [valuesAlongRay(part), part.rays[0], part.rays[1]] as const;
    const values = this.#pool.take(size);
    if (!values) return null;
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
}
