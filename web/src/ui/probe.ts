import type { Camera } from "../render/index";
import { transferToMessage } from "../volume/index";
import type { TransferFunctionMessage } from "../wire/index";
import type { Viewer } from "./viewer";

/** What tests and benchmarks may read; the page itself never does. */
export interface Probe {
  readonly frameCount: number;
  readonly lastFrameTime: number;
  readonly isAtRest: boolean;
  readonly shown: {
    step: number | null;
    level: number | null;
    bits: number | null;
    field: number | null;
    proxy: string;
    sequence: number;
    resolution: number;
    precision: "exact" | "draft";
  };
  readonly camera: Camera;
  readonly stats: { framesPerSecond: number; bytes: number; connection: string };
  readonly steps: { first: number; last: number };
  readonly wantedStep: number | null;
  readonly transferFunction: TransferFunctionMessage | null;
  /** The picture without box and labels, as PNG. */
  readonly png: () => Promise<Blob>;
}

declare global {
  interface Window {
    visapult?: Probe;
  }
}

export function exposeToTests(viewer: Viewer): void {
  const probe: Probe = {
    get frameCount() {
      return viewer.painter.frameCount;
    },
    get lastFrameTime() {
      return viewer.painter.lastFrameTime;
    },
    get isAtRest() {
      return viewer.painter.isAtRest;
    },
    get shown() {
      const { step, level, bits, field, proxy, resolution, precision } = viewer.painter.shown;
      return { step, level, bits, field, proxy, resolution, precision, sequence: viewer.sequence };
    },
    get camera() {
      return viewer.camera;
    },
    get stats() {
      return {
        framesPerSecond: viewer.frames.pace(performance.now()),
        bytes: viewer.received.total,
        connection: viewer.state.connection.kind,
      };
    },
    get steps() {
      return { ...viewer.state.steps };
    },
    get wantedStep() {
      return viewer.state.step;
    },
    get transferFunction() {
      const { transfer } = viewer.state;
      return transfer && transferToMessage(transfer);
    },
    png: () => viewer.painter.png(null),
  };
  Object.defineProperty(window, "visapult", { value: probe, configurable: true });
}
