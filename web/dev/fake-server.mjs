// A stand-in for `visapult view` while working on the page: an analytic, moving volume over the view protocol.
// node dev/fake-server.mjs [--n 128] [--port 5190] [--files STEPS] [--bits 8|16]; then http://127.0.0.1:5190/?token=any (serves dist/)
import { readFile } from "node:fs/promises";
import { createServer } from "node:http";
import { extname } from "node:path";
import { WebSocketServer } from "ws";

const option = (name, fallback) => {
  const at = process.argv.indexOf(`--${name}`);
  return at < 0 ? fallback : Number(process.argv[at + 1]);
};
const n = option("n", 128);
const port = option("port", 5190);
const fileSteps = option("files", 0);
const bits = option("bits", 8);
const groups = 2;
const live = fileSteps === 0;
const steps = { first: 0, last: live ? 0 : fileSteps - 1 };
const fields = [
  { name: "pressure", unit: "Pa" },
  { name: "constant", unit: "" },
  { name: "empty", unit: "K" },
];

const cache = new Map();
function volume(step, level) {
  const key = `${step}/${level}`;
  if (cache.has(key)) return cache.get(key);
  if (cache.size > 12) cache.delete(cache.keys().next().value);
  const m = Math.ceil(n / 2 ** level);
  const values = new Float32Array(m ** 3);
  const t = step * 0.15;
  let i = 0;
  for (let z = 0; z < m; z++) {
    for (let y = 0; y < m; y++) {
      for (let x = 0; x < m; x++) {
        const [a, b, c] = [x / m - 0.5, y / m - 0.5, z / m - 0.5];
        const r1 = Math.hypot(a - 0.15 * Math.cos(t), b, c - 0.15 * Math.sin(t));
        const r2 = Math.hypot(a + 0.2, b - 0.1 * Math.sin(t), c);
        const edge = Math.max(0, 1 - 4 * (a * a + b * b + c * c));
        values[i++] =
          edge * (Math.cos(38 * r1 - 2 * t) * Math.exp(-4 * r1) + 0.6 * Math.cos(50 * r2 - 2 * t) * Math.exp(-6 * r2));
      }
    }
  }
  const made = { m, values };
  cache.set(key, made);
  return made;
}

function rawFrame(bytes) {
  const blocks = [];
  for (let at = 0; at < bytes.length || at === 0; at += 131072) {
    const part = bytes.subarray(at, at + 131072);
    const last = at + 131072 >= bytes.length ? 1 : 0;
    const head = (part.length << 3) | last;
    blocks.push(Buffer.from([head & 255, (head >> 8) & 255, (head >> 16) & 255]), part);
  }
  const header = Buffer.alloc(9);
  header.writeUInt32LE(0xfd2fb528, 0);
  header[4] = 0xa0;
  header.writeUInt32LE(bytes.length, 5);
  return Buffer.concat([header, ...blocks]);
}

function bricksMessage(set, field, step, level, group) {
  const head = Buffer.alloc(44);
  const { m, values } = field === 0 ? volume(step, level) : { m: Math.ceil(n / 2 ** level), values: null };
  head[0] = 16;
  head[1] = 1;
  head.writeUInt16LE(field, 2);
  head.writeUInt32LE(set, 4);
  head.writeBigUInt64LE(BigInt(step), 8);
  head.writeDoubleLE(step * 0.01, 16);
  head[24] = level;
  head[25] = bits;
  for (const at of [28, 30, 32]) head.writeUInt16LE(m, at);
  const [lo, hi] = field === 0 ? [-1, 1.6] : field === 1 ? [42, 42] : [NaN, NaN];
  head.writeFloatLE(lo, 36);
  head.writeFloatLE(hi, 40);
  const parts = [head];
  let index = 0;
  let count = 0;
  for (let z = 0; z < m; z += 64)
    for (let y = 0; y < m; y += 64)
      for (let x = 0; x < m; x += 64) {
        if (index++ % groups !== group) continue;
        count += 1;
        parts.push(...brick(values, m, [x, y, z], lo));
      }
  head.writeUInt16LE(count, 26);
  return Buffer.concat(parts);
}

function brick(values, m, lo, constant) {
  const size = lo.map((a) => Math.min(64, m - a));
  const head = Buffer.alloc(24);
  for (const [i, a] of lo.entries()) head.writeUInt16LE(a, 2 * i);
  for (const [i, a] of size.entries()) head.writeUInt16LE(a, 6 + 2 * i);
  if (values === null) {
    head.writeFloatLE(constant, 12);
    head.writeFloatLE(constant, 16);
    return [head];
  }
  const count = size[0] * size[1] * size[2];
  const samples = new Float32Array(count);
  let [least, most, i] = [Infinity, -Infinity, 0];
  for (let z = 0; z < size[2]; z++)
    for (let y = 0; y < size[1]; y++)
      for (let x = 0; x < size[0]; x++) {
        const v = values[((lo[2] + z) * m + lo[1] + y) * m + lo[0] + x];
        samples[i++] = v;
        least = Math.min(least, v);
        most = Math.max(most, v);
      }
  head.writeFloatLE(least, 12);
  head.writeFloatLE(most, 16);
  const top = 2 ** bits - 2;
  const bytes = Buffer.alloc((count * bits) / 8);
  let before = 0;
  samples.forEach((v, k) => {
    const code = 1 + Math.round(((v - least) / (most - least || 1)) * top);
    const difference = (code - before) & (2 ** bits - 1);
    bytes[k] = difference & 255;
    if (bits === 16) bytes[count + k] = difference >> 8;
    before = code;
  });
  const frame = rawFrame(bytes);
  head.writeUInt32LE(frame.length, 20);
  return [head, frame];
}

