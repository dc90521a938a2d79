/** Starts, suspends and kills `visapult view`. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";

const binary = process.env.VISAPULT ?? fileURLToPath(new URL("../../target/release/visapult", import.meta.url));

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
