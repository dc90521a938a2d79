import type { DecodedTile } from "../volume/index";
import { type KeyView, TILE_EDGE } from "../wire/index";
import type { SlabsPart } from "../worker/index";
import { type Gl, resetUnpacking } from "./gl";
import { KeyframeAssembly } from "./keyframe-assembly";
import { type Sized, TexturePool } from "./texture-pool";

/** A keyframe ready to draw. */
export interface SlabSet extends KeyView {
  readonly id: number;
  readonly field: number;
  readonly step: number;
  readonly time: number;
  readonly atlas: Sized;
  readonly tiles: WebGLVertexArrayObject;
  readonly tileCount: number;
  /** When it was complete, page clock. */
  readonly since: number;
}

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

/** Assembles keyframes in texture atlases. */
export class SlabSets {
  readonly #gl: Gl;
  readonly #assembly: KeyframeAssembly<DecodedTile, SlabsPart, Room>;
  readonly #pool: TexturePool;
  #shown: SlabSet | null = null;
  #validAfter = 0;

  constructor(gl: Gl) {
    this.#gl = gl;
    this.#pool = new TexturePool(gl, gl.TEXTURE_2D_ARRAY, gl.RGBA16F, 1);
    this.#assembly = new KeyframeAssembly({
      prepare: (_, tiles) => this.#prepare(tiles),
      upload: (room, tile, slot, part) => this.#upload(room, tile, slot, part),
      recycle: ({ atlas }) => this.#pool.keep(atlas),
    });
  }

  /** The newest complete keyframe made with the present transfer function; `null` if none. */
  get shown(): SlabSet | null {
    return this.#shown && this.#shown.id > this.#validAfter ? this.#shown : null;
  }

  get isUploading(): boolean {
    return this.#assembly.isUploading;
  }

  begin(groups: number): void {
    this.#assembly.begin(groups);
    this.#validAfter = 0;
    this.release();
  }

  /** What is shown is not wanted any more. */
  release(): void {
    if (!this.#shown) return;
    this.#gl.deleteVertexArray(this.#shown.tiles);
    this.#pool.keep(this.#shown.atlas);
    this.#shown = null;
  }

  /** Keyframes known so far show something else than what is wanted now (another transfer function). */
  invalidate(): void {
    this.#validAfter = this.#assembly.newest;
  }

  accept(part: SlabsPart): void {
    this.#assembly.accept(part);
  }

  /** Uploads a complete keyframe for about `budgetMs`. True if what is shown changed. */
  advance(budgetMs: number): boolean {
    const made = this.#assembly.advance(budgetMs);
    if (!made) return false;
    this.release();
    const { type: _, header, tiles: __, ...key } = made.part;
    const { set, field, step, time } = header;
    const tiles = this.#instances(made.room.places);
    const tileCount = made.tiles.length;
    const { atlas } = made.room;
    this.#shown = { ...key, id: set, field, step, time, atlas, tiles, tileCount, since: performance.now() };
    return true;
  }

  /** Back to front. */
  #prepare(tiles: DecodedTile[]): Room | null {
    tiles.sort((a, b) => b.slab - a.slab);
    const layers = Math.max(1, Math.ceil(tiles.length / SLOTS_PER_LAYER));
    const atlas = this.#pool.take([ATLAS_EDGE, ATLAS_EDGE, layers]);
    return atlas && { atlas, places: new Float32Array(tiles.length * FLOATS_PER_TILE) };
  }

  #upload({ atlas, places }: Room, tile: DecodedTile, slot: number, { rays }: SlabsPart): void {
    const gl = this.#gl;
    const layer = Math.floor(slot / SLOTS_PER_LAYER);
    const inLayer = slot % SLOTS_PER_LAYER;
    const x = (inLayer % SLOTS_PER_ROW) * SLOT;
    const y = Math.floor(inLayer / SLOTS_PER_ROW) * SLOT;
    resetUnpacking(gl);
    gl.activeTexture(gl.TEXTURE0);
    gl.bindTexture(gl.TEXTURE_2D_ARRAY, atlas.texture);
    const { width, height, texels } = tile;
    gl.texSubImage3D(gl.TEXTURE_2D_ARRAY, 0, x, y, layer, width, height, 1, gl.RGBA, gl.HALF_FLOAT, texels);
    const left = drawnFrom(tile.x);
    const top = drawnFrom(tile.y);
    const right = Math.min(rays[0], left + TILE_EDGE);
    const bottom = Math.min(rays[1], top + TILE_EDGE);
    const numbers = [left, top, right, bottom, tile.slab, layer, x, y, tile.x, tile.y, width, height];
    places.set(numbers, slot * FLOATS_PER_TILE);
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
}

/** First ray of a tile that is drawn: tiles away from the layer's edge begin with one texel of overlap. */
function drawnFrom(first: number): number {
  return Math.ceil(first / TILE_EDGE) * TILE_EDGE;
}
