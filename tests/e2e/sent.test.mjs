/** How the page comes: compressed, and not again where the browser has it. */
import assert from "node:assert/strict";
import { get } from "node:http";
import { describe, test } from "node:test";
import { gunzipSync } from "node:zlib";
import { blob, serving } from "./serving.mjs";

/** What is answered, as it crosses the wire. */
function ask(address, headers = {}) {
  return new Promise((resolve, reject) => {
    get(address, { headers }, async (answer) => {
      const parts = [];
      for await (const part of answer) parts.push(part);
      resolve({ status: answer.statusCode, headers: answer.headers, body: Buffer.concat(parts) });
    }).on("error", reject);
  });
}

describe("the page on its way", () => {
  const served = serving("sent", 32, blob);

  test("crosses a slow link compressed, and once", async () => {
    const { origin } = served.server.url;
    const page = (await ask(`${origin}/`)).body.toString();
    const [, script] = page.match(/src="\.?\/?(assets\/[^"]*\.js)"/);
    const address = `${origin}/${script}`;
    const plain = await ask(address);
    const small = await ask(address, { "accept-encoding": "gzip" });
    assert.equal(small.headers["content-encoding"], "gzip");
    assert.ok(small.body.length < 0.5 * plain.body.length, `${small.body.length} of ${plain.body.length} bytes`);
    assert.ok(gunzipSync(small.body).equals(plain.body));
    const again = await ask(address, { "accept-encoding": "gzip", "if-none-match": small.headers.etag });
    assert.deepEqual([again.status, again.body.length], [304, 0]);
    assert.equal(again.headers["content-security-policy"], small.headers["content-security-policy"]);
    const other = await ask(address, { "if-none-match": 'W/"0"' });
    assert.equal(other.status, 200);
  });
});
