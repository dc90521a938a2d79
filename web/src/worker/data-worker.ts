/** One data connection: receives bulk messages, acknowledges them, decodes them and hands them to the page. */
import { BrickJoiner, decodeFaceTile, decodeSegments, decodeTile, type Joined, readyUnpacking } from "../volume/index";
import { encodeAck, parseBulk, readyZstd, unpackStillTile, WireError } from "../wire/index";
import { type Arrival, type BulkPart, type FromWorker, type ToWorker, UNREADABLE } from "./messages";

interface WorkerScope {
  postMessage(message: FromWorker, transfer: Transferable[]): void;
  onmessage: ((event: MessageEvent<ToWorker>) => void) | null;
}
const scope = self as unknown as WorkerScope;

let socket: WebSocket | null = null;
let asked: ToWorker | null = null;
/** As long as for the session's own connection: one that is not open by then may lead nowhere, and nothing would come over it, without a word. */
const OPEN_WITHIN_MS = 15_000;
const ready = Promise.all([readyZstd(), readyUnpacking()]);
// Whoever opens a connection is told.
ready.catch(() => {});

scope.onmessage = async ({ data }) => {
  socket?.close();
  socket = null;
  asked = data;
  if (data.type !== "open") return;
  try {
    await ready;
  } catch (error) {
    const { epoch } = data;
    // Where it runs WebAssembly, what did not come may come another time.
    if (typeof WebAssembly === "object")
      return send({ epoch, type: "closed", reason: `a part of this page: ${error}` });
    return send({ epoch, type: "unreadable", by: "browser", why: "it does not run WebAssembly" });
  }
  if (asked === data) socket = open(data.url, data.epoch, data.hasSingles);
};

function open(url: string, epoch: number, hasSingles: boolean): WebSocket {
  const opened = new WebSocket(url);
  opened.binaryType = "arraybuffer";
  const joiner = new BrickJoiner(hasSingles);
  let received = 0;
  const giveUp = setTimeout(() => {
    if (socket !== opened) return;
    socket = null;
    opened.close();
    send({ epoch, type: "closed", reason: "a connection for data does not open" });
  }, OPEN_WITHIN_MS);
  opened.onopen = () => clearTimeout(giveUp);
  opened.onclose = ({ reason, code }) => {
    clearTimeout(giveUp);
    if (socket !== opened) return;
    if (code === UNREADABLE) send({ epoch, type: "unreadable", by: "program", why: reason });
    else send({ epoch, type: "closed", reason: reason || closeWords(code) });
  };
  opened.onmessage = ({ data }: MessageEvent<unknown>) => {
    if (socket !== opened) return;
    if (!(data instanceof ArrayBuffer)) return refuse(opened, epoch, "a text message on a data connection");
    const at = performance.timeOrigin + performance.now();
    received += data.byteLength;
    opened.send(encodeAck(received));
    send({ epoch, type: "received", bytes: data.byteLength });
    try {
      deliver(new Uint8Array(data), joiner, epoch, { at, bytes: data.byteLength });
    } catch (error) {
      refuse(opened, epoch, error instanceof WireError ? error.message : String(error));
    }
  };
  return opened;
}

function closeWords(code: number): string {
  return code === 1006 ? "the server went away" : `the server closed it, code ${code}`;
}

/** Close reasons are at most 123 bytes. */
function refuse(opened: WebSocket, epoch: number, why: string): void {
  socket = null;
  opened.close(4008, why.slice(0, 100));
  send({ epoch, type: "unreadable", by: "page", why });
}

function deliver(bytes: Uint8Array, joiner: BrickJoiner, epoch: number, arrival: Arrival): void {
  const sendPart = (part: BulkPart, buffers: ArrayBufferLike[]) =>
    scope.postMessage({ epoch, type: "part", part, arrival }, buffers as Transferable[]);
  const message = parseBulk(bytes);
  if (message === null) return;
  const { header } = message;
  const sendBoxes = ({ message: { header, level, bits, size, lo, hi }, asSingles, boxes }: Joined) => {
    const buffers = boxes.flatMap((b) => [b.samples.buffer, b.ranges.min.buffer, b.ranges.max.buffer]);
    sendPart({ type: "bricks", header, level, bits, size, lo, hi, asSingles, boxes }, buffers);
  };
  const torn = joiner.hear(header);
  if (torn) sendBoxes(torn);
  switch (message.kind) {
    case "bricks":
      return sendBoxes(joiner.join(message));
    case "slabs": {
      const { camera, rays, slabCount, normal, near, far } = message;
      const tiles = message.tiles.map(decodeTile);
      const buffers = tiles.map((tile) => tile.texels.buffer);
      return sendPart({ type: "slabs", header, camera, rays, slabCount, normal, near, far, tiles }, buffers);
    }
    case "scalarSlabs": {
      const { camera, rays, slabCount, normal, near, far, edges, range } = message;
      const tiles = message.tiles.map(decodeFaceTile);
      const key = { camera, rays, slabCount, normal, near, far };
      const buffers = tiles.map((tile) => tile.values.buffer);
      return sendPart({ type: "scalarSlabs", header, ...key, edges, range, tiles }, buffers);
    }
    case "segments": {
      const { camera, rays, planeCount, near, spacing, edges, range } = message;
      const key = { camera, rays, planeCount, near, spacing, edges, range };
      const tiles = message.tiles.map((tile) => decodeSegments(tile, key));
      const buffers = tiles.flatMap((b) => [b.samples.buffer, b.ranges.min.buffer, b.ranges.max.buffer]);
      return sendPart({ type: "segments", header, ...key, tiles }, buffers);
    }
    case "still": {
      const { width, height } = message;
      const tiles = message.tiles.map((tile) => {
        const { x, y, width: w, height: h } = tile;
        return { x, y, width: w, height: h, rgba: unpackStillTile(tile) };
      });
      const buffers = tiles.map((tile) => tile.rgba.buffer);
      return sendPart({ type: "still", header, width, height, tiles }, buffers);
    }
    case "tileList":
      return sendPart({ type: "tileList", header, list: message.list }, []);
  }
}

function send(message: FromWorker): void {
  scope.postMessage(message, []);
}
