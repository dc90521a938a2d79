import { type BricksMessage, parseBricks } from "./bricks";
import { WireError } from "./errors";
import { Kind } from "./header";
import { parseScalarSlabs, type ScalarSlabsMessage } from "./scalar-slabs";
import { parseSegments, type SegmentsMessage } from "./segments";
import { parseSlabs, type SlabsMessage } from "./slabs";
import { parseStill, type StillMessage } from "./still";
import { parseTileList, type TileListMessage } from "./tile-list";

export type BulkMessage =
  | BricksMessage
  | SlabsMessage
  | ScalarSlabsMessage
  | SegmentsMessage
  | StillMessage
  | TileListMessage;

/** Parses any bulk message; `null` for a kind this page does not know, which is to be skipped. */
export function parseBulk(bytes: Uint8Array): BulkMessage | null {
  if (bytes.byteLength === 0) throw new WireError("an empty message");
  switch (bytes[0]) {
    case Kind.bricks:
      return parseBricks(bytes);
    case Kind.slabs:
      return parseSlabs(bytes);
    case Kind.scalarSlabs:
      return parseScalarSlabs(bytes);
    case Kind.segments:
      return parseSegments(bytes);
    case Kind.still:
      return parseStill(bytes);
    case Kind.tileList:
      return parseTileList(bytes);
    default:
      return null;
  }
}

/** *Ack*: how many bytes of bulk messages this connection has received since it opened. */
export function encodeAck(received: number): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(12);
  bytes[0] = 65;
  new DataView(bytes.buffer).setBigUint64(4, BigInt(received), true);
  return bytes;
}
