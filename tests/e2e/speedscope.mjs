/** A trace file as speedscope, a viewer that we did not write, understands it. */
import { readFile } from "node:fs/promises";
import { createServer } from "node:http";
import { createRequire } from "node:module";
import { dirname, extname, join } from "node:path";

const require = createRequire(new URL("../../web/package.json", import.meta.url));
const viewer = join(dirname(require.resolve("speedscope/package.json")), "dist/release");
const types = { ".html": "text/html", ".js": "text/javascript", ".css": "text/css" };

/** Opens `file` in the viewer and resolves with what it exports: one profile for each row, its events in pairs of opened and closed. */
export async function openInSpeedscope(browser, file) {
  const server = createServer(async (request, response) => {
    const path = new URL(request.url, "http://localhost").pathname;
    const content = await readFile(path === "/trace.json" ? file : join(viewer, path)).catch(() => null);
    response.writeHead(content ? 200 : 404, { "content-type": types[extname(path)] ?? "application/octet-stream" });
    response.end(content);
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  try {
    const address = `http://127.0.0.1:${server.address().port}`;
    const page = await browser.newPage();
    await page.goto(`${address}/index.html#profileURL=${encodeURIComponent(`${address}/trace.json`)}`);
    const button = page.getByText("Export");
    await button.waitFor();
    const [download] = await Promise.all([page.waitForEvent("download"), button.click()]);
    return JSON.parse(await readFile(await download.path(), "utf8"));
  } finally {
    server.closeAllConnections();
    server.close();
  }
}
