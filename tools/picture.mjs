/**
 * Takes the pictures of pages that documents show: `node tools/picture.mjs URL FILE.png [HASH] [WIDTHxHEIGHT]`.
 *
 * URL: as `visapult view`, `make demo` or `make demo-wan` prints it; HASH: what an address says behind its `#`.
 */
import { hasPicture, launch, openPage } from "../tests/e2e/browser.mjs";

/** For keyframes, the exact picture and statistics to come. */
const MS = 6000;

const [url, file, hash = "", size = "1440x900"] = process.argv.slice(2);
if (!file) {
  console.error("usage: node tools/picture.mjs URL FILE.png [HASH] [WIDTHxHEIGHT]");
  process.exit(2);
}
const [width, height] = size.split("x").map(Number);
const browser = await launch();
try {
  const page = await openPage(browser, url, { hash, width, height });
  await hasPicture(page);
  await page.waitForTimeout(MS);
  await page.screenshot({ path: file });
  for (const error of page.errors) console.error(error);
} finally {
  await browser.close();
}
