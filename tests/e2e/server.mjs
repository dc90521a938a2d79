/** Starts, suspends and kills `visapult view`, and simulations for it to look at. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";

const built = (path) => fileURLToPath(new URL(`../../target/release/${path}`, import.meta.url));
export const binary = process.env.VISAPULT ?? built("visapult");
const steered = process.env.STEERED ?? built("examples/steered");

/** `port` 0 takes a free one. Resolves when the URL is printed. */
export async function startServer(source, port = 0, ...options) {
  const { child, said } = start(["view", source, "--port", String(port), ...options]);
  const watch = said(/(?<=not steer opens )\S+/);
  // Only where a simulation is shown.
  watch.catch(() => {});
  return {
    url: new URL(await said(/^http:\/\/127\.0\.0\.1:\d+\/\?token=[\w-]+/)),
    watchUrl: async () => new URL(await watch),
    ...controls(child),
  };
}

/** A back end that waits for a simulation: resolves with the URL to publish to; `page()` with its page's. */
export async function startBackEnd(...options) {
  const { child, said } = start(["backend", "--listen", "127.0.0.1:0", "--port", "0", ...options]);
  const page = said(/^http:\/\/127\.0\.0\.1:\d+\/\?token=[\w-]+/);
  // Whoever asks is told.
  page.catch(() => {});
  const url = await said(/^ripp:\/\/\S+/);
  return { url, page: async () => new URL(await page), ...controls(child) };
}

/** `said`: resolves with the first words that fit a pattern. */
function start(words) {
  const child = spawn(binary, [...words, "--no-open"], { stdio: ["ignore", "pipe", "pipe"] });
  const lines = createInterface({ input: child.stdout });
  const remarks = createInterface({ input: child.stderr });
  remarks.on("line", (line) => console.error(line));
  const said = (pattern) =>
    new Promise((resolve, reject) => {
      for (const told of [lines, remarks])
        told.on("line", (line) => {
          const found = line.match(pattern);
          if (found) resolve(found[0]);
        });
      child.once("exit", (code) => reject(new Error(`${binary} ended with ${code} before it printed a URL`)));
      child.once("error", reject);
    });
  return { child, said };
}

function controls(child) {
  return {
    suspend: () => child.kill("SIGSTOP"),
    resume: () => child.kill("SIGCONT"),
    /** Ends it in order. */
    end: () => stop(child, "SIGINT"),
    kill: () => stop(child, "SIGKILL"),
  };
}

async function stop(child, signal) {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const gone = once(child, "exit");
  child.kill(signal);
  await gone;
}

/** A rank of a simulation that publishes to the back end at `url`. */
export function startRank(url, rank, ranks) {
  return controls(spawn(steered, [url, `${rank}/${ranks}`], { stdio: ["ignore", "ignore", "inherit"] }));
}

/** A simulation that can be steered. Resolves when its URL is printed; `lines` grows with what it prints after that. */
export async function startSteered() {
  const child = spawn(steered, [], { stdio: ["ignore", "pipe", "inherit"] });
  const ended = once(child, "exit");
  const lines = [];
  const output = createInterface({ input: child.stdout });
  const url = await Promise.race([
    once(output, "line").then(([line]) => line),
    ended.then(([code]) => Promise.reject(new Error(`${steered} ended with ${code} before it printed a URL`))),
  ]);
  output.on("line", (line) => lines.push(line));
  return {
    url,
    lines,
    /** Resolves when it has printed `line`. */
    async says(line) {
      const signal = AbortSignal.timeout(30_000);
      while (!lines.includes(line)) await once(output, "line", { signal });
    },
    /** Resolves with its exit status. */
    ended: Promise.all([ended, once(output, "close")]).then(([[code]]) => code),
    ...controls(child),
  };
}
