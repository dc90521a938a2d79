/** Opens a page in a headless browser and prints how many steps it shows: node count_steps.mjs URL SECONDS [PICTURE] */
import { hasPicture, launch } from "../tests/e2e/browser.mjs";

const [url, seconds, picture] = process.argv.slice(2);
const browser = await launch();
try {
  const page = await browser.newPage({ viewport: { width: 1024, height: 768 } });
  await page.goto(url);
  await hasPicture(page);
  const shown = await page.evaluate(
    (span) =>
      new Promise((resolve) => {
        const steps = new Set();
        const until = performance.now() + span * 1000;
        const look = () => {
          steps.add(window.visapult.shown.step);
          if (performance.now() < until) requestAnimationFrame(look);
          else resolve(steps.size);
        };
        look();
      }),
    Number(seconds),
  );
  if (picture) await page.screenshot({ path: picture });
  console.log(shown);
} finally {
  await browser.close();
}
