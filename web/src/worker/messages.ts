import type { BoxOfBricks, DecodedBox, DecodedFaceTile, DecodedTile } from "../volume/index";
import type { BulkHeader, KeyView, SegmentKey, TileList } from "../wire/index";

/** From the page to a worker. */
export type ToWorker =
  /** `hasSingles`: the page draws from textures of 32-bit floats. */
  | { readonly type: "open"; readonly url: string; readonly epoch: number; readonly hasSingles: boolean }
  | { readonly type: "close" };

export interface BricksPart {
  readonly type: "bricks";
  readonly header: BulkHeader;
  readonly level: number;
  readonly bits: number;
  readonly size: readonly [number, number, number];
  readonly lo: number;
  readonly hi: number;
  /** Samples are 32-bit floats; half floats otherwise. */
  readonly asSingles: boolean;
  readonly boxes: readonly BoxOfBricks[];
}

export interface SlabsPart extends KeyView {
  readonly type: "slabs";
  readonly header: BulkHeader;
  readonly tiles: readonly DecodedTile[];
}

export interface ScalarSlabsPart extends KeyView {
  readonly type: "scalarSlabs";
  readonly header: BulkHeader;
  readonly edges: readonly [number, number, number];
  readonly range: readonly [number, number];
  readonly tiles: readonly DecodedFaceTile[];
}

export interface SegmentsPart extends SegmentKey {
  readonly type: "segments";
  readonly header: BulkHeader;
  readonly tiles: readonly DecodedBox[];
}

export interface StillPart {
  readonly type: "still";
  readonly header: BulkHeader;
  readonly width: number;
  readonly height: number;
  readonly tiles: readonly {
    readonly x: number;
    readonly y: number;
    readonly width: number;
    readonly height: number;
    readonly rgba: Uint8Array;
  }[];
}

export interface TileListPart {
  readonly type: "tileList";
  readonly header: BulkHeader;
  readonly list: TileList;
}

export type BulkPart = BricksPart | SlabsPart | ScalarSlabsPart | SegmentsPart | StillPart | TileListPart;

/** A message as it came: when, in milliseconds since 1970, and how large. */
export interface Arrival {
  readonly at: number;
  readonly bytes: number;
}

/** From a worker to the page; `epoch` is that of the connection it is about, so that a late one can be told. */
/** Who cannot read what is said: the page, the program, or the browser that is to run the page. */
export type Reader = "page" | "program" | "browser";

/** A server closes connections with this code where it cannot read what came over them (RFC 6455: invalid payload). */
export const UNREADABLE = 1007;

export type FromWorker = { readonly epoch: number } & (
  | { readonly type: "closed"; readonly reason: string }
  | { readonly type: "unreadable"; readonly by: Reader; readonly why: string }
  | { readonly type: "received"; readonly bytes: number }
  | { readonly type: "part"; readonly part: BulkPart; readonly arrival: Arrival }
);
