import {
  differenceOf,
  MOST_SEGMENT_CODE,
  type PackedSegments,
  type SegmentLists,
  unpackSegmentLists,
  WireError,
} from "../wire/index";

/** The knots of the rays of a tile, one ray after another, and the slopes there; in double precision, as codes are predicted by them. */
export interface SegmentRays {
  /** First knot of each ray, and the end of the last. */
  readonly starts: Uint32Array;
  /** Which plane a knot lies at. */
  readonly planes: Uint16Array;
  readonly codes: Uint16Array;
  /** 1 where nothing is known between the knot before and this one. */
  readonly startsRun: Uint8Array;
  /** Change of the code per plane. */
  readonly slopes: Float64Array;
}

const STARTS_RUN = 0x8000;

/** Undoes a tile's differences; throws where knots do not follow one another within `planeCount` planes. */
export function segmentRays(tile: PackedSegments, planeCount: number): SegmentRays {
  const lists = unpackSegmentLists(tile);
  const rays = emptyRays(tile, lists);
  let first = 0;
  for (let ray = 0; ray < lists.counts.length; ray++) {
    const [start, end] = [rays.starts[ray], rays.starts[ray + 1]];
    if (start === end) continue;
    first = readPlanes(lists, rays, start, end, first);
    if (first < 0 || rays.planes[end - 1] >= planeCount) {
      throw new WireError(
        `tile of segments at ${tile.x},${tile.y}: the knots of its ray ${ray} do not follow one another`,
      );
    }
    readCodes(lists, rays, ray, tile.width);
    for (let i = start; i < end; i++) rays.slopes[i] = slope(rays, i, start, end);
  }
  return rays;
}

function emptyRays({ x, y, knots }: PackedSegments, { counts }: SegmentLists): SegmentRays {
  const starts = new Uint32Array(counts.length + 1);
  for (let ray = 0; ray < counts.length; ray++) starts[ray + 1] = starts[ray] + counts[ray];
  if (starts[counts.length] !== knots) {
    throw new WireError(`tile of segments at ${x},${y}: its rays have ${starts[counts.length]} knots, not ${knots}`);
  }
  const [planes, codes] = [new Uint16Array(knots), new Uint16Array(knots)];
  return { starts, planes, codes, startsRun: new Uint8Array(knots), slopes: new Float64Array(knots) };
}

/** Planes and runs of a ray, the first of which is told from that of the ray before; gives it, or -1 where they are damaged. */
function readPlanes(lists: SegmentLists, rays: SegmentRays, start: number, end: number, first: number): number {
  let plane = first;
  for (let i = start; i < end; i++) {
    const next = (plane + differenceOf(lists.lengths[i])) & 0xffff;
    rays.startsRun[i] = i === start || lists.differences[i] & STARTS_RUN ? 1 : 0;
    if (i > start && next <= plane) return -1;
    rays.planes[i] = next;
    plane = next;
  }
  return rays.planes[start];
}

/** Codes of a ray: differences to the plane through the rays to the left, above, and above to the left, where these have a value. */
function readCodes(lists: SegmentLists, rays: SegmentRays, ray: number, width: number): void {
  const inRow = ray % width !== 0;
  const left = inRow ? new Reader(rays, ray - 1) : null;
  const above = ray >= width ? new Reader(rays, ray - width) : null;
  const corner = inRow && ray >= width ? new Reader(rays, ray - width - 1) : null;
  let last = MOST_SEGMENT_CODE >> 1;
  for (let i = rays.starts[ray]; i < rays.starts[ray + 1]; i++) {
    const plane = rays.planes[i];
    const [l, a, c] = [left?.at(plane) ?? NaN, above?.at(plane) ?? NaN, corner?.at(plane) ?? NaN];
    const all = l + a - c;
    const one = Number.isNaN(l) ? (Number.isNaN(a) ? c : a) : l;
    const due = Number.isNaN(all) ? one : all;
    const expected = Number.isNaN(due) ? last : Math.min(MOST_SEGMENT_CODE, Math.max(0, Math.floor(due + 0.5)));
    const code = (expected + differenceOf(lists.differences[i] & ~STARTS_RUN)) & 0xffff;
    last = Math.min(code, MOST_SEGMENT_CODE);
    rays.codes[i] = last;
  }
}

/** Reads the values of a ray at planes that follow one another. */
class Reader {
  readonly #rays: SegmentRays;
  readonly #end: number;
  #at: number;

  constructor(rays: SegmentRays, ray: number) {
    this.#rays = rays;
    this.#at = rays.starts[ray];
    this.#end = rays.starts[ray + 1];
  }

  /** The value at `plane`, not before the last one asked for; NaN where there is none. */
  at(plane: number): number {
    const { planes, codes } = this.#rays;
    while (this.#at + 1 < this.#end && planes[this.#at + 1] <= plane) this.#at += 1;
    const i = this.#at;
    if (i >= this.#end || planes[i] > plane) return NaN;
    if (planes[i] === plane) return codes[i];
    if (!continues(this.#rays, i + 1, this.#end)) return NaN;
    const [c0, c1, c2, c3] = cubic(this.#rays, i);
    const x = (plane - planes[i]) / (planes[i + 1] - planes[i]);
    return ((c3 * x + c2) * x + c1) * x + c0;
  }
}

/** Coefficients of the cubic from knot `i` to the next, over 0 to 1. */
export function cubic({ planes, codes, slopes }: SegmentRays, i: number): readonly [number, number, number, number] {
  const length = planes[i + 1] - planes[i];
  const [a, b] = [codes[i], codes[i + 1]];
  const [m0, m1] = [slopes[i] * length, slopes[i + 1] * length];
  return [a, m0, 3 * (b - a) - 2 * m0 - m1, 2 * (a - b) + m0 + m1];
}

/** Whether knot `i` goes on the run of the one before it. */
export function continues(rays: SegmentRays, i: number, end: number): boolean {
  return i < end && rays.startsRun[i] === 0;
}

/** Slope at knot `i` of the parabola through it and its neighbours in its run. */
function slope(rays: SegmentRays, i: number, start: number, end: number): number {
  const before = i > start && continues(rays, i, end);
  const after = continues(rays, i + 1, end);
  const { planes, codes } = rays;
  const length = (k: number) => planes[k + 1] - planes[k];
  const chord = (k: number) => (codes[k + 1] - codes[k]) / length(k);
  const end_ = (k: number, next: number) =>
    ((2 * length(k) + length(next)) * chord(k) - length(k) * chord(next)) / (length(k) + length(next));
  if (before && after) {
    return (chord(i - 1) * length(i) + chord(i) * length(i - 1)) / (length(i - 1) + length(i));
  }
  if (after) return continues(rays, i + 2, end) ? end_(i, i + 1) : chord(i);
  if (before) return i > start + 1 && continues(rays, i - 1, end) ? end_(i - 1, i - 2) : chord(i - 1);
  return 0;
}
