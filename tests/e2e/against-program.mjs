/** What the page shows of a keyframe, beside what the program draws of the same one. */
import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { binary } from "./server.mjs";

/** PSNR of the page's picture against what `visapult render` draws of `file` through a keyframe of `proxy` (of so many `slabs`) made from camera `key`, or exactly. */
export async function decibels(page, { file, folder, proxy, slabs, key }) {
  const { camera, transfer, width, height } = await page.evaluate(async () => {
    const { camera, transferFunction } = window.visapult;
    const { width, height } = await createImageBitmap(await window.visapult.png());
    return { camera, transfer: transferFunction, width, height };
  });
  const [tf, out] = [join(folder, "tf.json"), join(folder, "out.png")];
  writeFileSync(tf, JSON.stringify(transfer));
  const options = {
    "--out": out,
    "--tf": tf,
    "--size": `${width}x${height}`,
    "--az": camera.azimuth,
    "--el": camera.elevation,
    "--distance": camera.distance,
    "--stretch": camera.stretch.join(","),
    "--up": camera.up,
    "--crop": camera.crop.map((part) => part.join(":")).join(","),
    "--proxy": proxy,
    ...(slabs && { "--slabs": slabs }),
    ...(key && { "--key-az": key.azimuth, "--key-el": key.elevation }),
  };
  execFileSync(binary, ["render", file, ...Object.entries(options).flat().map(String)]);
  return page.evaluate(psnr, readFileSync(out).toString("base64"));
}

/** In the page: PSNR over the pixels that are not black in one of the pictures. */
async function psnr(base64) {
  const pixels = async (blob) => {
    const bitmap = await createImageBitmap(blob);
    const context = new OffscreenCanvas(bitmap.width, bitmap.height).getContext("2d");
    context.drawImage(bitmap, 0, 0);
    return context.getImageData(0, 0, bitmap.width, bitmap.height).data;
  };
  const due = await pixels(new Blob([Uint8Array.from(atob(base64), (c) => c.charCodeAt(0))]));
  const shown = await pixels(await window.visapult.png());
  let [sum, count] = [0, 0];
  for (let i = 0; i < due.length; i += 4) {
    const isBlack = (picture) => picture[i] + picture[i + 1] + picture[i + 2] === 0;
    if (isBlack(due) && isBlack(shown)) continue;
    for (let c = i; c < i + 3; c++) sum += (due[c] - shown[c]) ** 2;
    count += 3;
  }
  return 10 * Math.log10((255 ** 2 * count) / sum);
}
