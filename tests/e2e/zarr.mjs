/** Writes float32 values as Zarr groups. */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";

/** Fields by their names: `valueAt(x, y, z)` for each of `edge` samples an axis, and a unit. */
export function writeZarr(folder, edge, fields) {
  const shape = [edge, edge, edge];
  const say = (name, what) => writeFileSync(join(folder, name), JSON.stringify(what));
  mkdirSync(folder);
  say(".zgroup", { zarr_format: 2 });
  for (const [name, { unit, valueAt }] of Object.entries(fields)) {
    mkdirSync(join(folder, name));
    const about = { zarr_format: 2, shape, chunks: shape, dtype: "<f4", order: "C" };
    say(`${name}/.zarray`, { ...about, compressor: null, fill_value: 0, filters: null });
    say(`${name}/.zattrs`, { units: unit });
    const at = (i) => valueAt(i % edge, Math.floor(i / edge) % edge, Math.floor(i / edge ** 2));
    const values = new Float32Array(edge ** 3).map((_, i) => at(i));
    writeFileSync(join(folder, name, "0.0.0"), Buffer.from(values.buffer));
  }
  return folder;
}
