import type { TransferFunctionMessage } from "./control";
import type { KeyCamera } from "./slabs";

/** What the page asks for: sent whenever something in it changes. */
export interface ViewMessage {
  readonly sequence: number;
  readonly camera: KeyCamera;
  /** Device pixels. */
  readonly viewport: readonly [number, number];
  readonly field: number;
  /** `null` follows the newest. */
  readonly step: number | null;
  readonly moving: boolean;
  readonly proxy: ProxyChoice;
  readonly transfer_function: TransferFunctionMessage;
}

export type ProxyChoice = "auto" | "bricks" | "slabs";

export function encodeView(view: ViewMessage): Uint8Array<ArrayBuffer> {
  const text = new TextEncoder().encode(JSON.stringify(view));
  const bytes = new Uint8Array(1 + text.byteLength);
  bytes[0] = 64;
  bytes.set(text, 1);
  return bytes;
}
