/** Writes a cube of float32 values as a .npy file. */
import { writeFileSync } from "node:fs";

/** `valueAt(x, y, z)` for each of `n` samples an axis. */
export function writeNpy(path, n, valueAt) {
  const text = `{'descr': '<f4', 'fortran_order': False, 'shape': (${n}, ${n}, ${n}), }`;
  const header = `${text.padEnd(Math.ceil((text.length + 11) / 64) * 64 - 11)}\n`;
  const head = Buffer.alloc(10);
  head.write("\x93NUMPY\x01\x00", 0, "latin1");
  head.writeUInt16LE(header.length, 8);
  const values = new Float32Array(n ** 3);
  let i = 0;
  for (let z = 0; z < n; z++) for (let y = 0; y < n; y++) for (let x = 0; x < n; x++) values[i++] = valueAt(x, y, z);
  writeFileSync(path, Buffer.concat([head, Buffer.from(header, "latin1"), Buffer.from(values.buffer)]));
  return path;
}
