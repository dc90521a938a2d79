import type { DecodedTile } from "../volume/index";
import { type KeyView, TILE_EDGE } from "../wire/index";
import type { SlabsPart } from "../worker/index";
import { type Gl, resetUnpacking, setSampling } from "./gl";

/** A keyframe ready to draw. */
export interface SlabSet extends KeyView {
  readonly id: number;
  readonly field: number;
  readonly step: number;
  readonly time: number;
  readonly atlas: Atlas;
  readonly tiles: WebGLVertexArrayObject;
  readonly tileCount: number;
  /** When it was complete, page clock. */
  readonly since: number;
}

interface Atlas {
  readonly texture: WebGLTexture;
  readonly layers: number;
}

interface Assembly {
  readonly id: number;
  readonly part: SlabsPart;
  readonly waiting: DecodedTile[];
  groupsDone: number;
  atlas: Atlas | null;
  uploaded: number;
  places: Float32Array | null;
}

export const ATLAS_EDGE = 1024;
const SLOT = TILE_EDGE + 2;
const SLOTS_PER_ROW = Math.floor(ATLAS_EDGE / SLOT);
const SLOTS_PER_LAYER = SLOTS_PER_ROW ** 2;
const FLOATS_PER_TILE = 12;

/** Assembles keyframes in texture atlases. */
export class SlabSets {
  readonly #gl: Gl;
  #assembly: Assembly | null = null;
  #spare: Atlas | null = null;
  #groups = 1;
  #shown: SlabSet | null = null;
  #newest = 0;
  #validAfter = 0;

  constructor(gl: Gl) {
    this.#gl = gl;
  }

  /** The newest complete keyframe made with the present transfer function; `null` if none. */
  get shown(): SlabSet | null {
    return this.#shown && this.#shown.id > this.#validAfter ? this.#shown : null;
  }

  get isUploading(): boolean {
    return this.#assembly !== null && this.#assembly.groupsDone >= this.#groups;
  }

  begin(groups: number): void {
    this.#groups = groups;
    this.#assembly = null;
    this.#newest = 0;
    this.#validAfter = 0;
    this.clear();
  }

  clear(): void {
    if (this.#shown) this.#release(this.#shown);
    this.#shown = null;
  }

  /** Keyframes known so far show something else than what is wanted now (another transfer function). */
  invalidate(): void {
    this.#validAfter = this.#newest;
  }

  accept(part: SlabsPart): void {
    const id = part.header.set;
    if (id < this.#newest) return;
    this.#newest = id;
    if (this.#assembly?.id !== id) {
      if (this.#assembly?.atlas) this.#keep(this.#assembly.atlas);
      this.#assembly = { id, part, waiting: [], groupsDone: 0, atlas: null, uploaded: 0, places: null };
    }
    this.#assembly.waiting.push(...part.tiles);
    if (part.header.completes) this.#assembly.groupsDone += 1;
  }

  /** Uploads a complete keyframe for about `budgetMs`. True if what is shown changed. */
  advance(budgetMs: number): boolean {
    const set = this.#assembly;
    if (!set || set.groupsDone < this.#groups) return false;
    const until = performance.now() + budgetMs;
    const places = this.#prepare(set);
    while (set.uploaded < set.waiting.length) {
      if (performance.now() > until) return false;
      this.#upload(set, set.waiting[set.uploaded], places);
      set.uploaded += 1;
    }
    this.#show(set, places);
    return true;
  }

  #prepare(set: Assembly): Float32Array {
    if (set.places) return set.places;
    set.waiting.sort((a, b) => b.slab - a.slab);
    const layers = Math.max(1, Math.ceil(set.waiting.length / SLOTS_PER_LAYER));
    set.atlas = this.#takeAtlas(layers);
    set.places = new Float32Array(set.waiting.length * FLOATS_PER_TILE);
    return set.places;
  }

  #upload(set: Assembly, tile: DecodedTile, places: Float32Array): void {
    if (!set.atlas) return;
    const gl = this.#gl;
    const slot = set.uploaded;
    const layer = Math.floor(slot / SLOTS_PER_LAYER);
    const inLayer = slot % SLOTS_PER_LAYER;
    const x = (inLayer % SLOTS_PER_ROW) * SLOT;
    const y = Math.floor(inLayer / SLOTS_PER_ROW) * SLOT;
    resetUnpacking(gl);
    gl.activeTexture(gl.TEXTURE0);
    gl.bindTexture(gl.TEXTURE_2D_ARRAY, set.atlas.texture);
    const { width, height, texels } = tile;
    gl.texSubImage3D(gl.TEXTURE_2D_ARRAY, 0, x, y, layer, width, height, 1, gl.RGBA, gl.HALF_FLOAT, texels);
    const left = drawnFrom(tile.x);
    const top = drawnFrom(tile.y);
    const right = Math.min(set.part.rays[0], left + TILE_EDGE);
    const bottom = Math.min(set.part.rays[1], top + TILE_EDGE);
    const numbers = [left, top, right, bottom, tile.slab, layer, x, y, tile.x, tile.y, width, height];
    places.set(numbers, slot * FLOATS_PER_TILE);
  }

  #show(set: Assembly, places: Float32Array): void {
    this.#assembly = null;
    if (!set.atlas) return;
    if (this.#shown) this.#release(this.#shown);
    const { header, camera, rays, slabCount, normal, near, far } = set.part;
    const { field, step, time } = header;
    const tiles = this.#instances(places);
    const { atlas } = set;
    const tileCount = set.waiting.length;
    this.#shown = {
      id: set.id,
      field,
      step,
      time,
      camera,
      rays,
      slabCount,
      normal,
      near,
      far,
      atlas,
      tiles,
      tileCount,
      since: performance.now(),
    };
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

  #takeAtlas(layers: number): Atlas {
    const spare = this.#spare;
    this.#spare = null;
    if (spare && spare.layers >= layers && spare.layers <= 2 * layers + 2) return spare;
    const gl = this.#gl;
    if (spare) gl.deleteTexture(spare.texture);
    const texture = gl.createTexture();
    gl.activeTexture(gl.TEXTURE0);
    gl.bindTexture(gl.TEXTURE_2D_ARRAY, texture);
    gl.texStorage3D(gl.TEXTURE_2D_ARRAY, 1, gl.RGBA16F, ATLAS_EDGE, ATLAS_EDGE, layers);
    setSampling(gl, gl.TEXTURE_2D_ARRAY, gl.LINEAR);
    return { texture, layers };
  }

  #keep(atlas: Atlas): void {
    if (this.#spare) this.#gl.deleteTexture(this.#spare.texture);
    this.#spare = atlas;
  }

  #release(set: SlabSet): void {
    this.#gl.deleteVertexArray(set.tiles);
    this.#keep(set.atlas);
  }
}

/** First ray of a tile that is drawn: tiles away from the layer's edge begin with one texel of overlap. */
function drawnFrom(first: number): number {
  return Math.ceil(first / TILE_EDGE) * TILE_EDGE;
}
