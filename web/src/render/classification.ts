import {
  CELL_EDGE,
  ColourTable,
  emptyDistances,
  TABLE_ENTRIES,
  type TransferFunction,
  tableIndexing,
} from "../volume/index";
import type { BrickSet } from "./brick-sets";
import { type Gl, resetUnpacking, setSampling } from "./gl";

/** The transfer function and the empty space it makes, as textures; brought up to date before drawing. */
export class Classification {
  readonly #gl: Gl;
  readonly colours: WebGLTexture;
  readonly distances: WebGLTexture;
  #table: { transfer: TransferFunction; dt: number; table: ColourTable } | null = null;
  #skipping: { set: BrickSet; table: ColourTable } | null = null;

  constructor(gl: Gl) {
    this.#gl = gl;
    this.colours = gl.createTexture();
    this.distances = gl.createTexture();
  }

  update(set: BrickSet, transfer: TransferFunction, dt: number): void {
    if (this.#table?.transfer !== transfer || this.#table.dt !== dt) {
      this.#table = { transfer, dt, table: new ColourTable(transfer, dt) };
      this.#uploadColours(this.#table.table);
    }
    const { table } = this.#table;
    if (this.#skipping?.set !== set || this.#skipping.table !== table) {
      this.#skipping = { set, table };
      this.#uploadDistances(set, emptyDistances(set.ranges, table, tableIndexing(transfer, set.lo, set.hi)));
    }
  }

  /** Macrocells per texture edge, fractional where a level ends within one. */
  static cellsPerTexture(set: BrickSet): readonly [number, number, number] {
    return [set.size[0] / CELL_EDGE, set.size[1] / CELL_EDGE, set.size[2] / CELL_EDGE];
  }

  #uploadColours(table: ColourTable): void {
    const gl = this.#gl;
    resetUnpacking(gl);
    gl.activeTexture(gl.TEXTURE0);
    gl.bindTexture(gl.TEXTURE_2D, this.colours);
    gl.texImage2D(gl.TEXTURE_2D, 0, gl.RGBA32F, TABLE_ENTRIES + 1, 1, 0, gl.RGBA, gl.FLOAT, table.texels);
    setSampling(gl, gl.TEXTURE_2D, gl.NEAREST);
  }

  #uploadDistances(set: BrickSet, distances: Uint8Array): void {
    const gl = this.#gl;
    const [nx, ny, nz] = set.ranges.size;
    resetUnpacking(gl);
    gl.activeTexture(gl.TEXTURE0);
    gl.bindTexture(gl.TEXTURE_3D, this.distances);
    gl.texImage3D(gl.TEXTURE_3D, 0, gl.R8UI, nx, ny, nz, 0, gl.RED_INTEGER, gl.UNSIGNED_BYTE, distances);
    setSampling(gl, gl.TEXTURE_3D, gl.NEAREST);
  }
}
