/** Writes float32 values as .npy files. */
import { writeFileSync } from "node:fs";

/** `valueAt(x, y, z, t)` for each of `n` samples an axis, or of as many along x, y and z; with a leading time axis where there are `steps`. */
export function writeNpy(path, n, valueAt, steps = 0) {
  const [nx, ny, nz] = Array.isArray(n) ? n : [n, n, n];
  const shape = [...(steps ? [steps] : []), nz, ny, nx].join(", ");
  const text = `{'descr': '<f4', 'fortran_order': False, 'shape': (${shape}), }`;
  const header = `${text.padEnd(Math.ceil((text.length + 11) / 64) * 64 - 11)}\n`;
  const head = Buffer.alloc(10);
  head.write("\x93NUMPY\x01\x00", 0, "latin1");
  head.writeUInt16LE(header.length, 8);
  const values = new Float32Array(Math.max(1, steps) * nx * ny * nz);
  let i = 0;
  for (let t = 0; t < Math.max(1, steps); t++) {
    for (let z = 0; z < nz; z++)
      for (let y = 0; y < ny; y++) for (let x = 0; x < nx; x++) values[i++] = valueAt(x, y, z, t);
  }
  writeFileSync(path, Buffer.concat([head, Buffer.from(header, "latin1"), Buffer.from(values.buffer)]));
  return path;
}
