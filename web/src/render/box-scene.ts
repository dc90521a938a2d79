import {
  BufferAttribute,
  BufferGeometry,
  CustomBlending,
  DoubleSide,
  Mesh,
  OneFactor,
  OneMinusSrcAlphaFactor,
  PerspectiveCamera,
  Scene,
  ShaderMaterial,
  Vector2,
  Vector3,
  WebGLRenderer,
} from "three";
import type { Corners, Vec3 } from "../volume/index";
import { basisOf, type Camera, verticalOf } from "./camera";
import type { Gl } from "./gl";
import lineFragment from "./shaders/line.frag.glsl?raw";
import lineVertex from "./shaders/line.vert.glsl?raw";

/** An edge of the box: along which axis, and on which side of the two others. */
export interface Edge {
  readonly axis: 0 | 1 | 2;
  readonly a: Vec3;
  readonly b: Vec3;
  /** How many of its two faces look towards the eye. */
  readonly facing: 0 | 1 | 2;
}

/** Whether edges lie behind the volume or before it. */
export type Side = "far" | "near";

const OPACITY: Readonly<Record<Side, number>> = { far: 0.45, near: 0.55 };

/** The bounding box, drawn by three.js into the page's one WebGL context: far edges before the volume, near ones after it. */
export class BoxScene {
  readonly #renderer: WebGLRenderer;
  readonly #scene = new Scene();
  readonly #material: ShaderMaterial;
  readonly #mesh: Mesh<BufferGeometry, ShaderMaterial>;
  readonly #lines = { far: new Lines(), near: new Lines() };
  readonly camera = new PerspectiveCamera();

  constructor(canvas: HTMLCanvasElement, gl: Gl) {
    this.#renderer = new WebGLRenderer({ canvas, context: gl });
    this.#renderer.autoClear = false;
    this.#renderer.sortObjects = false;
    this.#material = new ShaderMaterial({
      vertexShader: lineVertex,
      fragmentShader: lineFragment,
      uniforms: {
        viewport: { value: new Vector2() },
        width: { value: 1 },
        opacity: { value: 0.5 },
        colour: { value: new Vector3(0.62, 0.66, 0.72) },
      },
      blending: CustomBlending,
      blendSrc: OneFactor,
      blendDst: OneMinusSrcAlphaFactor,
      depthTest: false,
      depthWrite: false,
      side: DoubleSide,
      transparent: true,
    });
    this.#mesh = new Mesh(new BufferGeometry(), this.#material);
    this.#mesh.frustumCulled = false;
    this.#scene.add(this.#mesh);
    // The driver is at it while the page waits for the server.
    this.#renderer.compile(this.#scene, this.camera);
  }

  /** Brings three.js' camera to `camera`. */
  look(camera: Camera, width: number, height: number): void {
    const { eye } = basisOf(camera);
    this.camera.fov = camera.fov;
    this.camera.aspect = width / height;
    this.camera.near = Math.max(1e-3, camera.distance * 1e-3);
    this.camera.far = camera.distance + 20;
    this.camera.position.set(...eye);
    this.camera.up.set(...verticalOf(camera));
    this.camera.lookAt(...camera.target);
    this.camera.updateProjectionMatrix();
    this.camera.updateMatrixWorld();
  }

  /** Call before three.js draws after our own passes. */
  reset(): void {
    this.#renderer.resetState();
  }

  draw(side: Side, edges: readonly Edge[], width: number, height: number, pixelRatio: number): void {
    if (edges.length === 0) return;
    this.#renderer.setViewport(0, 0, width / this.#renderer.getPixelRatio(), height / this.#renderer.getPixelRatio());
    this.#material.uniforms.viewport.value.set(width, height);
    this.#material.uniforms.width.value = Math.max(1, pixelRatio);
    this.#material.uniforms.opacity.value = OPACITY[side];
    this.#mesh.geometry = this.#lines[side].of(edges);
    this.#renderer.render(this.#scene, this.camera);
  }
}

/** The edges that were drawn last on one side: as the view turns, they stay the same for long. */
class Lines {
  #edges: readonly Edge[] = [];
  #geometry = new BufferGeometry();

  of(edges: readonly Edge[]): BufferGeometry {
    if (!areSame(edges, this.#edges)) {
      this.#geometry.dispose();
      this.#edges = edges;
      this.#geometry = segments(edges);
    }
    return this.#geometry;
  }
}

function areSame(edges: readonly Edge[], others: readonly Edge[]): boolean {
  const isAt = (a: Vec3, b: Vec3) => a.every((n, i) => n === b[i]);
  return edges.length === others.length && edges.every(({ a, b }, i) => isAt(a, others[i].a) && isAt(b, others[i].b));
}

/** The twelve edges of a box, as seen from `eye`. */
export function boxEdges(box: Corners, eye: Vec3): readonly Edge[] {
  const ends = [box.lo, box.hi] as const;
  const found: Edge[] = [];
  for (const axis of [0, 1, 2] as const) {
    const [u, v] = [(axis + 1) % 3, (axis + 2) % 3];
    for (const su of [0, 1] as const) {
      for (const sv of [0, 1] as const) {
        const a = [0, 0, 0];
        a[u] = ends[su][u];
        a[v] = ends[sv][v];
        const b = [...a];
        a[axis] = box.lo[axis];
        b[axis] = box.hi[axis];
        const isBeyond = (at: number, end: 0 | 1, face: number) => (end === 1 ? at > face : at < face);
        const seen = Number(isBeyond(eye[u], su, a[u])) + Number(isBeyond(eye[v], sv, a[v]));
        found.push({ axis, a: [a[0], a[1], a[2]], b: [b[0], b[1], b[2]], facing: seen as 0 | 1 | 2 });
      }
    }
  }
  return found;
}

/** Two triangles per edge; `side` is +-1 at its start and +-2 at its end, where the direction to the other end is reversed. */
function segments(edges: readonly Edge[]): BufferGeometry {
  const here: number[] = [];
  const there: number[] = [];
  const side: number[] = [];
  for (const { a, b } of edges) {
    for (const [from, to, s] of [
      [a, b, 1],
      [a, b, -1],
      [b, a, 2],
      [b, a, 2],
      [a, b, -1],
      [b, a, -2],
    ] as const) {
      here.push(...from);
      there.push(...to);
      side.push(s);
    }
  }
  const geometry = new BufferGeometry();
  geometry.setAttribute("position", new BufferAttribute(new Float32Array(here), 3));
  geometry.setAttribute("other", new BufferAttribute(new Float32Array(there), 3));
  geometry.setAttribute("side", new BufferAttribute(new Float32Array(side), 1));
  return geometry;
}
