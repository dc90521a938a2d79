/** Frame rate of the page beside vtk.js: same volume, camera, transfer function and sampling step, software WebGL2, alternating. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { createServer } from "node:http";
import { cpus, loadavg, tmpdir } from "node:os";
import { extname, join } from "node:path";
import { chromium } from "playwright-core";
import { startServer } from "../../tests/e2e/server.mjs";
import { EDGE, makeField, names, npy } from "./fields.mjs";

const ROUNDS = 5;
const FRAMES = 6;
/** What an arrow key turns the page by. */
const TURN_DEG = 5;
const COLOURS = [
  [0, 0.27, 0, 0.33],
  [0.25, 0.23, 0.32, 0.55],
  [0.5, 0.13, 0.57, 0.55],
  [0.75, 0.37, 0.79, 0.38],
  [1, 0.99, 0.91, 0.14],
];
const OPACITY = {
  waves: [
    [0, 0],
    [0.62, 0],
    [0.66, 0.5],
    [0.7, 0],
    [0.8, 0],
    [1, 0.4],
  ],
  blobs: [
    [0, 0],
    [0.1, 0],
    [1, 0.3],
  ],
  turbulence: [
    [0, 0],
    [0.45, 0],
    [0.8, 0.3],
    [1, 0.5],
  ],
};

const folder = mkdtempSync(join(tmpdir(), "visapult-bench-"));
const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
  args: ["--no-sandbox", "--use-gl=angle", "--use-angle=gl-egl", "--ignore-gpu-blocklist"],
});
const rows = [];
let renderer = "";
for (const name of process.argv[2] ? [process.argv[2]] : names) rows.push(await compare(name));
await browser.close();
rmSync(folder, { recursive: true, force: true });
report();

async function compare(name) {
  const values = makeField(name);
  const path = join(folder, `${name}.npy`);
  writeFileSync(path, npy(values));
  const server = await startServer(path);
  const peerServer = await servePeer(values);
  const pages = {
    draft: await openOurs(server.url, OPACITY[name], "1"),
    exact: await openOurs(server.url, OPACITY[name], "0"),
    peer: await openPeer(peerServer.url, OPACITY[name]),
  };
  const psnr = await similarity(pages.exact, pages.peer);
  // Nothing but the page draws: no stills are made meanwhile.
  server.suspend();
  const rounds = [];
  for (let round = 0; round < ROUNDS; round++) {
    rounds.push({
      draft: await spinOurs(pages.draft),
      exact: await spinOurs(pages.exact),
      peer: await spinPeer(pages.peer, 30 + TURN_DEG * (FRAMES + 1) * round),
    });
  }
  server.resume();
  for (const page of Object.values(pages)) await page.close();
  peerServer.close();
  await server.kill();
  const times = (who) => summary(rounds.map((round) => round[who]));
  const ratio = (who) => summary(rounds.map((round) => round.peer / round[who]));
  const row = {
    name,
    psnr,
    ms: { draft: times("draft"), exact: times("exact"), peer: times("peer") },
    ratio: { draft: ratio("draft"), exact: ratio("exact") },
  };
  console.log(JSON.stringify(row));
  return row;
}

