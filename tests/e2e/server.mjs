/** Starts, suspends and kills `visapult view`, and simulations for it to look at. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";

const built = (path) => fileURLToPath(new URL(`../../target/release/${path}`, import.meta.url));
const binary = process.env.VISAPULT ?? built("visapult");
const steered = process.env.STEERED ?? built("examples/steered");

/** `port` 0 takes a free one. Resolves when the URL is printed. */
export async function startServer(source, port = 0) {
  const child = spawn(binary, ["view", source, "--port", String(port), "--no-open"], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const lines = createInterface({ input: child.stdout });
  const url = await new Promise((resolve, reject) => {
    lines.on("line", (line) => {
      const found = line.match(/http:\/\/127\.0\.0\.1:\d+\/\?token=\w+/);
      if (found) resolve(new URL(found[0]));
    });
    child.once("exit", (code) => reject(new Error(`${binary} ended with ${code} before it printed a URL`)));
    child.once("error", reject);
  });
  return {
    url,
    suspend: () => child.kill("SIGSTOP"),
    resume: () => child.kill("SIGCONT"),
    async kill() {
      if (child.exitCode !== null || child.signalCode !== null) return;
      const gone = once(child, "exit");
      child.kill("SIGKILL");
      await gone;
    },
  };
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
    suspend: () => child.kill("SIGSTOP"),
    resume: () => child.kill("SIGCONT"),
    /** Resolves with its exit status. */
    ended: Promise.all([ended, once(output, "close")]).then(([[code]]) => code),
    kill() {
      if (child.exitCode === null && child.signalCode === null) child.kill("SIGKILL");
    },
  };
}
