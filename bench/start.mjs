/**
 * From the command to the picture: `visapult view` on a 256^3 file, in a browser that is already open and at rest.
 *
 * Times run from the start of the process to the first (coarse) and the full-resolution image in the page; the peer is a bare
 * read of the same file by numpy, which is what any viewer must at least do. Prints a table and writes it to bench/results/start.md.
 */
import { execFileSync, spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { cpus, release, tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { hasPicture, launch, until } from "../tests/e2e/browser.mjs";

const RUNS = Number(process.env.RUNS ?? 7);
const EDGE = 256;
/** Chromium is at work for a while whenever it gets a new window: it loads menus of its own. */
const SETTLE_MS = 3000;
const here = fileURLToPath(new URL(".", import.meta.url));
const binary = process.env.VISAPULT ?? join(here, "../target/release/visapult");
const python = process.env.PYTHON ?? "python3";

function makeFile(folder) {
  const path = join(folder, "waves.npy");
  const code = `import sys; sys.path.insert(0, ${JSON.stringify(here)}); import numpy as np, fields; np.save(${JSON.stringify(path)}, fields.waves(${EDGE}))`;
  execFileSync(python, ["-c", code], { stdio: "inherit" });
  return path;
}

function secondsOfNumpyRead(path) {
  const code = `import time; t = time.perf_counter(); import numpy as np; a = np.load(${JSON.stringify(path)}); a.min(); print(time.perf_counter() - t)`;
  return Number(execFileSync(python, ["-c", code], { encoding: "utf8" }));
}

async function measure(browser, path) {
  const page = await browser.newPage({ viewport: { width: 1024, height: 768 } });
  await new Promise((resolve) => setTimeout(resolve, SETTLE_MS));
  const started = performance.now();
  const since = () => (performance.now() - started) / 1000;
  const child = spawn(binary, ["view", path, "--port", "0", "--no-open"], { stdio: ["ignore", "pipe", "inherit"] });
  const url = await new Promise((resolve) => child.stdout.once("data", (data) => resolve(String(data).trim())));
  const listening = since();
  await page.goto(url);
  await hasPicture(page);
  const coarse = since();
  await until(page, (v) => v.shown.level === 0);
  const full = since();
  const status = readFileSync(`/proc/${child.pid}/status`, "utf8");
  const peakMB = Number(status.match(/VmHWM:\s+(\d+)/)[1]) / 1000;
  await page.close();
  child.kill("SIGINT");
  await new Promise((resolve) => child.once("exit", resolve));
  return { listening, coarse, full, peakMB };
}

const spread = (values) => {
  const sorted = [...values].sort((a, b) => a - b);
  const digits = sorted[0] > 20 ? 0 : 2;
  const [low, middle, high] = [sorted[0], sorted[sorted.length >> 1], sorted[sorted.length - 1]];
  return `${middle.toFixed(digits)} (${low.toFixed(digits)} to ${high.toFixed(digits)})`;
};

const folder = mkdtempSync(join(tmpdir(), "visapult-start-"));
const browser = await launch();
try {
  const path = makeFile(folder);
  await measure(browser, path);
  const runs = [];
  const reads = [];
  for (let run = 0; run < RUNS; run++) {
    runs.push(await measure(browser, path));
    reads.push(secondsOfNumpyRead(path));
  }
  const row = (name, values, unit) => `| ${name} | ${spread(values)} ${unit} |`;
  const of = (what) => runs.map((run) => run[what]);
  const table = [
    `# From the command to the picture`,
    ``,
    `\`make bench-start\`: ${EDGE}^3 float32 .npy (${Math.round((EDGE ** 3 * 4) / 1e6)} MB, in the page cache), headless Chromium with software WebGL2,`,
    `1024 x 768, ${RUNS} runs after one; ${cpus()[0].model}, ${cpus().length} cores, Linux ${release()}. Median (least to most).`,
    ``,
    `| from the start of \`visapult view\` | |`,
    `|---|---|`,
    row("listening", of("listening"), "s"),
    row("first, coarse image in the page", of("coarse"), "s"),
    row("full resolution in the page", of("full"), "s"),
    row("most memory of the process", of("peakMB"), "MB"),
    row("beside it: `numpy.load` and `min()`, interpreter running", reads, "s"),
    ``,
  ].join("\n");
  console.log(table);
  mkdirSync(join(here, "results"), { recursive: true });
  writeFileSync(join(here, "results/start.md"), table);
} finally {
  await browser.close();
  rmSync(folder, { recursive: true });
}
