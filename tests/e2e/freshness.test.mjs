/** What the page says of a step of which not all has come: whose part is missing, what share is fresh, how old it is. */
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { hasPicture, keep, launch, openPage, statistic, until } from "./browser.mjs";
import { startBackEnd, startRank } from "./server.mjs";

describe("a simulation of which a rank is killed", () => {
  let backEnd;
  let ranks = [];
  let browser;
  let page;

  before(async () => {
    backEnd = await startBackEnd();
    browser = await launch();
    page = await openPage(browser, await backEnd.page(), { query: { stills: "0" } });
  });

  after(async () => {
    await browser?.close();
    await Promise.all([backEnd, ...ranks].map((process) => process?.kill()));
  });

  const says = (words) => page.getByRole("status").filter({ hasText: words });

  test("a page that is opened before the simulation says so, and shows it when it comes", async () => {
    await says("No simulation has come yet").waitFor();
    await keep(page, "freshness-waiting");
    ranks = [0, 1].map((rank) => startRank(backEnd.url, rank, 2));
    await hasPicture(page);
    await says("No simulation has come yet").waitFor({ state: "detached" });
  });

  test("while all is there, it says how old a step is, and that all of it is fresh", async () => {
    await statistic(page, "Fresh").filter({ hasText: "100 % of this step" }).waitFor();
    assert.match(await statistic(page, "Age").textContent(), /^[\d.]+ s$/);
    assert.equal(await page.locator(".missing").textContent(), "");
  });

  test("it names the rank that is gone and the step that its part is of, and the others go on", async () => {
    await ranks[1].kill();
    await says("rank 1 of 2 is missing: its part is of step").waitFor();
    const stepOfPart = async () => Number((await page.locator(".missing").textContent()).match(/of step (\d+)$/)[1]);
    // What it had sent before may still be on its way.
    await until(page, (v, n) => v.shown.step > n + 10, await stepOfPart());
    const step = await stepOfPart();
    await until(page, (v, n) => v.shown.step > n + 20, step);
    await statistic(page, "Fresh").filter({ hasText: "50.0 % of this step" }).waitFor();
    await says("running, 1 of 2 ranks missing").waitFor();
    await keep(page, "freshness-missing");
    // Its part does not grow younger.
    assert.equal(await stepOfPart(), step);
  });

  test("when the last one has gone, all are missing, and the last step stays", async () => {
    await ranks[0].kill();
    await says("ranks 0 and 1 of 2 are missing").waitFor();
    await says(/gone, last step \d+$/).waitFor();
    await page.getByRole("button", { name: "Live" }).and(page.getByTitle("The simulation is gone")).waitFor();
    const pause = page.getByRole("button", { name: "Pause the simulation" });
    assert.ok(await pause.isDisabled());
    assert.match(await pause.getAttribute("title"), /^The simulation is gone/);
    await keep(page, "freshness-gone");
  });

  test("when they come back, it runs again", async () => {
    ranks = [0, 1].map((rank) => startRank(backEnd.url, rank, 2));
    await says(/(^|, )running$/).waitFor();
    await page.getByRole("button", { name: "Live" }).and(page.getByTitle("Follow the newest step")).waitFor();
  });

  test("nothing on the page failed", () => {
    assert.deepEqual(page.errors, []);
  });
});
