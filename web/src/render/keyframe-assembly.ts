import type { BulkHeader } from "../wire/index";

/** Part of a keyframe, as one message brought it. */
interface Part<Tile> {
  readonly header: BulkHeader;
  readonly tiles: readonly Tile[];
}

/** How a kind of keyframe is kept: `prepare` makes room for all tiles of one, `upload` puts one in, `recycle` takes a room back. */
export interface Keeper<P, Tile, Room> {
  /** `null` if there is no room for one so large: it is left out. */
  prepare(part: P, tiles: Tile[]): Room | null;
  upload(room: Room, tile: Tile, number: number, part: P): void;
  recycle(room: Room): void;
}

/** A keyframe all of whose tiles are uploaded. */
export interface Assembled<P, Tile, Room> {
  /** Its first part. */
  readonly part: P;
  readonly tiles: readonly Tile[];
  readonly room: Room;
}

/** The newest keyframe on its way to the screen: gathered from all connections, then uploaded in pieces. */
export class KeyframeAssembly<Tile, P extends Part<Tile>, Room> {
  readonly #keeper: Keeper<P, Tile, Room>;
  #next: { part: P; tiles: Tile[]; groupsDone: number; isSound: boolean } | null = null;
  /** A complete one: later ones wait until it is shown, so that something is where they come faster than they are uploaded. */
  #uploading: { part: P; tiles: Tile[]; room: Room; uploaded: number } | null = null;
  #groups = 1;
  #newest = 0;

  constructor(keeper: Keeper<P, Tile, Room>) {
    this.#keeper = keeper;
  }

  /** Number of the newest set known. */
  get newest(): number {
    return this.#newest;
  }

  get isUploading(): boolean {
    return this.#uploading !== null || this.#isComplete;
  }

  get #isComplete(): boolean {
    return this.#next !== null && this.#next.groupsDone >= this.#groups;
  }

  /** A new session numbers its sets anew. */
  begin(groups: number): void {
    this.#groups = groups;
    this.#newest = 0;
    this.#drop();
  }

  accept(part: P): void {
    const { set, completes } = part.header;
    if (set < this.#newest) return;
    this.#newest = set;
    if (this.#next?.part.header.set !== set) this.#next = { part, tiles: [], groupsDone: 0, isSound: true };
    // Tiles are placed by what the first part says.
    this.#next.isSound &&= keyOf(part) === keyOf(this.#next.part);
    this.#next.tiles.push(...part.tiles);
    if (completes) this.#next.groupsDone += 1;
  }

  /** Uploads a complete keyframe for about `budgetMs`; gives it once all is uploaded. */
  advance(budgetMs: number): Assembled<P, Tile, Room> | null {
    if (!this.#uploading && this.#next && this.#isComplete) {
      const { part, tiles, isSound } = this.#next;
      const room = isSound ? this.#keeper.prepare(part, tiles) : null;
      if (room !== null) this.#uploading = { part, tiles, room, uploaded: 0 };
      this.#next = null;
    }
    const now = this.#uploading;
    if (!now) return null;
    const until = performance.now() + budgetMs;
    const { part, tiles, room } = now;
    while (now.uploaded < tiles.length) {
      if (performance.now() > until) return null;
      this.#keeper.upload(room, tiles[now.uploaded], now.uploaded, part);
      now.uploaded += 1;
    }
    this.#uploading = null;
    return { part, tiles, room };
  }

  #drop(): void {
    const room = this.#uploading?.room;
    this.#next = null;
    this.#uploading = null;
    if (room !== undefined) this.#keeper.recycle(room);
  }
}

/** All that a part says of its keyframe. */
function keyOf({ header: { field, step }, tiles: _, ...key }: Part<unknown>): string {
  return JSON.stringify({ field, step, ...key });
}
