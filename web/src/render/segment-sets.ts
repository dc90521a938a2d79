import {
  anyCellRanges,
  type DecodedBrick,
  LevelRanges,
  NO_DATA,
  planeStride,
  type Vec3,
  valuesAlongRay,
} from "../volume/index";
import { type BulkHeader, type Place, type SegmentKey, TILE_EDGE, type TileList } from "../wire/index";
import type { SegmentsPart } from "../worker/index";
import { clearLayers, type Gl, resetUnpacking } from "./gl";
import { KeyframeAssembly, tilesAcross } from "./keyframe-assembly";
import type { StandIns } from "./stand-ins";
import { Succession } from "./succession";
import { scalarTexels, type Texels } from "./texels";
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

/** The rays of a tile, or what stands for one that is lost. */
type Tile = DecodedBrick | { readonly lo: Vec3; readonly size: Vec3; readonly samples: null };

interface Room {
  readonly values: Sized;
  readonly ranges: LevelRanges;
}

/** Assembles keyframes of segments in textures. */
export class SegmentSets {
  readonly #gl: Gl;
  readonly #assembly: KeyframeAssembly<Tile, SegmentsPart, Room>;
  readonly #standIns: StandIns;
  readonly #texels: Texels;
  readonly #pool: TexturePool;
  /** Complete ones. */
  readonly keyframes: Succession<SegmentSet>;

  constructor(gl: Gl, standIns: StandIns) {
    this.#gl = gl;
    this.#texels = scalarTexels(gl);
    this.#standIns = standIns;
    this.#pool = new TexturePool(gl, gl.TEXTURE_3D, this.#texels.format, 1);
    this.keyframes = new Succession(({ values }) => this.#pool.keep(values));
    this.#assembly = new KeyframeAssembly({
      prepare: (part) => this.#prepare(part),
      upload: (room, tile, _, part) => this.#upload(room, tile, part),
      recycle: ({ values }) => this.#pool.keep(values),
      extent: ({ rays }) => [...tilesAcross(rays), 1],
      placeOf: ({ lo }) => [lo[1] / TILE_EDGE, lo[2] / TILE_EDGE, 0],
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

  get shown(): SegmentSet | null {
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

  accept(part: SegmentsPart): void {
    this.#assembly.accept(part);
  }

  /** Uploads a complete keyframe for about `budgetMs`. True if what is shown changed. */
  advance(budgetMs: number): boolean {
    const made = this.#assembly.advance(budgetMs);
    if (!made) return false;
    const { type: _, header, tiles: __, ...key } = made.part;
    const { set, field, step, time } = header;
    this.keyframes.follow({
      ...key,
      id: set,
      field,
      step,
      time,
      ...made.room,
      apart: apart(key),
      since: performance.now(),
    });
    return true;
  }

  #prepare(part: SegmentsPart): Room | null {
    const size = [valuesAlongRay(part), part.rays[0], part.rays[1]] as const;
    const values = this.#pool.take(size);
    if (!values) return null;
    clearLayers(this.#gl, values.texture, size[2], NO_DATA);
    return { values, ranges: new LevelRanges(size) };
  }

  #upload({ values, ranges }: Room, tile: Tile, part: SegmentsPart): void {
    const gl = this.#gl;
    const { lo, size, samples } = tile;
    if (!samples) {
      if (this.#standIns.rays(part, values.texture, apart(part), lo, size)) ranges.merge(anyCellRanges(lo, size));
      return;
    }
    ranges.merge(tile.ranges);
    resetUnpacking(gl);
    gl.activeTexture(gl.TEXTURE0);
    gl.bindTexture(gl.TEXTURE_3D, values.texture);
    gl.texSubImage3D(gl.TEXTURE_3D, 0, ...lo, ...size, gl.RED, this.#texels.type, this.#texels.of(samples));
  }
}

function apart(key: SegmentKey): number {
  return key.spacing * planeStride(key);
}

function lost(part: SegmentsPart, [column, row]: Place): Tile {
  const [x, y] = [column * TILE_EDGE, row * TILE_EDGE];
  const size = [valuesAlongRay(part), Math.min(TILE_EDGE, part.rays[0] - x), Math.min(TILE_EDGE, part.rays[1] - y)];
  return { lo: [0, x, y], size: [size[0], size[1], size[2]], samples: null };
}
