import { type BulkHeader, missingFrom, type Place, type TileList } from "../wire/index";
import { SetsUnderWay, type SetUnderWay } from "./sets-under-way";
import { Succession } from "./succession";

/** Part of a keyframe, as one message brought it. */
interface Part<Tile> {
  readonly header: BulkHeader;
  readonly tiles: readonly Tile[];
}

/**
 * How a kind of keyframe is kept: `prepare` makes room for all tiles of one, `upload` puts one in, `recycle` takes a room back. `finish` makes what is
 * drawn of a room that has all tiles, and `release` takes that back.
 *
 * The others are about tiles that do not come: where those are that do, and what stands for one that does not.
 */
export interface Keeper<P, Tile, Room, Keyframe> {
  /** `null` if there is no room for one so large: it is left out. */
  prepare(part: P, tiles: Tile[]): Room | null;
  upload(room: Room, tile: Tile, number: number, part: P): void;
  recycle(room: Room): void;
  finish(assembled: Assembled<P, Tile, Room>): Keyframe;
  release(keyframe: Keyframe): void;
  /** Columns, rows and layers of tiles. */
  extent(part: P): Place;
  placeOf(tile: Tile, part: P): Place;
  lost(part: P, place: Place): Tile;
}

/** A keyframe all of whose tiles are uploaded. */
export interface Assembled<P, Tile, Room> {
  /** Its first part. */
  readonly part: P;
  readonly tiles: readonly Tile[];
  readonly room: Room;
}

/** One that is being gathered. */
interface Gathered<Tile, P> extends SetUnderWay {
  readonly part: P;
  readonly tiles: Tile[];
  isSound: boolean;
}

/** Incomplete keyframes kept at most. */
const MOST_GATHERED = 2;

/** Keyframes of one kind: gathered from all connections, uploaded in pieces, shown. */
export class KeyframeSets<Tile, P extends Part<Tile>, Room, Keyframe extends { readonly id: number }> {
  /** Complete ones. */
  readonly keyframes: Succession<Keyframe>;
  readonly #keeper: Keeper<P, Tile, Room, Keyframe>;
  readonly #gathered = new SetsUnderWay<Gathered<Tile, P>>(MOST_GATHERED, () => {});
  /** Of the newest set that has one. */
  #list: { set: number; list: TileList } | null = null;
  /** A complete one: later ones wait until it is shown, so that something is where they come faster than they are uploaded. */
  #uploading: { part: P; tiles: Tile[]; room: Room; uploaded: number } | null = null;
  #newest = 0;

  constructor(keeper: Keeper<P, Tile, Room, Keyframe>) {
    this.#keeper = keeper;
    this.keyframes = new Succession((keyframe) => keeper.release(keyframe));
  }

  /** The newest complete one. */
  get shown(): Keyframe | null {
    return this.keyframes.shown;
  }

  get isUploading(): boolean {
    return this.#uploading !== null || this.#gathered.whole.length > 0;
  }

  /** A new session numbers its sets anew. */
  begin(groups: number): void {
    this.#gathered.begin(groups);
    this.#newest = 0;
    this.#list = null;
    this.#drop();
    this.keyframes.release();
  }

  /** Which tiles set number `set` has. */
  expect(set: number, list: TileList): void {
    if (set >= this.#newest) this.#list = { set, list };
  }

  /** Something has come over connection `group`, of this kind or another. */
  hear(header: BulkHeader, group: number): void {
    this.#gathered.hear(header, group);
  }

  accept(part: P): void {
    const { header } = part;
    this.#newest = Math.max(this.#newest, header.set);
    const set = this.#gathered.of(header, (arrivals) => ({ header, part, tiles: [], arrivals, isSound: true }));
    if (!set) return;
    // Tiles are placed by what the first part says.
    set.isSound &&= keyOf(part) === keyOf(set.part);
    set.tiles.push(...part.tiles);
  }

  /** Uploads a complete keyframe for about `budgetMs`. True if what is shown changed. */
  advance(budgetMs: number): boolean {
    if (!this.#uploading) this.#beginUpload();
    const now = this.#uploading;
    if (!now) return false;
    const until = performance.now() + budgetMs;
    const { part, tiles, room } = now;
    while (now.uploaded < tiles.length) {
      if (performance.now() > until) return false;
      this.#keeper.upload(room, tiles[now.uploaded], now.uploaded, part);
      now.uploaded += 1;
    }
    this.#uploading = null;
    this.keyframes.follow(this.#keeper.finish({ part, tiles, room }));
    return true;
  }

  #beginUpload(): void {
    const newest = this.#gathered.whole.at(-1);
    if (!newest) return;
    this.#gathered.take(newest);
    const { part, isSound } = newest;
    const tiles = [...newest.tiles, ...this.#lost(part, newest.tiles)];
    const room = isSound ? this.#keeper.prepare(part, tiles) : null;
    if (room !== null) this.#uploading = { part, tiles, room, uploaded: 0 };
  }

  /** What stands for tiles that were sent and have not come. */
  #lost(part: P, tiles: readonly Tile[]): Tile[] {
    if (this.#list?.set !== part.header.set) return [];
    const { list } = this.#list;
    const [columns, rows, layers] = this.#keeper.extent(part);
    if (list.columns !== columns || list.rows !== rows || list.layers !== layers) return [];
    const missing = missingFrom(
      list,
      tiles.map((tile) => this.#keeper.placeOf(tile, part)),
    );
    return missing.map((place) => this.#keeper.lost(part, place));
  }

  #drop(): void {
    const room = this.#uploading?.room;
    this.#uploading = null;
    if (room !== undefined) this.#keeper.recycle(room);
  }
}

/** All that a part says of its keyframe. */
function keyOf({ header: { field, step }, tiles: _, ...key }: Part<unknown>): string {
  return JSON.stringify({ field, step, ...key });
}

/** Columns and rows of tiles of `edge` x `edge` rays. */
export function tilesAcross(rays: readonly [number, number], edge: number): [number, number] {
  return [Math.ceil(rays[0] / edge), Math.ceil(rays[1] / edge)];
}
