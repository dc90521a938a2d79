import { MOST_SEGMENT_CODE, type PackedSegments, type SegmentKey } from "../wire/index";
import type { DecodedBox } from "./bricks";
import { continues, cubic, type SegmentRays, segmentRays } from "./segment-rays";
import { unpackCodes } from "./unpack";

/** Most values of a keyframe: 256 MiB of half floats. */
const MOST_VALUES = 1 << 27;
/** Most of them along a ray. */
const MOST_ALONG_RAY = 2048;
/** Parts of a code that values between knots are told apart by: more would be lost in half floats. */
const PARTS = 4;
const MOST = MOST_SEGMENT_CODE * PARTS;

/** Every how many planes the page keeps a value of each ray: each, where there is room. */
export function planeStride({ rays, planeCount }: Pick<SegmentKey, "rays" | "planeCount">): number {
  const most = Math.min(MOST_ALONG_RAY, Math.floor(MOST_VALUES / (rays[0] * rays[1])));
  return Math.max(1, Math.ceil(planeCount / most));
}

/** Values kept along a ray. */
export function valuesAlongRay(key: Pick<SegmentKey, "rays" | "planeCount">): number {
  return Math.max(1, Math.ceil(key.planeCount / planeStride(key)));
}

/** Values of the rays of a tile at planes: a box whose axes are plane, column and row of the key view; values are shares of the keyframe's range. */
export function decodeSegments(tile: PackedSegments, key: Pick<SegmentKey, "rays" | "planeCount">): DecodedBox {
  const rays = segmentRays(tile, key.planeCount);
  const [stride, along] = [planeStride(key), valuesAlongRay(key)];
  const codes = new Uint16Array(along * tile.width * tile.height);
  for (let ray = 0; ray + 1 < rays.starts.length; ray++) readRay(rays, ray, stride, codes, ray * along);
  const lo = [0, tile.x, tile.y] as const;
  const size = [along, tile.width, tile.height] as const;
  return { lo, size, ...unpackCodes(codes, lo, size, 0, 1 / MOST) };
}

/** Writes a ray's values at every `stride`th plane, from 1 on; 0 stays where there is none. */
function readRay(rays: SegmentRays, ray: number, stride: number, out: Uint16Array, at: number): void {
  const { starts, planes, codes } = rays;
  const end = starts[ray + 1];
  for (let i = starts[ray]; i < end; i++) {
    const [from, next] = [planes[i], continues(rays, i + 1, end) ? planes[i + 1] : planes[i] + 1];
    const first = Math.ceil(from / stride);
    if (first * stride >= next) continue;
    if (first * stride === from) out[at + first] = 1 + codes[i] * PARTS;
    if (next === from + 1) continue;
    const [c0, c1, c2, c3] = cubic(rays, i);
    const scale = 1 / (next - from);
    for (let k = first; k * stride < next; k++) {
      const x = (k * stride - from) * scale;
      const code = ((c3 * x + c2) * x + c1) * x + c0;
      out[at + k] = 1 + Math.min(MOST, Math.max(0, Math.round(code * PARTS)));
    }
  }
}
