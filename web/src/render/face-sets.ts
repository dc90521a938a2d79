import { type DecodedFaceTile, NO_DATA } from "../volume/index";
import { type BulkHeader, type KeyView, type Place, TILE_EDGE, type TileList } from "../wire/index";
import type { ScalarSlabsPart } from "../worker/index";
import { clearLayers, type Gl, resetUnpacking } from "./gl";
import { KeyframeAssembly, tilesAcross } from "./keyframe-assembly";
import type { StandIns } from "./stand-ins";
import { Succession } from "./succession";
import { scalarTexels, type Texels } from "./texels";
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

/** A tile, or what stands for one that is lost. */
type Tile = Omit<DecodedFaceTile, "values"> & { readonly values: DecodedFaceTile["values"] | null };

/** Assembles keyframes of scalar slabs in textures. */
export class FaceSets {
  readonly #gl: Gl;
  readonly #assembly: KeyframeAssembly<Tile, ScalarSlabsPart, Sized>;
  readonly #standIns: StandIns;
  readonly #texels: Texels;
  readonly #pool: TexturePool;
  /** Complete ones. */
  readonly keyframes: Succession<FaceSet>;

  constructor(gl: Gl, standIns: StandIns) {
    this.#gl = gl;
    this.#texels = scalarTexels(gl);
    this.#standIns = standIns;
    this.#pool = new TexturePool(gl, gl.TEXTURE_2D_ARRAY, this.#texels.format, 1);
    this.keyframes = new Succession(({ faces }) => this.#pool.keep(faces));
    this.#assembly = new KeyframeAssembly({
      prepare: ({ rays, slabCount }) => this.#emptyFaces([rays[0], rays[1], slabCount + 1]),
      upload: (faces, tile, _, part) => this.#upload(faces, tile, part),
      recycle: (faces) => this.#pool.keep(faces),
      extent: ({ rays, slabCount }) => [...tilesAcross(rays), slabCount + 1],
      placeOf: ({ x, y, face }) => [x / TILE_EDGE, y / TILE_EDGE, face],
      lost,
    });
  }

  get isUploading(): boolean {
    return this.#assembly.isUploading;
  }

  begin(groups: number): void {
    this.#assembly.begin(groups);
    this.keyframes.release();
  }

  get shown(): FaceSet | null {
    return this.keyframes.shown;
  }

  /** Which tiles the keyframe of a set has. */
  expect(set: number, list: TileList): void {
    this.#assembly.expect(set, list);
  }

  /** Something has come over connection `group`. */
  hear(header: BulkHeader, group: number): void {
    this.#assembly.hear(header, group);
  }

  accept(part: ScalarSlabsPart): void {
    this.#assembly.accept(part);
  }

  /** Uploads a complete keyframe for about `budgetMs`. True if what is shown changed. */
  advance(budgetMs: number): boolean {
    const made = this.#assembly.advance(budgetMs);
    if (!made) return false;
    const { type: _, header, tiles: __, ...key } = made.part;
    const { set, field, step, time } = header;
    this.keyframes.follow({ ...key, id: set, field, step, time, faces: made.room, since: performance.now() });
    return true;
  }

  #upload(faces: Sized, { x, y, width, height, face, values }: Tile, part: ScalarSlabsPart): void {
    const gl = this.#gl;
    if (!values) {
      this.#standIns.face(part, { texture: faces.texture, layer: face, x, y, width, height });
      return;
    }
    resetUnpacking(gl);
    gl.pixelStorei(gl.UNPACK_ALIGNMENT, 2);
    gl.activeTexture(gl.TEXTURE0);
    gl.bindTexture(gl.TEXTURE_2D_ARRAY, faces.texture);
    gl.texSubImage3D(
      gl.TEXTURE_2D_ARRAY,
      0,
      x,
      y,
      face,
      width,
      height,
      1,
      gl.RED,
      this.#texels.type,
      this.#texels.of(values),
    );
  }

  /** Faces without any data. */
  #emptyFaces(size: readonly [number, number, number]): Sized | null {
    const faces = this.#pool.take(size);
    if (faces) clearLayers(this.#gl, faces.texture, size[2], NO_DATA);
    return faces;
  }
}

function lost({ rays }: ScalarSlabsPart, [column, row, face]: Place): Tile {
  const [x, y] = [column * TILE_EDGE, row * TILE_EDGE];
  return {
    face,
    x,
    y,
    width: Math.min(TILE_EDGE, rays[0] - x),
    height: Math.min(TILE_EDGE, rays[1] - y),
    values: null,
  };
}
