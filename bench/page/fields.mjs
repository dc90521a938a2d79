/** The volumes both renderers are shown: 256^3 float32 in [0, 1], `[z, y, x]`. */

export const EDGE = 256;

const shapes = {
  /** Concentric waves around a moving centre. */
  waves: (x, y, z) => 0.5 + 0.5 * Math.cos(40 * Math.hypot(x, y, z) + 3 * x) * Math.exp(-2 * Math.hypot(x, y, z)),
  /** Three merging blobs, most of the box empty. */
  blobs: (x, y, z) =>
    Math.min(
      1,
      bump(x - 0.12, y, z, 60) + 0.8 * bump(x + 0.15, y - 0.1, z + 0.05, 90) + 0.6 * bump(x, y + 0.2, z - 0.12, 120),
    ),
  /** Five octaves of value noise, the box full. */
  turbulence: (x, y, z) => {
    let [sum, weight] = [0, 0.5];
    for (let octave = 0, f = 4; octave < 5; octave++, f *= 2, weight *= 0.55)
      sum += weight * noise((x + 0.5) * f, (y + 0.5) * f, (z + 0.5) * f);
    return Math.min(1, sum);
  },
};

export const names = Object.keys(shapes);

export function makeField(name) {
  const values = new Float32Array(EDGE ** 3);
  const at = (i) => i / (EDGE - 1) - 0.5;
  let i = 0;
  for (let z = 0; z < EDGE; z++) {
    for (let y = 0; y < EDGE; y++) for (let x = 0; x < EDGE; x++) values[i++] = shapes[name](at(x), at(y), at(z));
  }
  return values;
}

/** A `.npy` file of the values. */
export function npy(values) {
  const text = `{'descr': '<f4', 'fortran_order': False, 'shape': (${EDGE}, ${EDGE}, ${EDGE}), }`;
  const header = `${text.padEnd(Math.ceil((text.length + 11) / 64) * 64 - 11)}\n`;
  const head = Buffer.alloc(10);
  head.write("\x93NUMPY\x01\x00", 0, "latin1");
  head.writeUInt16LE(header.length, 8);
  return Buffer.concat([head, Buffer.from(header, "latin1"), Buffer.from(values.buffer)]);
}

function bump(x, y, z, sharpness) {
  return Math.exp(-sharpness * (x * x + y * y + z * z));
}

function noise(x, y, z) {
  const [x0, y0, z0] = [Math.floor(x), Math.floor(y), Math.floor(z)];
  const smooth = (t) => t * t * (3 - 2 * t);
  const [u, v, w] = [smooth(x - x0), smooth(y - y0), smooth(z - z0)];
  const mix = (a, b, t) => a + (b - a) * t;
  const row = (dy, dz) => mix(random(x0, y0 + dy, z0 + dz), random(x0 + 1, y0 + dy, z0 + dz), u);
  return mix(mix(row(0, 0), row(1, 0), v), mix(row(0, 1), row(1, 1), v), w);
}

function random(x, y, z) {
  let h = Math.imul(x, 374761393) ^ Math.imul(y, 668265263) ^ Math.imul(z, 2147483647 - 83492791);
  h = Math.imul(h ^ (h >>> 13), 1274126177);
  return ((h ^ (h >>> 16)) >>> 0) / 2 ** 32;
}
