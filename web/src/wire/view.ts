import type { TransferFunctionMessage } from "./control";
import { encodeJson } from "./json";
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

export const PROXY_CHOICES = ["auto", "bricks", "slabs", "segments"] as const;
export type ProxyChoice = (typeof PROXY_CHOICES)[number];

/** The choice of that name; `auto` for any other text. */
export function proxyChoice(name: string | null): ProxyChoice {
  return PROXY_CHOICES.find((choice) => choice === name) ?? "auto";
}

export function encodeView(view: ViewMessage): Uint8Array<ArrayBuffer> {
  return encodeJson(64, view);
}
