import type { DecodedTile } from "../volume/index";
import { type KeyView, type Place, TILE_EDGE } from "../wire/index";
import type { SlabsPart } from "../worker/index";
import { type ColoursInForce, ColoursOfViews } from "./colours-of-views";
import { type Gl, resetUnpacking } from "./gl";
import { type Assembled, type Keeper, KeyframeSets, tilesAcross } from "./keyframe-sets";
import type { Spot, StandIns } from "./stand-ins";
import { type Sized, TexturePool } from "./texture-pool";

/** A keyframe ready to draw. */
export interface SlabSet extends KeyView {
  readonly id: number;
  readonly field: number;
  readonly step: number;
  readonly time: number;
  /** Sequence of the view that it was made for. */
  readonly view: number;
  readonly atlas: Sized;
  readonly tiles: WebGLVertexArrayObject;
  readonly tileCount: number;
  /** When it was complete, page clock. */
  readonly since: number;
}

/** A tile, or what stands for one that is lost. */
type Tile = Omit<DecodedTile, "texels"> & { readonly texels: DecodedTile["texels"] | null };

/** Texels of all tiles, and where in the keyframe and in the atlas each lies. */
interface Room {
  readonly atlas: Sized;
  readonly places: Float32Array;
}

export const ATLAS_EDGE = 1024;
const SLOT = TILE_EDGE + 2;
const SLOTS_PER_ROW = Math.floor(ATLAS_EDGE / SLOT);
const SLOTS_PER_LAYER = SLOTS_PER_ROW ** 2;
const FLOATS_PER_TILE = 12;

/** Keyframes of slabs of colour, which serve for the transfer function that they were made with alone. */
export class SlabSets extends KeyframeSets<Tile, SlabsPart, Room, SlabSet> {
  readonly #colours = new ColoursOfViews();

  constructor(gl: Gl, standIns: StandIns) {
    super(new SlabKeeper(gl, standIns));
  }

  /** The newest complete keyframe made with the present transfer function; `null` if none. */
  override get shown(): SlabSet | null {
    const { shown } = this.keyframes;
    return this.#ifInPresentColours(shown);
  }

  /** The one of this number, if it is still there and made with the present transfer function. */
  find(id: number): SlabSet | null {
    return this.#ifInPresentColours(this.keyframes.find(id));
  }

  /** What is asked for after view `after` is shown with these. */
  colour(after: number, colours: ColoursInForce): void {
    this.#colours.change(after, colours);
  }

  #ifInPresentColours(keyframe: SlabSet | null): SlabSet | null {
    return keyframe && this.#colours.areThoseOf(keyframe.view) ? keyframe : null;
  }
}

/** Keeps keyframes in texture atlases. */
class SlabKeeper implements Keeper<SlabsPart, Tile, Room, SlabSet> {
  readonly #gl: Gl;
  readonly #standIns: StandIns;
  readonly #pool: TexturePool;

  constructor(gl: Gl, standIns: StandIns) {
    this.#gl = gl;
    this.#standIns = standIns;
    this.#pool = new TexturePool(gl, gl.TEXTURE_2D_ARRAY, gl.RGBA16F, 1);
  }

  /** Back to front. */
  prepare(_: SlabsPart, tiles: Tile[]): Room | null {
    tiles.sort((a, b) => b.slab - a.slab);
    const layers = Math.max(1, Math.ceil(tiles.length / SLOTS_PER_LAYER));
    const atlas = this.#pool.take([ATLAS_EDGE, ATLAS_EDGE, layers]);
    return atlas && { atlas, places: new Float32Array(tiles.length * FLOATS_PER_TILE) };
  }

