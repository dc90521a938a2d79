import { type DecodedFaceTile, NO_DATA } from "../volume/index";
import { type KeyView, type Place, TILE_EDGE } from "../wire/index";
import type { ScalarSlabsPart } from "../worker/index";
import { clearLayers, type Gl, resetUnpacking } from "./gl";
import { type Assembled, type Keeper, KeyframeSets, tilesAcross } from "./keyframe-sets";
import type { StandIns } from "./stand-ins";
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

export type FaceSets = KeyframeSets<Tile, ScalarSlabsPart, Sized, FaceSet>;

export function faceSets(gl: Gl, standIns: StandIns): FaceSets {
  return new KeyframeSets(new FaceKeeper(gl, standIns));
}

/** Keeps keyframes of scalar slabs in textures. */
class FaceKeeper implements Keeper<ScalarSlabsPart, Tile, Sized, FaceSet> {
  readonly #gl: Gl;
  readonly #standIns: StandIns;
  readonly #texels: Texels;
  readonly #pool: TexturePool;

  constructor(gl: Gl, standIns: StandIns) {
    this.#gl = gl;
    this.#texels = scalarTexels(gl);
    this.#standIns = standIns;
    this.#pool = new TexturePool(gl, gl.TEXTURE_2D_ARRAY, this.#texels.format, 1);
  }

  /** Faces without any data. */
  prepare({ rays, slabCount }: ScalarSlabsPart): Sized | null {
    const size = [rays[0], rays[1], slabCount + 1] as const;
    const faces = this.#pool.take(size);
    if (faces) clearLayers(this.#gl, faces.texture, size[2], NO_DATA);
    return faces;
  }

  upload(faces: Sized, { x, y, width, height, face, values }: Tile, _: number, part: ScalarSlabsPart): void {
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

  recycle(faces: Sized): void {
    this.#pool.keep(faces);
  }

  finish({ part, room }: Assembled<ScalarSlabsPart, Tile, Sized>): FaceSet {
    const { type: _, header, tiles: __, ...key } = part;
    const { set, field, step, time } = header;
    return { ...key, id: set, field, step, time, faces: room, since: performance.now() };
  }

  release({ faces }: FaceSet): void {
    this.#pool.keep(faces);
  }

  extent({ rays, slabCount }: ScalarSlabsPart): Place {
    return [...tilesAcross(rays, TILE_EDGE), slabCount + 1];
  }

  placeOf({ x, y, face }: Tile): Place {
    return [x / TILE_EDGE, y / TILE_EDGE, face];
  }

  lost({ rays }: ScalarSlabsPart, [column, row, face]: Place): Tile {
    const [x, y] = [column * TILE_EDGE, row * TILE_EDGE];
    const [width, height] = [Math.min(TILE_EDGE, rays[0] - x), Math.min(TILE_EDGE, rays[1] - y)];
    return { face, x, y, width, height, values: null };
  }
}
