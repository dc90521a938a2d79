import { numberFromHalf } from "../wire/index";
import { drawsInSoftware, type Gl } from "./gl";

/** What textures of values are made of, and how half floats become that. */
export interface Texels {
  readonly format: GLenum;
  readonly type: GLenum;
  of(halves: Uint16Array<ArrayBuffer>): Uint16Array<ArrayBuffer> | Float32Array<ArrayBuffer>;
}

/** Whether textures of 32-bit floats can be interpolated in and drawn into. */
export function hasSingles(gl: Gl): boolean {
  const needed = ["OES_texture_float_linear", "EXT_color_buffer_float"];
  return needed.every((name) => gl.getExtension(name) !== null);
}

/** Of keyframes: half floats, the least memory; where the processor draws single floats. */
export function scalarTexels(gl: Gl): Texels {
  if (!drawsInSoftware(gl) || !hasSingles(gl)) return { format: gl.R16F, type: gl.HALF_FLOAT, of: (halves) => halves };
  return { format: gl.R32F, type: gl.FLOAT, of: singles };
}

const numbers = Float32Array.from({ length: 1 << 16 }, (_, half) => numberFromHalf(half));

function singles(halves: Uint16Array): Float32Array<ArrayBuffer> {
  const floats = new Float32Array(halves.length);
  for (let i = 0; i < floats.length; i++) floats[i] = numbers[halves[i]];
  return floats;
}
