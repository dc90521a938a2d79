import { type Corners, croppedBox, type Vec3 } from "../volume/index";
import { basisOf, type Camera, dot, type KeyRays, keyBasis } from "./camera";

/** Of what the picture shows of the box from edge to edge, by rows and columns, where it is looked whether a keyframe has data. */
const LOOKS = 9;
/** Corners of the box nearer to the eye's plane, in world units, may be anywhere in the picture. */
const NEAREST = 1e-3;
/** Of the key view's edges, against rounding. */
export const KEY_SLACK = 1.001;

/** Of what `camera` shows of the box with these edges, the share that the rays of a keyframe pass; 1 where it sees nothing. */
export function coverage(key: KeyRays, edges: Vec3, camera: Camera, aspect: number): number {
  const { tangents, ...from } = keyBasis(key);
  const isPassed = (point: Vec3) => {
    const offset: Vec3 = [point[0] - from.eye[0], point[1] - from.eye[1], point[2] - from.eye[2]];
    const depth = dot(offset, from.forward);
    const [x, y] = [dot(offset, from.right), dot(offset, from.up)];
    return (
      depth > 0 && Math.abs(x) <= KEY_SLACK * tangents[0] * depth && Math.abs(y) <= KEY_SLACK * tangents[1] * depth
    );
  };
  const shown = croppedBox(edges, camera.crop);
  let [seen, passed] = [0, 0];
  for (const ray of raysOf(camera, shown, aspect)) {
    const inside = insideBox(ray, shown);
    if (!inside) continue;
    const [enters, leaves] = inside;
    seen += 1;
    // Not where an eye inside the box is. What the rays pass of a line has no gaps.
    if ([enters + 0.02 * (leaves - enters), leaves].every((t) => isPassed(pointAt(ray, t)))) passed += 1;
  }
  return seen > 0 ? passed / seen : 1;
}

interface Ray {
  readonly eye: Vec3;
  readonly direction: Vec3;
}

function raysOf(camera: Camera, box: Corners, aspect: number): Ray[] {
  const { eye, forward, right, up } = basisOf(camera);
  const tangent = Math.tan((camera.fov * Math.PI) / 360);
  const corners = cornersOf(box).map((corner): Vec3 => [corner[0] - eye[0], corner[1] - eye[1], corner[2] - eye[2]]);
  const isInFront = corners.every((corner) => dot(corner, forward) > NEAREST);
  const spread = (across: Vec3, edge: number) => {
    const places = isInFront ? corners.map((corner) => dot(corner, across) / dot(corner, forward)) : [-edge, edge];
    const [from, to] = [Math.max(-edge, Math.min(...places)), Math.min(edge, Math.max(...places))];
    return (i: number) => from + (i / (LOOKS - 1)) * (to - from);
  };
  const [x, y] = [spread(right, tangent * aspect), spread(up, tangent)];
  return Array.from({ length: LOOKS * LOOKS }, (_, i) => {
    const [across, upwards] = [x(i % LOOKS), y(Math.floor(i / LOOKS))];
    const along = (axis: 0 | 1 | 2) => forward[axis] + across * right[axis] + upwards * up[axis];
    return { eye, direction: [along(0), along(1), along(2)] };
  });
}

function cornersOf({ lo, hi }: Corners): Vec3[] {
  const at = (corner: number, axis: 0 | 1 | 2) => ((corner >> axis) & 1 ? hi : lo)[axis];
  return Array.from({ length: 8 }, (_, corner) => [at(corner, 0), at(corner, 1), at(corner, 2)]);
}

/** Where a ray enters and leaves a box, in lengths of its direction; none where it misses it. */
function insideBox({ eye, direction }: Ray, { lo, hi }: Corners): [number, number] | null {
  let [from, to] = [0, Number.POSITIVE_INFINITY];
  for (const axis of [0, 1, 2] as const) {
    const [a, b] = [(lo[axis] - eye[axis]) / direction[axis], (hi[axis] - eye[axis]) / direction[axis]];
    if (Number.isNaN(a) || Number.isNaN(b)) continue;
    from = Math.max(from, Math.min(a, b));
    to = Math.min(to, Math.max(a, b));
  }
  return from < to ? [from, to] : null;
}

function pointAt({ eye, direction }: Ray, t: number): Vec3 {
  return [eye[0] + t * direction[0], eye[1] + t * direction[1], eye[2] + t * direction[2]];
}