async function openOurs(url, opacity, drafts) {
  const page = await browser.newPage({ viewport: { width: 1024, height: 768 } });
  const address = new URL(url);
  for (const [key, value] of [
    ["test", "1"],
    ["resolution", "full"],
    ["stills", "0"],
    ["drafts", drafts],
  ])
    address.searchParams.set(key, value);
  const list = (points) => points.map((point) => point.join(",")).join(";");
  address.hash = `view=30,20,3,30&panel=0&proxy=bricks&range=0,1&map=${list(COLOURS)}&opacity=${list(opacity)}`;
  await page.goto(address.href);
  const ready = () =>
    page.evaluate(
      () =>
        window.visapult?.shown.level === 0 &&
        document.querySelector("canvas.picture").width === 1024 &&
        document.querySelector("canvas.picture").height,
    );
  for (;;) {
    const height = await ready();
    if (height === 768) break;
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
  await page.keyboard.press("a");
  await new Promise((resolve) => setTimeout(resolve, 3000));
  renderer = await page.evaluate(() => {
    const gl = document.createElement("canvas").getContext("webgl2");
    return gl.getParameter(gl.getExtension("WEBGL_debug_renderer_info").UNMASKED_RENDERER_WEBGL);
  });
  return page;
}

async function openPeer(url, opacity) {
  const page = await browser.newPage({ viewport: { width: 1024, height: 768 } });
  await page.goto(url);
  await page.evaluate(([edge, colours, points]) => window.setUp(edge, colours, points), [EDGE, COLOURS, opacity]);
  await page.evaluate(() => window.draw(30));
  return page;
}

/** Milliseconds a frame while the view turns five degrees a frame, the last one finished; back when the page is at rest again. */
async function spinOurs(page) {
  await page.bringToFront();
  const ms = await page.evaluate(async (count) => {
    const v = window.visapult;
    const stage = document.querySelector(".stage");
    const gl = document.querySelector("canvas.picture").getContext("webgl2");
    const turn = async () => {
      const before = v.frameCount;
      stage.dispatchEvent(new KeyboardEvent("keydown", { key: "ArrowRight", bubbles: true, cancelable: true }));
      while (v.frameCount === before) await new Promise((resolve) => requestAnimationFrame(resolve));
    };
    const finish = () => gl.readPixels(0, 0, 1, 1, gl.RGBA, gl.UNSIGNED_BYTE, new Uint8Array(4));
    await turn();
    finish();
    const begin = performance.now();
    for (let i = 0; i < count; i++) await turn();
    finish();
    return (performance.now() - begin) / count;
  }, FRAMES);
  await page.waitForFunction(() => window.visapult.shown.precision === "exact");
  return ms;
}

/** The same for vtk.js, from azimuth `from` (degrees): it turns through the views that the page turns through. */
async function spinPeer(page, from) {
  await page.bringToFront();
  return page.evaluate(([from, by, count]) => window.spin(from, by, count), [from, TURN_DEG, FRAMES]);
}

/** PSNR of the two pictures of the first view, dB: both must show the same thing. */
async function similarity(ours, peer) {
  const theirs = await peer.evaluate(() => {
    window.draw(30);
    return document.querySelector("canvas").toDataURL("image/png");
  });
  return ours.evaluate(async (address) => {
    const image = new Image();
    image.src = address;
    await image.decode();
    const pixels = (source) => {
      const canvas = document.createElement("canvas");
      [canvas.width, canvas.height] = [1024, 768];
      const context = canvas.getContext("2d");
      context.fillRect(0, 0, 1024, 768);
      context.drawImage(source, 0, 0);
      return context.getImageData(0, 0, 1024, 768).data;
    };
    const [a, b] = [pixels(document.querySelector("canvas.picture")), pixels(image)];
    let sum = 0;
    for (let i = 0; i < a.length; i++) if (i % 4 !== 3) sum += (a[i] - b[i]) ** 2;
    return 10 * Math.log10(255 ** 2 / (sum / ((a.length * 3) / 4)));
  }, theirs);
}

async function servePeer(values) {
  const types = { ".html": "text/html", ".js": "text/javascript" };
  const server = createServer(async (request, response) => {
    const path = new URL(request.url, "http://x").pathname;
    if (path.endsWith("/field.f32")) return response.end(Buffer.from(values.buffer));
    try {
      const file = new URL(`./dist${path === "/" ? "/index.html" : path.replaceAll("..", "")}`, import.meta.url);
      const body = await readFile(file);
      return response.setHeader("content-type", types[extname(file.pathname)] ?? "application/octet-stream").end(body);
    } catch {
      return response.writeHead(404).end();
    }
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  return { url: `http://127.0.0.1:${server.address().port}/`, close: () => server.close() };
}

function summary(numbers) {
  const sorted = [...numbers].sort((a, b) => a - b);
  return { median: sorted[sorted.length >> 1], low: sorted[0], high: sorted[sorted.length - 1] };
}

function report() {
  const rate = ({ median, low, high }) => `${(1000 / median).toFixed(1)} (${low.toFixed(0)}-${high.toFixed(0)} ms)`;
  const times = ({ median, low, high }) => `${median.toFixed(1)} x (${low.toFixed(1)}-${high.toFixed(1)})`;
  const lines = rows.map(({ name, psnr, ms, ratio }) => {
    const rates = [rate(ms.draft), rate(ms.exact), rate(ms.peer)];
    return `| ${[name, ...rates, times(ratio.draft), times(ratio.exact), `${psnr.toFixed(0)} dB`].join(" | ")} |`;
  });
  const text = `# Frame rate of the page, beside vtk.js

Bricks of ${EDGE}^3 at 1024 x 768, full resolution, sampling step 1, turning five degrees a frame; \`make bench-page\`.
${cpus()[0].model}, ${cpus().length} cores, load average ${loadavg()[0].toFixed(1)}, no GPU: ${renderer}.

vtk.js ends a ray at an opacity of 0.99. So does the page in motion where it cannot draw fast enough (\`moving\`); at rest it draws again up to
1 - 1/1024. \`exact\` is the page ending rays there in motion too, more work than vtk.js does.
Both have the next frame submitted while one is drawn; the last one is waited for. Frames per second (least and most milliseconds a frame)
and ratio of frame rates (least and most): medians over ${ROUNDS} rounds of ${FRAMES} frames, alternating. PSNR between the two first pictures, the
page at rest: they show the same thing.

| volume | moving | exact | vtk.js 37.4 | moving / vtk.js | exact / vtk.js | PSNR |
|---|---|---|---|---|---|---|
${lines.join("\n")}
`;
  writeFileSync(new URL("../results/page.md", import.meta.url), text);
  console.log(text);
}
