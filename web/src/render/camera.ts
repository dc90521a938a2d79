import { FARTHEST_TARGET, NEAREST, UNCROPPED, UNSTRETCHED, type Vec3 } from "../volume/index";
import type { Crop, KeyCamera, Up } from "../wire/index";

/** Angles in degrees, lengths in world units (RENDERING, *Camera*). */
export type Camera = KeyCamera;

/** The first view: all of a box with these edges, its axes stretched so, as near as leaves room for its labels. */
export function homeCamera(aspect: number, edges: Vec3 = CUBE, stretch: Vec3 = UNSTRETCHED, up: Up = "y"): Camera {
  const stance = { stretch, up, crop: UNCROPPED };
  const camera: Camera = { azimuth: 30, elevation: 20, distance: 1, fov: 30, target: [0, 0, 0], ...stance };
  const { forward, right, up: above } = basisOf(camera);
  const tangent = Math.tan((camera.fov * Math.PI) / 360);
  const [acrossHome, upHome] = [tangent * aspect * HOME_SHARE[0], tangent * HOME_SHARE[1]];
  const distances = cornersOf(edges).map((corner) => {
    const across = Math.max(Math.abs(dot(corner, right)) / acrossHome, Math.abs(dot(corner, above)) / upHome);
    return across - dot(corner, forward);
  });
  return { ...camera, distance: Math.max(...distances) };
}

/** Where nothing is known of the grid. */
const CUBE: Vec3 = [1, 1, 1];
/** Shares of the picture's width and height that the box takes in the first view at most. */
const HOME_SHARE = [0.75, 0.84] as const;

/** Of a box centred at the origin. */
function cornersOf(edges: Vec3): Vec3[] {
  const sides = [-0.5, 0.5];
  return sides.flatMap((x) => sides.flatMap((y) => sides.map((z): Vec3 => [x * edges[0], y * edges[1], z * edges[2]])));
}

const STEEPEST = 89;
const FARTHEST = 40;

/** Eye and orthonormal directions of a camera. */
export interface Basis {
  readonly eye: Vec3;
  readonly forward: Vec3;
  readonly right: Vec3;
  readonly up: Vec3;
}

/** Unit vector upwards. */
export function verticalOf({ up }: Camera): Vec3 {
  return inWorld(up, [0, 1, 0]);
}

/** World coordinates of what lies so far to the right, upwards, and towards who looks from the front. */
function inWorld(up: Up, [right, above, near]: Vec3): Vec3 {
  return up === "y" ? [right, above, near] : [right, -near, above];
}

export function basisOf(camera: Camera): Basis {
  const azimuth = (camera.azimuth * Math.PI) / 180;
  const elevation = (camera.elevation * Math.PI) / 180;
  const out = inWorld(camera.up, [
    Math.cos(elevation) * Math.sin(azimuth),
    Math.sin(elevation),
    Math.cos(elevation) * Math.cos(azimuth),
  ]);
  const forward: Vec3 = [-out[0], -out[1], -out[2]];
  const right = normalise(cross(forward, verticalOf(camera)));
  return { eye: add(camera.target, scale(out, camera.distance)), forward, right, up: cross(right, forward) };
}

/** Whether two cameras see the axes of a box as long: messages have them in single precision. */
export function seesSameBox(one: Camera, other: Camera): boolean {
  return one.stretch.every((times, axis) => Math.fround(times) === Math.fround(other.stretch[axis]));
}

/** Whether two parts of a box are the same: messages have them in single precision. */
export function isSameCrop(one: Crop, other: Crop): boolean {
  return one.every((part, axis) => part.every((share, end) => Math.fround(share) === Math.fround(other[axis][end])));
}

/** Whether all of a part of a box lies in another one. */
export function isWithin(inner: Crop, outer: Crop): boolean {
  return inner.every(([from, to], axis) => {
    const [least, most] = outer[axis].map(Math.fround);
    return Math.fround(from) >= least && Math.fround(to) <= most;
  });
}

/** The same camera where the box has other edges: it looks at the same place of it, or as far outside. */
export function restretched(camera: Camera, stretch: Vec3, before: Vec3, after: Vec3): Camera {
  const moved = (axis: 0 | 1 | 2) => {
    const inside = Math.min(before[axis] / 2, Math.max(-before[axis] / 2, camera.target[axis]));
    return withinReach(camera.target[axis] + inside * (after[axis] / before[axis] - 1));
  };
  return { ...camera, stretch, target: [moved(0), moved(1), moved(2)] };
}

/** What a camera may look at, along one axis. */
function withinReach(n: number): number {
  return Math.min(FARTHEST_TARGET, Math.max(-FARTHEST_TARGET, n));
}

/** A key view, and how many rays it has per row and column. */
export interface KeyRays {
  readonly camera: Camera;
  readonly rays: readonly [number, number];
}

/** Eye and directions of a key view, and half the width and height of its picture at distance 1. */
export function keyBasis({ camera, rays }: KeyRays): Basis & { readonly tangents: readonly [number, number] } {
  const tangent = Math.tan((camera.fov * Math.PI) / 360);
  return { ...basisOf(camera), tangents: [(tangent * rays[0]) / rays[1], tangent] };
}

export function orbit(camera: Camera, azimuth: number, elevation: number): Camera {
  const turned = (((camera.azimuth + azimuth) % 360) + 360) % 360;
  const risen = Math.min(STEEPEST, Math.max(-STEEPEST, camera.elevation + elevation));
  return { ...camera, azimuth: turned, elevation: risen };
}

/** Moves the target by fractions of the picture's height, right and up. */
export function pan(camera: Camera, right: number, up: number): Camera {
  const basis = basisOf(camera);
  const height = 2 * camera.distance * Math.tan((camera.fov * Math.PI) / 360);
  const moved = add(camera.target, add(scale(basis.right, right * height), scale(basis.up, up * height)));
  return { ...camera, target: [withinReach(moved[0]), withinReach(moved[1]), withinReach(moved[2])] };
}

export function zoom(camera: Camera, factor: number): Camera {
  return { ...camera, distance: Math.min(FARTHEST, Math.max(NEAREST, camera.distance * factor)) };
}

/** Angle between the directions from which two cameras see their targets, degrees. */
export function angleBetween(a: Camera, b: Camera): number {
  const cosine = dot(basisOf(a).forward, basisOf(b).forward);
  return (Math.acos(Math.min(1, Math.max(-1, cosine))) * 180) / Math.PI;
}

export function add(a: Vec3, b: Vec3): Vec3 {
  return [a[0] + b[0], a[1] + b[1], a[2] + b[2]];
}

export function scale(a: Vec3, by: number): Vec3 {
  return [a[0] * by, a[1] * by, a[2] * by];
}

export function dot(a: Vec3, b: Vec3): number {
  return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

export function cross(a: Vec3, b: Vec3): Vec3 {
  return [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]];
}

function normalise(a: Vec3): Vec3 {
  return scale(a, 1 / Math.sqrt(dot(a, a)));
}
