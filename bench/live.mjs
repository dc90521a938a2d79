/**
 * The live wave: steps per second that a page shows while solver, renderer and browser share the machine.
 *
 * Prints a table and writes it to bench/results/live.md. The peer is the solver alone: steps per second that nobody looks at.
 */
import { execFileSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { cpus, release } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { hasPicture, launch } from "../tests/e2e/browser.mjs";
import { startServer } from "../tests/e2e/server.mjs";

const RUNS = Number(process.env.RUNS ?? 5);
const SECONDS = 10;
const SOURCE = "demo:wave?n=128";
const here = fileURLToPath(new URL(".", import.meta.url));
const binary = process.env.VISAPULT ?? join(here, "../target/release/visapult");

/** Counts the steps that the page shows, frame by frame. */
const countSteps = (seconds) =>
  new Promise((resolve) => {
    const shown = new Set();
    const until = performance.now() + seconds * 1000;
    const look = () => {
      shown.add(window.visapult.shown.step);
      if (performance.now() < until) requestAnimationFrame(look);
      else resolve(shown.size / seconds);
    };
    look();
  });

async function stepsShownPerSecond(browser) {
  const server = await startServer(SOURCE);
  const page = await browser.newPage({ viewport: { width: 1024, height: 768 } });
  await page.goto(server.url.href);
  await hasPicture(page);
  const rate = await page.evaluate(countSteps, SECONDS);
  await page.close();
  await server.kill();
  return rate;
}

/** How long the solver takes, unpaced, to come to a step that nobody watches. */
function stepsSolvedPerSecond() {
  const steps = 100;
  const started = performance.now();
  const options = [
    "render",
    `${SOURCE}&rate=1000`,
    "--time-step",
    String(steps),
    "--size",
    "16x16",
    "--out",
    "/dev/null",
  ];
  execFileSync(binary, options, { stdio: "ignore" });
  return steps / ((performance.now() - started) / 1000);
}

const spread = (values) => {
  const sorted = [...values].sort((a, b) => a - b);
  return `${sorted[sorted.length >> 1].toFixed(1)} (${sorted[0].toFixed(1)} to ${sorted[sorted.length - 1].toFixed(1)})`;
};

const browser = await launch();
const shown = [];
const solved = [];
try {
  for (let run = 0; run < RUNS; run++) {
    shown.push(await stepsShownPerSecond(browser));
    solved.push(stepsSolvedPerSecond());
  }
} finally {
  await browser.close();
}
const table = [
  `# The live wave`,
  ``,
  `\`make bench-live\`: \`${SOURCE}\` (paced to 12 steps/s by default), page of 1024 x 768 in headless Chromium with software WebGL2, all on`,
  `${cpus().length} cores of ${cpus()[0].model}, Linux ${release()}; ${RUNS} runs of ${SECONDS} s. Median (least to most).`,
  ``,
  `| | steps/s |`,
  `|---|---|`,
  `| shown by the page | ${spread(shown)} |`,
  `| solved, unpaced, nobody looking | ${spread(solved)} |`,
  ``,
].join("\n");
console.log(table);
mkdirSync(join(here, "results"), { recursive: true });
writeFileSync(join(here, "results/live.md"), table);
