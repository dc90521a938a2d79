import { type DecodedSegments, LevelRanges, PIECE_WORDS } from "../volume/index";
import type { SegmentKey } from "../wire/index";
import type { SegmentsPart } from "../worker/index";
import { type Gl, GraphicsError, resetUnpacking, setSampling } from "./gl";
import { KeyframeAssembly } from "./keyframe-assembly";

/** A keyframe of segments ready to draw, through any transfer function. */
export interface SegmentSet extends SegmentKey {
  readonly id: number;
  readonly field: number;
  readonly step: number;
  readonly time: number;
  readonly pieces: WebGLTexture;
  readonly cells: WebGLTexture;
  readonly ranges: LevelRanges;
  /** When it was complete, page clock. */
  readonly since: number;
}

/** Texels along a row of pieces; the shader counts on it. */
const ROW = 4096;

/** Most pieces: their numbers have 24 bits. */
const MOST_PIECES = 1 << 23;

/** What a keyframe is made of while its tiles are uploaded. */
interface Room {
  readonly pieces: WebGLTexture;
  readonly ranges: LevelRanges;
  /** Of each ray its first piece, and in the low 8 bits how many follow. */
  readonly lists: Uint32Array;
  used: number;
}

/** Assembles keyframes of segments in textures. */
export class SegmentSets {
  readonly #gl: Gl;
  readonly #assembly: KeyframeAssembly<DecodedSegments, SegmentsPart, Room>;
  /** The newest complete keyframe; `null` if none. */
  shown: SegmentSet | null = null;

  constructor(gl: Gl) {
    this.#gl = gl;
    this.#assembly = new KeyframeAssembly({
      prepare: (part, tiles) => this.#prepare(part, tiles),
      upload: (room, tile, _, part) => this.#upload(room, tile, part),
      recycle: ({ pieces }) => gl.deleteTexture(pieces),
    });
  }

  get isUploading(): boolean {
    return this.#assembly.isUploading;
  }

  begin(groups: number): void {
    this.#assembly.begin(groups);
    this.#drop();
  }

  accept(part: SegmentsPart): void {
    this.#assembly.accept(part);
  }

  /** Uploads a complete keyframe for about `budgetMs`. True if what is shown changed. */
  advance(budgetMs: number): boolean {
    const made = this.#assembly.advance(budgetMs);
    if (!made) return false;
    this.#drop();
    const { type: _, header, tiles: __, ...key } = made.part;
    const { set, field, step, time } = header;
    const { pieces, ranges, lists } = made.room;
    const cells = this.#cells(lists, key.rays);
    this.shown = { ...key, id: set, field, step, time, pieces, cells, ranges, since: performance.now() };
    return true;
  }

  #drop(): void {
    if (this.shown) for (const texture of [this.shown.pieces, this.shown.cells]) this.#gl.deleteTexture(texture);
    this.shown = null;
  }

  #prepare({ rays, planeCount }: SegmentsPart, tiles: readonly DecodedSegments[]): Room {
    const gl = this.#gl;
    const count = tiles.reduce((sum, tile) => sum + tile.texels.length / PIECE_WORDS, 1);
    if (count > MOST_PIECES) throw new GraphicsError(`${count} pieces of rays are more than the ${MOST_PIECES} shown`);
    const pieces = gl.createTexture();
    gl.activeTexture(gl.TEXTURE0);
    gl.bindTexture(gl.TEXTURE_2D, pieces);
    gl.texStorage2D(gl.TEXTURE_2D, 1, gl.RGBA32UI, ROW, Math.ceil(count / ROW));
    setSampling(gl, gl.TEXTURE_2D, gl.NEAREST);
    const room = {
      pieces,
      ranges: new LevelRanges([rays[0], rays[1], planeCount + 1]),
      lists: new Uint32Array(rays[0] * rays[1]),
      used: 0,
    };
    // Rays without knots share a piece of which nothing is known, from before all planes to behind them.
    this.#append(room, Uint32Array.of(0xffff0000, 0, 0, 0));
    return room;
  }

  #upload(room: Room, tile: DecodedSegments, { rays }: SegmentsPart): void {
    const { x, y, width, starts, texels, ranges } = tile;
    for (let ray = 0; ray + 1 < starts.length; ray++) {
      const count = starts[ray + 1] - starts[ray];
      if (count === 0) continue;
      const at = (y + Math.floor(ray / width)) * rays[0] + x + (ray % width);
      room.lists[at] = ((room.used + starts[ray]) << 8) | (count - 1);
    }
    room.ranges.merge(ranges);
    this.#append(room, texels);
  }

  /** Puts pieces behind those there are, row by row. */
  #append(room: Room, texels: Uint32Array): void {
    const gl = this.#gl;
    resetUnpacking(gl);
    gl.activeTexture(gl.TEXTURE0);
    gl.bindTexture(gl.TEXTURE_2D, room.pieces);
    const end = room.used + texels.length / PIECE_WORDS;
    for (let at = room.used; at < end; ) {
      const [column, row] = [at % ROW, Math.floor(at / ROW)];
      const rows = column === 0 ? Math.max(1, Math.floor((end - at) / ROW)) : 1;
      const width = Math.min(ROW - column, end - at);
      const part = texels.subarray((at - room.used) * PIECE_WORDS);
      gl.texSubImage2D(gl.TEXTURE_2D, 0, column, row, width, rows, gl.RGBA_INTEGER, gl.UNSIGNED_INT, part);
      at += width * rows;
    }
    room.used = end;
  }

  /** Of each ray its own list and those of its neighbours to the right, below, and both. */
  #cells(lists: Uint32Array, [width, height]: readonly [number, number]): WebGLTexture {
    const gl = this.#gl;
    const cells = new Uint32Array(4 * lists.length);
    for (let y = 0, at = 0; y < height; y++) {
      const below = y + 1 < height ? width : 0;
      for (let x = 0; x < width; x++, at++) {
        const right = x + 1 < width ? 1 : 0;
        cells[4 * at] = lists[at];
        cells[4 * at + 1] = lists[at + right];
        cells[4 * at + 2] = lists[at + below];
        cells[4 * at + 3] = lists[at + right + below];
      }
    }
    const texture = gl.createTexture();
    resetUnpacking(gl);
    gl.activeTexture(gl.TEXTURE0);
    gl.bindTexture(gl.TEXTURE_2D, texture);
    gl.texImage2D(gl.TEXTURE_2D, 0, gl.RGBA32UI, width, height, 0, gl.RGBA_INTEGER, gl.UNSIGNED_INT, cells);
    setSampling(gl, gl.TEXTURE_2D, gl.NEAREST);
    return texture;
  }
}