  upload({ atlas, places }: Room, tile: Tile, slot: number, part: SlabsPart): void {
    const layer = Math.floor(slot / SLOTS_PER_LAYER);
    const inLayer = slot % SLOTS_PER_LAYER;
    const x = (inLayer % SLOTS_PER_ROW) * SLOT;
    const y = Math.floor(inLayer / SLOTS_PER_ROW) * SLOT;
    const { width, height, texels } = tile;
    const spot = { texture: atlas.texture, layer, x, y, width, height };
    if (texels) this.#put(spot, texels);
    // Where nothing is known, nothing is drawn.
    else if (!this.#standIns.slab(part, tile.slab, [tile.x, tile.y], spot)) return;
    const left = drawnFrom(tile.x);
    const top = drawnFrom(tile.y);
    const right = Math.min(part.rays[0], left + TILE_EDGE);
    const bottom = Math.min(part.rays[1], top + TILE_EDGE);
    const numbers = [left, top, right, bottom, tile.slab, layer, x, y, tile.x, tile.y, width, height];
    places.set(numbers, slot * FLOATS_PER_TILE);
  }

  #put({ texture, layer, x, y, width, height }: Spot, texels: DecodedTile["texels"]): void {
    const gl = this.#gl;
    resetUnpacking(gl);
    gl.activeTexture(gl.TEXTURE0);
    gl.bindTexture(gl.TEXTURE_2D_ARRAY, texture);
    gl.texSubImage3D(gl.TEXTURE_2D_ARRAY, 0, x, y, layer, width, height, 1, gl.RGBA, gl.HALF_FLOAT, texels);
  }

  recycle({ atlas }: Room): void {
    this.#pool.keep(atlas);
  }

  finish({ part, tiles, room }: Assembled<SlabsPart, Tile, Room>): SlabSet {
    const { type: _, header, tiles: __, ...key } = part;
    const { set, field, step, time, view } = header;
    const drawn = { atlas: room.atlas, tiles: this.#instances(room.places), tileCount: tiles.length };
    return { ...key, id: set, field, step, time, view, ...drawn, since: performance.now() };
  }

  #instances(places: Float32Array): WebGLVertexArrayObject {
    const gl = this.#gl;
    const array = gl.createVertexArray();
    gl.bindVertexArray(array);
    const buffer = gl.createBuffer();
    gl.bindBuffer(gl.ARRAY_BUFFER, buffer);
    gl.bufferData(gl.ARRAY_BUFFER, places, gl.STATIC_DRAW);
    for (let location = 0; location < 3; location++) {
      gl.enableVertexAttribArray(location);
      gl.vertexAttribPointer(location, 4, gl.FLOAT, false, FLOATS_PER_TILE * 4, location * 16);
      gl.vertexAttribDivisor(location, 1);
    }
    gl.bindVertexArray(null);
    // The vertex array keeps the buffer alive.
    gl.deleteBuffer(buffer);
    return array;
  }
  release({ tiles, atlas }: SlabSet): void {
    this.#gl.deleteVertexArray(tiles);
    this.#pool.keep(atlas);
  }

  extent({ rays, slabCount }: SlabsPart): Place {
    return [...tilesAcross(rays, TILE_EDGE), slabCount];
  }

  placeOf({ x, y, slab }: Tile): Place {
    return [drawnFrom(x) / TILE_EDGE, drawnFrom(y) / TILE_EDGE, slab];
  }

  /** With its overlap, as far as there are rays. */
  lost({ rays }: SlabsPart, [column, row, slab]: Place): Tile {
    const [x, y] = [Math.max(0, column * TILE_EDGE - 1), Math.max(0, row * TILE_EDGE - 1)];
    const width = Math.min(rays[0], (column + 1) * TILE_EDGE + 1) - x;
    const height = Math.min(rays[1], (row + 1) * TILE_EDGE + 1) - y;
    return { slab, x, y, width, height, texels: null };
  }
}

/** First ray of a tile that is drawn: tiles away from the layer's edge begin with one texel of overlap. */
function drawnFrom(first: number): number {
  return Math.ceil(first / TILE_EDGE) * TILE_EDGE;
}