const control = (kind, object) => Buffer.concat([Buffer.from([kind]), Buffer.from(JSON.stringify(object))]);

function fieldMessage(field, step) {
  const histogram = Array.from({ length: 256 }, (_, i) =>
    Math.round(field === 0 ? 1e6 * Math.exp(-(((i - 100) / 12) ** 2)) + 200 : 0),
  );
  const range = field === 0 ? [-1, 1.6] : field === 1 ? [42, 42] : null;
  const points = [
    [0, 0.1, 0.3, 0.9, 0.3],
    [0.25, 0.2, 0.6, 0.9, 0.02],
    [0.385, 0.9, 0.9, 0.9, 0],
    [0.5, 0.9, 0.6, 0.2, 0.02],
    [1, 0.8, 0.1, 0.1, 0.5],
  ];
  return control(3, {
    field,
    step,
    range,
    histogram,
    finite: field === 2 ? 0 : n ** 3,
    missing: field === 2 ? n ** 3 : 0,
    transfer_function: { range: range ?? [0, 1], points },
  });
}

const sessions = new Map();
let nextSession = 1;
const types = { ".html": "text/html", ".js": "text/javascript", ".css": "text/css" };
const http = createServer(async (request, response) => {
  const path = new URL(request.url, "http://x").pathname;
  try {
    const file = new URL(`../dist${path === "/" ? "/index.html" : path.replaceAll("..", "")}`, import.meta.url);
    const body = await readFile(file);
    response.writeHead(200, { "content-type": types[extname(file.pathname)] ?? "application/octet-stream" }).end(body);
  } catch {
    response.writeHead(404).end();
  }
});
const server = new WebSocketServer({ server: http });
http.listen(port, "127.0.0.1");
server.on("connection", (socket, request) => {
  const url = new URL(request.url, "http://x");
  if (url.pathname === "/session") {
    const name = String(nextSession++);
    const session = { control: socket, data: [], view: null, set: 0, sent: "", pending: 0, field: -1 };
    sessions.set(name, session);
    socket.on("close", () => sessions.delete(name));
    const grid = { size: [n, n, n], spacing: [0.5, 0.5, 0.5], origin: [0, 0, 0], unit: "mm", centering: "point" };
    const source = {
      name: "fake",
      format: "fake",
      live,
      time_unit: "s",
      times: live ? [] : Array.from({ length: fileSteps }, (_, i) => i * 0.01),
      grid,
      fields,
    };
    socket.send(control(1, { protocol: 1, server: "fake 0", session: name, groups, source, steps }));
    socket.send(
      control(4, {
        proxy: "bricks",
        level: 0,
        bits,
        reason: "a fake server has no reasons",
        throughput_bps: 8e8,
        bytes: n ** 3,
      }),
    );
    socket.on("message", (bytes) => {
      session.view = JSON.parse(bytes.subarray(1).toString());
      serve(session);
    });
  } else {
    const session = sessions.get(url.searchParams.get("session"));
    if (!session) return socket.close(1008, "no such session");
    session.data[Number(url.searchParams.get("group"))] = socket;
    socket.on("message", () => {
      session.pending -= 1;
      serve(session);
    });
    serve(session);
  }
});

function serve(session) {
  if (!session.view || session.data.filter(Boolean).length < groups || session.pending > 0) return;
  const field = session.view.field;
  const step = session.view.step ?? steps.last;
  if (session.field !== field) {
    session.field = field;
    session.control.send(fieldMessage(field, step));
  }
  const levels = [Math.max(0, Math.round(Math.log2(n / 32))), 0];
  for (const level of levels) {
    const key = `${field}/${step}/${level}`;
    if (session.sent.startsWith(`${field}/${step}/`) && session.sent.split("/")[2] <= level) continue;
    session.sent = key;
    session.set += 1;
    for (let group = 0; group < groups; group++) {
      session.pending += 1;
      session.data[group].send(bricksMessage(session.set, field, step, level, group));
    }
    return;
  }
}

if (live) {
  setInterval(() => {
    steps.last += 1;
    for (const session of sessions.values()) {
      session.control.send(control(2, steps));
      serve(session);
    }
  }, 400);
}
console.log(`fake server on ws://127.0.0.1:${port}`);
