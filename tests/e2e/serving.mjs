/** What tests over a file share: the field, the server that shows it, the browser that looks. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before } from "node:test";
import { launch, openPage } from "./browser.mjs";
import { writeNpy } from "./npy.mjs";
import { startServer } from "./server.mjs";

export const blob = (x, y, z) => Math.exp(-((x - 16) ** 2 + (y - 20) ** 2 + (z - 12) ** 2) / 60);

/** For the tests of the suite around it: a server of a field of `edge`^3 samples, or of as many along x, y and z, in `steps`, a browser, and a folder for what they write. */
export function serving(name, edge, valueAt, steps = 0) {
  const folder = mkdtempSync(join(tmpdir(), "visapult-e2e-"));
  const file = writeNpy(join(folder, `${name}.npy`), edge, valueAt, steps);
  const here = { folder, file, open: (options) => openPage(here.browser, here.server.url, options) };
  before(async () => {
    here.browser = await launch();
    here.server = await startServer(file);
  });
  after(async () => {
    await here.browser?.close();
    here.server?.resume();
    await here.server?.kill();
    rmSync(folder, { recursive: true, force: true });
  });
  return here;
}
