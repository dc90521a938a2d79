/** Opens pages in a browser that runs already, and prints the seconds from what each asks for first to its first picture: node first_step.mjs < URLs */
import { createInterface } from "node:readline";
import { hasPicture, launch } from "../../tests/e2e/browser.mjs";

const browser = await launch();
console.log("ready");
try {
  for await (const url of createInterface({ input: process.stdin })) {
    const page = await browser.newPage({ viewport: { width: 1024, height: 768 } });
    const asked = new Promise((resolve) => {
      page.on("websocket", (socket) => socket.once("framesent", () => resolve(performance.now())));
    });
    await page.goto(url);
    await hasPicture(page);
    const shown = performance.now();
    console.log((shown - (await asked)) / 1000);
    await page.close();
  }
} finally {
  await browser.close();
}
