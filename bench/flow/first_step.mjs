/**
 * Opens pages in a browser that runs already. Of each it prints that it waits for a simulation, and once one has come the seconds from the
 * page hearing of it (all ranks are there, and none of their steps is) to the first picture: node first_step.mjs < URLs
 */
import { createInterface } from "node:readline";
import { hasPicture, launch } from "../../tests/e2e/browser.mjs";

const browser = await launch();
console.log("ready");
let last = null;
try {
  for await (const url of createInterface({ input: process.stdin })) {
    await last?.close();
    const page = await browser.newPage({ viewport: { width: 1024, height: 768 } });
    let waits;
    const waiting = new Promise((resolve) => {
      waits = resolve;
    });
    const heard = new Promise((resolve) => {
      page.once("websocket", (socket) => {
        socket.once("framereceived", () => {
          waits();
          socket.once("framereceived", () => resolve(performance.now()));
        });
      });
    });
    await page.goto(url);
    await waiting;
    console.log("waits");
    await hasPicture(page);
    const shown = performance.now();
    console.log((shown - (await heard)) / 1000);
    // What it did reaches the server's trace a little later.
    last = page;
  }
} finally {
  await browser.close();
}
