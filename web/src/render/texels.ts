import { numberFromHalf } from "../wire/index";
import { drawsInSoftware, type Gl } from "./gl";

/** What textures of values are made of, and how half floats become that. */
export interface Texels {
  readonly format: GLenum;
  readonly type: GLenum;
  of(halves: Uint16Array<ArrayBuffer>): Uint16Array<ArrayBuffer> | Float32Array<ArrayBuffer>;
}

/** Of keyframes: half floats, the least memory; where the processor draws single floats. Bricks are half floats everywhere. */
export function scalarTexels(gl: Gl): Texels {
  const needed = ["OES_texture_float_linear", "EXT_color_buffer_float"];
  const isFetchedByProcessor = drawsInSoftware(gl) && needed.every((name) => gl.getExtension(name) !== null);
  if (!isFetchedByProcessor) return { format: gl.R16F, type: gl.HALF_FLOAT, of: (halves) => halves };
  return { format: gl.R32F, type: gl.FLOAT, of: singles };
}

const numbers = Float32Array.from({ length: 1 << 16 }, (_, half) => numberFromHalf(half));

function singles(halves: Uint16Array): Float32Array<ArrayBuffer> {
  const floats = new Float32Array(halves.length);
  for (let i = 0; i < floats.length; i++) floats[i] = numbers[halves[i]];
  return floats;
}
