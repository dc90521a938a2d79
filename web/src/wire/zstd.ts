import { ZSTDDecoder } from "zstddec";
import { WireError } from "./errors";

const MAGIC = 0xfd2fb528;

let decoder: ZSTDDecoder | null = null;

/** Readies what decompresses: to be waited for before anything is. */
export async function readyZstd(): Promise<void> {
  const made = new ZSTDDecoder();
  await made.init();
  decoder = made;
}

/**
 * Decompresses one frame of at most `most` bytes.
 *
 * The frame must state its size, which is compared with `most` before anything is allocated.
 */
export function unzstd(frame: Uint8Array, most: number, what: string): Uint8Array {
  const size = statedSize(frame, what);
  if (size > most) throw new WireError(`${what}: the zstd frame holds ${size} bytes where at most ${most} are due`);
  if (decoder === null) throw new Error("readyZstd was not waited for");
  // A damaged frame gives none.
  const result = decoder.decode(frame, size);
  if (result.byteLength !== size) {
    throw new WireError(`${what}: damaged zstd frame, ${size} bytes are due`);
  }
  return result;
}

/** Frame_Content_Size of RFC 8878 section 3.1.1.1. */
function statedSize(frame: Uint8Array, what: string): number {
  const view = new DataView(frame.buffer, frame.byteOffset, frame.byteLength);
  if (frame.byteLength < 6 || view.getUint32(0, true) !== MAGIC) {
    throw new WireError(`${what}: not a zstd frame`);
  }
  const descriptor = view.getUint8(4);
  const singleSegment = (descriptor & 0x20) !== 0;
  const sizeCode = descriptor >> 6;
  const dictionaryBytes = [0, 1, 2, 4][descriptor & 3];
  const at = 5 + (singleSegment ? 0 : 1) + dictionaryBytes;
  const sizeBytes = sizeCode === 0 ? (singleSegment ? 1 : 0) : 1 << sizeCode;
  if (sizeBytes === 0) throw new WireError(`${what}: the zstd frame does not state its size`);
  if (at + sizeBytes > frame.byteLength) throw new WireError(`${what}: zstd frame cut short`);
  if (sizeBytes === 1) return view.getUint8(at);
  if (sizeBytes === 2) return view.getUint16(at, true) + 256;
  if (sizeBytes === 4) return view.getUint32(at, true);
  return Number(view.getBigUint64(at, true));
}
