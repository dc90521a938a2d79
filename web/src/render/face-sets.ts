import { type DecodedFaceTile, NO_DATA } from "../volume/index";
import type { KeyView } from "../wire/index";
import type { ScalarSlabsPart } from "../worker/index";
import { clearLayers, type Gl, resetUnpacking, setSampling } from "./gl";
import { KeyframeAssembly } from "./keyframe-assembly";

/** A keyframe of scalar slabs ready to draw, through any transfer function. */
export interface FaceSet extends KeyView {
  readonly id: number;
  readonly field: number;
  readonly step: number;
  readonly time: number;
  readonly edges: readonly [number, number, number];
  readonly range: readonly [number, number];
  readonly faces: Faces;
  /** When it was complete, page clock. */
  readonly since: number;
}

/** Half floats of all faces, one layer each. */
interface Faces {
  readonly texture: WebGLTexture;
  readonly size: readonly [number, number, number];
}

/** Assembles keyframes of scalar slabs in textures. */
export class FaceSets {
  readonly #gl: Gl;
  readonly #assembly: KeyframeAssembly<DecodedFaceTile, ScalarSlabsPart, Faces>;
  #spare: Faces | null = null;
  /** The newest complete keyframe; `null` if none. */
  shown: FaceSet | null = null;

  constructor(gl: Gl) {
    this.#gl = gl;
    this.#assembly = new KeyframeAssembly({
      prepare: ({ rays, slabCount }) => this.#emptyFaces([rays[0], rays[1], slabCount + 1]),
      upload: (faces, tile) => this.#upload(faces, tile),
      recycle: (faces) => this.#keep(faces),
    });
  }

  get isUploading(): boolean {
    return this.#assembly.isUploading;
  }

  begin(groups: number): void {
    this.#assembly.begin(groups);
    if (this.shown) this.#keep(this.shown.faces);
    this.shown = null;
  }

  accept(part: ScalarSlabsPart): void {
    this.#assembly.accept(part);
  }

  /** Uploads a complete keyframe for about `budgetMs`. True if what is shown changed. */
  advance(budgetMs: number): boolean {
    const made = this.#assembly.advance(budgetMs);
    if (!made) return false;
    if (this.shown) this.#keep(this.shown.faces);
    const { type: _, header, tiles: __, ...key } = made.part;
    const { set, field, step, time } = header;
    this.shown = { ...key, id: set, field, step, time, faces: made.room, since: performance.now() };
    return true;
  }

  #upload(faces: Faces, tile: DecodedFaceTile): void {
    const gl = this.#gl;
    const { x, y, width, height, face, values } = tile;
    resetUnpacking(gl);
    gl.pixelStorei(gl.UNPACK_ALIGNMENT, 2);
    gl.activeTexture(gl.TEXTURE0);
    gl.bindTexture(gl.TEXTURE_2D_ARRAY, faces.texture);
    gl.texSubImage3D(gl.TEXTURE_2D_ARRAY, 0, x, y, face, width, height, 1, gl.RED, gl.HALF_FLOAT, values);
  }

  /** Faces without any data. */
  #emptyFaces(size: readonly [number, number, number]): Faces {
    const faces = this.#takeFaces(size);
    clearLayers(this.#gl, faces.texture, size[2], NO_DATA);
    return faces;
  }

  #takeFaces(size: readonly [number, number, number]): Faces {
    const gl = this.#gl;
    const spare = this.#spare;
    this.#spare = null;
    if (spare?.size.every((n, i) => n === size[i])) return spare;
    if (spare) gl.deleteTexture(spare.texture);
    const texture = gl.createTexture();
    gl.activeTexture(gl.TEXTURE0);
    gl.bindTexture(gl.TEXTURE_2D_ARRAY, texture);
    gl.texStorage3D(gl.TEXTURE_2D_ARRAY, 1, gl.R16F, ...size);
    setSampling(gl, gl.TEXTURE_2D_ARRAY, gl.LINEAR);
    return { texture, size };
  }

  #keep(faces: Faces): void {
    if (this.#spare) this.#gl.deleteTexture(this.#spare.texture);
    this.#spare = faces;
  }
}
