import { Cursor } from "./cursor";
import { WireError } from "./errors";

export const BULK_LIMIT = 8 << 20;

export const Kind = { bricks: 16, slabs: 17, still: 18, scalarSlabs: 19, segments: 20, tileList: 21 } as const;

/** What every bulk message starts with (28 bytes). */
export interface BulkHeader {
  /** This message completes its set on this connection. */
  readonly completes: boolean;
  readonly field: number;
  readonly set: number;
  readonly step: number;
  /** Time of the step, NaN where unknown. */
  readonly time: number;
  /** Sequence of the view that it was made for. */
  readonly view: number;
}

/** Reads the header and leaves `cursor` at byte 28. */
export function readHeader(cursor: Cursor): BulkHeader {
  cursor.u8("kind");
  const flags = cursor.u8("flags");
  const field = cursor.u16("field");
  const set = cursor.u32("set");
  const step = cursor.u64("step");
  const time = cursor.f64("time");
  const view = cursor.u32("view");
  return { completes: (flags & 1) !== 0, field, set, step, time, view };
}

export function bulkCursor(bytes: Uint8Array, what: string): Cursor {
  if (bytes.byteLength > BULK_LIMIT) {
    throw new WireError(`${what}: ${bytes.byteLength} bytes, more than the ${BULK_LIMIT} a message may have`);
  }
  return new Cursor(bytes, what);
}
