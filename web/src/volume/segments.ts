import { MOST_SEGMENT_CODE, type PackedSegments } from "../wire/index";
import { CELL_EDGE, type CellRanges } from "./ranges";
import { continues, cubic, type SegmentRays, segmentRays } from "./segment-rays";

/** A tile of segments ready to upload. */
export interface DecodedSegments {
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
  /** First texel of each ray, rows from the top, and the end of the last; rays without knots have none. */
  readonly starts: Uint32Array<ArrayBuffer>;
  /** Pieces of rays ([`PIECE_WORDS`] each), from the first plane of all to behind the last. */
  readonly texels: Uint32Array<ArrayBuffer>;
  /** Of the values, as shares of the range, in blocks of rays and planes. */
  readonly ranges: CellRanges;
}

/**
 * Words of a piece of a ray, between two knots, before the first or behind the last: its first plane, and 16 bits higher its end;
 * the code at either, the second 10 bits higher, and what is known (`PIECE`); the slopes there times its length, as floats.
 */
export const PIECE_WORDS = 4;
/** Bits of a piece: whether its first code is one of its ray, its second, and whether the values between are known. */
export const PIECE = { first: 1 << 20, second: 1 << 21, between: 1 << 22 } as const;
/** Beyond all planes. */
export const NO_PLANE = 0xffff;

export function decodeSegments(tile: PackedSegments, planeCount: number): DecodedSegments {
  const rays = segmentRays(tile, planeCount);
  const { x, y, width, height } = tile;
  return { x, y, width, height, ...piecesOf(rays), ranges: rangesOf(rays, tile, planeCount) };
}

function piecesOf(rays: SegmentRays): Pick<DecodedSegments, "starts" | "texels"> {
  const count = rays.starts.length - 1;
  const starts = new Uint32Array(count + 1);
  const filled = (ray: number) => (rays.starts[ray + 1] > rays.starts[ray] ? 1 : 0);
  for (let ray = 0; ray < count; ray++) {
    starts[ray + 1] = starts[ray] + rays.starts[ray + 1] - rays.starts[ray] + filled(ray);
  }
  const texels = new Uint32Array(starts[count] * PIECE_WORDS);
  const floats = new Float32Array(texels.buffer);
  for (let ray = 0; ray < count; ray++) {
    const [start, end] = [rays.starts[ray], rays.starts[ray + 1]];
    let word = starts[ray] * PIECE_WORDS;
    for (let i = start - 1; i < end && start < end; i++, word += PIECE_WORDS) {
      writePiece(rays, i, start, end, texels, floats, word);
    }
  }
  return { starts, texels };
}

/** The piece from knot `i` of a ray to the next; `start - 1` stands for what lies before the first. */
function writePiece(
  rays: SegmentRays,
  i: number,
  start: number,
  end: number,
  texels: Uint32Array,
  floats: Float32Array,
  word: number,
): void {
  const { planes, codes, slopes } = rays;
  const [first, second] = [i >= start, i + 1 < end];
  const [from, to] = [first ? planes[i] : 0, second ? planes[i + 1] : NO_PLANE];
  const [a, b] = [first ? codes[i] : 0, second ? codes[i + 1] : 0];
  const isCubic = first && continues(rays, i + 1, end);
  // Runs at neighbouring planes touch: values are linear between them.
  const touches = first && second && to === from + 1;
  const known = (first ? PIECE.first : 0) | (second ? PIECE.second : 0) | (isCubic || touches ? PIECE.between : 0);
  texels[word] = from | (to << 16);
  texels[word + 1] = a | (b << 10) | known;
  floats[word + 2] = isCubic ? slopes[i] * (to - from) : b - a;
  floats[word + 3] = isCubic ? slopes[i + 1] * (to - from) : b - a;
}

/** Bounds of all values in blocks of rays and planes; values are mixed with those of the next ray to each side. */
function rangesOf(rays: SegmentRays, { x, y, width, height }: PackedSegments, planeCount: number): CellRanges {
  const size = [
    Math.ceil(width / CELL_EDGE) + 1,
    Math.ceil(height / CELL_EDGE) + 1,
    Math.ceil((planeCount + 1) / CELL_EDGE),
  ] as const;
  const count = size[0] * size[1] * size[2];
  const min = new Float32Array(count).fill(Number.POSITIVE_INFINITY);
  const max = new Float32Array(count).fill(Number.NEGATIVE_INFINITY);
  const widen = (ray: number, planeFrom: number, planeTo: number, lo: number, hi: number) => {
    const [column, row] = [ray % width, Math.floor(ray / width)];
    // One block to the left and above belongs to the tile's neighbours.
    const right = Math.floor(column / CELL_EDGE) + 1;
    const below = Math.floor(row / CELL_EDGE) + 1;
    for (let block = planeFrom; block <= planeTo; block++) {
      for (let by = row % CELL_EDGE === 0 ? below - 1 : below; by <= below; by++) {
        for (let bx = column % CELL_EDGE === 0 ? right - 1 : right; bx <= right; bx++) {
          const at = (block * size[1] + by) * size[0] + bx;
          if (lo < min[at]) min[at] = lo;
          if (hi > max[at]) max[at] = hi;
        }
      }
    }
  };
  for (let ray = 0; ray + 1 < rays.starts.length; ray++) {
    eachBound(rays, ray, size[2], (from, to, lo, hi) =>
      widen(ray, from, to, lo / MOST_SEGMENT_CODE, hi / MOST_SEGMENT_CODE),
    );
  }
  return { lo: [x / CELL_EDGE - 1, y / CELL_EDGE - 1, 0], size, min, max };
}

/** Bounds of the values of a ray, over some blocks of planes at a time. */
function eachBound(
  rays: SegmentRays,
  ray: number,
  blocks: number,
  tell: (from: number, to: number, lo: number, hi: number) => void,
): void {
  const { planes, codes } = rays;
  const [start, end] = [rays.starts[ray], rays.starts[ray + 1]];
  const block = (plane: number) => Math.min(blocks - 1, Math.max(0, Math.floor(plane / CELL_EDGE)));
  for (let i = start; i < end; i++) {
    // A value holds for half a plane around its knot.
    tell(block(planes[i] - 0.5), block(planes[i] + 0.5), codes[i], codes[i]);
    const next = i + 1 < end ? planes[i + 1] : NO_PLANE;
    if (continues(rays, i + 1, end)) {
      const [c0, c1, c2, c3] = cubic(rays, i);
      const length = next - planes[i];
      for (let b = block(planes[i]); b <= block(next); b++) {
        const from = Math.max(0, (b * CELL_EDGE - planes[i]) / length);
        const to = Math.min(1, ((b + 1) * CELL_EDGE - planes[i]) / length);
        const at = (x: number) => ((c3 * x + c2) * x + c1) * x + c0;
        // The values lie between those of the control points (Bernstein 1912).
        const third = (x: number) => (((3 * c3 * x + 2 * c2) * x + c1) * (to - from)) / 3;
        const [p, s] = [at(from), at(to)];
        const [q, r] = [p + third(from), s - third(to)];
        tell(b, b, Math.min(p, q, r, s), Math.max(p, q, r, s));
      }
    } else if (next === planes[i] + 1) {
      const [lo, hi] = [Math.min(codes[i], codes[i + 1]), Math.max(codes[i], codes[i + 1])];
      tell(block(planes[i]), block(next), lo, hi);
    }
  }
}
