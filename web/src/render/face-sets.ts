import { type DecodedFaceTile, NO_DATA } from "../volume/index";
import type { KeyView } from "../wire/index";
import type { ScalarSlabsPart } from "../worker/index";
import { clearLayers, type Gl, resetUnpacking } from "./gl";
import { KeyframeAssembly } from "./keyframe-assembly";
import { type Sized, TexturePool } from "./texture-pool";

/** A keyframe of scalar slabs ready to draw, through any transfer function. */
export interface FaceSet extends KeyView {
  readonly id: number;
  readonly field: number;
  readonly step: number;
  readonly time: number;
  readonly edges: readonly [number, number, number];
  readonly range: readonly [number, number];
  /** Half floats of all faces, one layer each. */
  readonly faces: Sized;
  /** When it was complete, page clock. */
  readonly since: number;
}

/** Assembles keyframes of scalar slabs in textures. */
export class FaceSets {
  readonly #gl: Gl;
  readonly #assembly: KeyframeAssembly<DecodedFaceTile, ScalarSlabsPart, Sized>;
  readonly #pool: TexturePool;
  /** The newest complete keyframe; `null` if none. */
  shown: FaceSet | null = null;

  constructor(gl: Gl) {
    this.#gl = gl;
    this.#pool = new TexturePool(gl, gl.TEXTURE_2D_ARRAY, gl.R16F, 1);
    this.#assembly = new KeyframeAssembly({
      prepare: ({ rays, slabCount }) => this.#emptyFaces([rays[0], rays[1], slabCount + 1]),
      upload: (faces, tile) => this.#upload(faces, tile),
      recycle: (faces) => this.#pool.keep(faces),
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
    if (this.shown) this.#pool.keep(this.shown.faces);
    this.shown = null;
  }

  accept(part: ScalarSlabsPart): void {
    this.#assembly.accept(part);
  }

  /** Uploads a complete keyframe for about `budgetMs`. True if what is shown changed. */
  advance(budgetMs: number): boolean {
    const made = this.#assembly.advance(budgetMs);
    if (!made) return false;
    this.release();
    const { type: _, header, tiles: __, ...key } = made.part;
    const { set, field, step, time } = header;
    this.shown = { ...key, id: set, field, step, time, faces: made.room, since: performance.now() };
    return true;
  }

  #upload(faces: Sized, tile: DecodedFaceTile): void {
    const gl = this.#gl;
    const { x, y, width, height, face, values } = tile;
    resetUnpacking(gl);
    gl.pixelStorei(gl.UNPACK_ALIGNMENT, 2);
    gl.activeTexture(gl.TEXTURE0);
    gl.bindTexture(gl.TEXTURE_2D_ARRAY, faces.texture);
    gl.texSubImage3D(gl.TEXTURE_2D_ARRAY, 0, x, y, face, width, height, 1, gl.RED, gl.HALF_FLOAT, values);
  }

  /** Faces without any data. */
  #emptyFaces(size: readonly [number, number, number]): Sized | null {
    const faces = this.#pool.take(size);
    if (faces) clearLayers(this.#gl, faces.texture, size[2], NO_DATA);
    return faces;
  }
}
