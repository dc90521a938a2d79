import {
  anyCellRanges,
  type DecodedBox,
  LevelRanges,
  NO_DATA,
  planeStride,
  type Vec3,
  valuesAlongRay,
} from "../volume/index";
import { type Place, type SegmentKey, segmentTileEdge } from "../wire/index";
import type { SegmentsPart } from "../worker/index";
import { clearLayers, type Gl, resetUnpacking } from "./gl";
import { type Assembled, type Keeper, KeyframeSets, tilesAcross } from "./keyframe-sets";
import type { StandIns } from "./stand-ins";
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
type Tile = DecodedBox | { readonly lo: Vec3; readonly size: Vec3; readonly samples: null };

interface Room {
  readonly values: Sized;
  readonly ranges: LevelRanges;
}

export type SegmentSets = KeyframeSets<Tile, SegmentsPart, Room, SegmentSet>;

export function segmentSets(gl: Gl, standIns: StandIns): SegmentSets {
  return new KeyframeSets(new SegmentKeeper(gl, standIns));
}

/** Keeps keyframes of segments in textures. */
class SegmentKeeper implements Keeper<SegmentsPart, Tile, Room, SegmentSet> {
  readonly #gl: Gl;
  readonly #standIns: StandIns;
  readonly #texels: Texels;
  readonly #pool: TexturePool;

  constructor(gl: Gl, standIns: StandIns) {
    this.#gl = gl;
    this.#texels = scalarTexels(gl);
    this.#standIns = standIns;
    this.#pool = new TexturePool(gl, gl.TEXTURE_3D, this.#texels.format, 1);
  }

  prepare(part: SegmentsPart): Room | null {
    const size = [valuesAlongRay(part), part.rays[0], part.rays[1]] as const;
    const values = this.#pool.take(size);
    if (!values) return null;
    clearLayers(this.#gl, values.texture, size[2], NO_DATA);
    return { values, ranges: new LevelRanges(size) };
  }

  upload({ values, ranges }: Room, tile: Tile, _: number, part: SegmentsPart): void {
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
  recycle({ values }: Room): void {
    this.#pool.keep(values);
  }

  finish({ part, room }: Assembled<SegmentsPart, Tile, Room>): SegmentSet {
    const { type: _, header, tiles: __, ...key } = part;
    const { set, field, step, time } = header;
    return { ...key, id: set, field, step, time, ...room, apart: apart(key), since: performance.now() };
  }

  release({ values }: SegmentSet): void {
    this.#pool.keep(values);
  }

  extent({ rays }: SegmentsPart): Place {
    return [...tilesAcross(rays, segmentTileEdge(rays)), 1];
  }

  placeOf({ lo }: Tile, { rays }: SegmentsPart): Place {
    const edge = segmentTileEdge(rays);
    return [lo[1] / edge, lo[2] / edge, 0];
  }

  lost(part: SegmentsPart, [column, row]: Place): Tile {
    const edge = segmentTileEdge(part.rays);
    const [x, y] = [column * edge, row * edge];
    const [width, height] = [Math.min(edge, part.rays[0] - x), Math.min(edge, part.rays[1] - y)];
    return { lo: [0, x, y], size: [valuesAlongRay(part), width, height], samples: null };
  }
}

function apart(key: SegmentKey): number {
  return key.spacing * planeStride(key);
}
