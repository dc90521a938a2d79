/** Writes float32 values as Zarr groups. */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";

/**
 * Fields by their names: `valueAt(x, y, z)` for each of `edge` samples an axis, and a unit; `scales`: coordinates along all axes by their names, those of
 * steps first, then of z, y, x: values and attributes.
 */
export function writeZarr(folder, edge, fields, scales = {}) {
  const say = (name, what) => writeFileSync(join(folder, name), JSON.stringify(what));
  const put = (name, shape, attributes, values) => {
    mkdirSync(join(folder, name));
    const about = { zarr_format: 2, shape, chunks: shape, dtype: "<f4", order: "C" };
    say(`${name}/.zarray`, { ...about, compressor: null, fill_value: 0, filters: null });
    say(`${name}/.zattrs`, attributes);
    writeFileSync(join(folder, name, shape.map(() => 0).join(".")), Buffer.from(Float32Array.from(values).buffer));
  };
  mkdirSync(folder);
  say(".zgroup", { zarr_format: 2 });
  const dimensions = Object.keys(scales);
  for (const [name, [values, attributes]] of Object.entries(scales))
    put(name, [values.length], { ...attributes, _ARRAY_DIMENSIONS: [name] }, values);
  const steps = dimensions.length > 3 ? [scales[dimensions[0]][0].length] : [];
  for (const [name, { unit, valueAt }] of Object.entries(fields)) {
    const at = (i) => valueAt(i % edge, Math.floor(i / edge) % edge, Math.floor(i / edge ** 2) % edge);
    const values = Array.from({ length: (steps[0] ?? 1) * edge ** 3 }, (_, i) => at(i));
    const named = dimensions.length > 0 ? { _ARRAY_DIMENSIONS: dimensions } : {};
    put(name, [...steps, edge, edge, edge], { units: unit, ...named }, values);
  }
  return folder;
}
