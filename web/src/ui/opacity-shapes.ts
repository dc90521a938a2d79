import type { OpacityPoint } from "../volume/index";

/** Opacities that are chosen by name. Of a solid box one sees the faces: cropped, it is cut as by planes. */
export const OPACITY_SHAPES: Readonly<Record<string, readonly OpacityPoint[]>> = {
  solid: [
    [0, 1],
    [1, 1],
  ],
  rising: [
    [0, 0],
    [1, 0.5],
  ],
  falling: [
    [0, 0.5],
    [1, 0],
  ],
};

/** The name of an opacity that has one. */
export function shapeOf(opacity: readonly OpacityPoint[]): string | null {
  const isSame = (points: readonly OpacityPoint[]) =>
    points.length === opacity.length && points.every(([s, a], i) => s === opacity[i][0] && a === opacity[i][1]);
  return Object.keys(OPACITY_SHAPES).find((name) => isSame(OPACITY_SHAPES[name])) ?? null;
}
