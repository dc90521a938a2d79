/**
 * Ray casting of bricks by WebGPU beside WebGL2: the page's own fragment shader, and the same algorithm in WGSL as a fragment and as a compute shader, of the
 * same volume, camera and transfer function, in turn. Says whether the page would gain by WebGPU.
 *
 *     node webgpu.mjs [FIELD]
 */
import { readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { cpus, loadavg } from "node:os";
import { fileURLToPath } from "node:url";
import { chromium } from "playwright-core";
import { EDGE, makeField } from "./fields.mjs";

const ROUNDS = 3;
const FRAMES = 2;
const TURN_DEG = 5;
const [WIDTH, HEIGHT] = [1024, 768];
const shaders = fileURLToPath(new URL("../../web/src/render/shaders/", import.meta.url));
const glsl = (name) => readFileSync(`${shaders}${name}`, "utf8");
const WEBGPU = "--enable-unsafe-webgpu --use-webgpu-adapter=swiftshader";
/** What draws, and the switches that make the browser use it. */
const DRAWERS = {
  "WebGL2, Mesa": { switches: "--use-gl=angle --use-angle=gl-egl --ignore-gpu-blocklist", api: "webgl" },
  "WebGL2, SwiftShader": {
    switches: "--use-gl=angle --use-angle=swiftshader --enable-unsafe-swiftshader",
    api: "webgl",
  },
  "WebGPU, fragment shader, SwiftShader": { switches: WEBGPU, api: "fragment" },
  "WebGPU, compute shader, SwiftShader": { switches: WEBGPU, api: "compute" },
};

/** Pictures of one algorithm are alike at least so far, dB. */
const LEAST_PSNR = 50;

const field = process.argv[2] ?? "turbulence";
const values = makeField(field);
const server = createServer((request, response) => {
  if (request.url === "/field.f32") return response.end(Buffer.from(values.buffer));
  response.setHeader("content-type", "text/html").end("<!doctype html><canvas></canvas>");
});
await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
const url = `http://127.0.0.1:${server.address().port}/`;

const rows = await measure();
server.close();
report();

async function measure() {
  const opened = {};
  for (const [name, { switches, api }] of Object.entries(DRAWERS)) opened[name] = await open(switches, api);
  const [, reference] = Object.values(opened)[0].picture;
  const times = Object.fromEntries(Object.keys(opened).map((name) => [name, []]));
  for (let round = 0; round < ROUNDS; round++) {
    for (const [name, { page }] of Object.entries(opened)) {
      const from = 30 + TURN_DEG * FRAMES * round;
      times[name].push(
        await page.evaluate(([from, by, count]) => window.spin(from, by, count), [from, TURN_DEG, FRAMES]),
      );
    }
  }
  const rows = Object.entries(opened).map(([name, { picture }]) => ({
    name,
    device: picture[0],
    ms: summary(times[name]),
    psnr: psnr(picture[1], reference),
  }));
  for (const { browser } of Object.values(opened)) await browser.close();
  for (const { name, psnr } of rows)
    if (psnr < LEAST_PSNR) throw new Error(`${name} draws another picture: ${psnr.toFixed(1)} dB`);
  return rows;
}

async function open(switches, api) {
  const browser = await chromium.launch({
    executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
    args: ["--no-sandbox", ...switches.split(" ")],
  });
  const page = await browser.newPage({ viewport: { width: WIDTH, height: HEIGHT } });
  page.on("pageerror", (error) => console.error(error.message));
  page.on("console", (message) => console.error(message.text()));
  await page.goto(url);
  await page.evaluate(({ width, height, edge }) => Object.assign(window, { width, height, edge }), {
    width: WIDTH,
    height: HEIGHT,
    edge: EDGE,
  });
  await page.evaluate(shared);
  await page.evaluate(
    api === "webgl" ? drawByWebGl : drawByWebGpu,
    api === "webgl" ? [glsl("volume.vert.glsl"), glsl("box-ray.glsl") + glsl("volume.frag.glsl")] : [wgsl(), api],
  );
  const device = await page.evaluate(() => window.device);
  const bytes = await page.evaluate(async () => Array.from(await window.pixels(30)));
  return { browser, page, picture: [device, bytes] };
}

/** In the page: the field as half floats, colours, and where the camera is. */
async function shared() {
  const values = new Float32Array(await (await fetch("field.f32")).arrayBuffer());
  const words = new Uint32Array(1);
  const single = new Float32Array(words.buffer);
  window.halves = Uint16Array.from(values, (value) => {
    single[0] = Math.max(value, 6.2e-5);
    return ((words[0] >> 13) - ((127 - 15) << 10)) & 0xffff;
  });
  window.entries = 257;
  window.colours = new Float32Array(4 * 257);
  for (let i = 0; i < 256; i++) {
    const s = i / 255;
    const alpha = 1 - Math.exp(-0.02 * Math.max(0, s - 0.45) ** 2 * 16);
    window.colours.set([s * alpha, 0.5 * alpha, (1 - s) * alpha, alpha], 4 * i);
  }
  window.view = (degrees) => {
    const [azimuth, elevation] = [degrees * (Math.PI / 180), Math.PI / 9];
    const c = Math.cos(elevation);
    const eye = [3 * c * Math.cos(azimuth), 3 * c * Math.sin(azimuth), 3 * Math.sin(elevation)];
    const forward = eye.map((x) => -x / 3);
    const right = [-Math.sin(azimuth), Math.cos(azimuth), 0];
    const up = [
      right[1] * forward[2] - right[2] * forward[1],
      right[2] * forward[0] - right[0] * forward[2],
      right[0] * forward[1] - right[1] * forward[0],
    ];
    const half = Math.tan(Math.PI / 12);
    return {
      eye,
      forward,
      right: right.map((x) => x * half * (window.width / window.height)),
      up: up.map((x) => x * half),
    };
  };
}

function drawByWebGl([vertex, fragment]) {
  const { width, height, edge, halves, entries, colours, view } = window;
  const canvas = document.querySelector("canvas");
  [canvas.width, canvas.height] = [width, height];
  const gl = canvas.getContext("webgl2", { preserveDrawingBuffer: true });
  gl.getExtension("OES_texture_float_linear");
  window.device = gl.getParameter(gl.getExtension("WEBGL_debug_renderer_info").UNMASKED_RENDERER_WEBGL);
  const program = gl.createProgram();
  for (const [kind, text] of [
    [gl.VERTEX_SHADER, vertex],
    [gl.FRAGMENT_SHADER, fragment],
  ]) {
    const shader = gl.createShader(kind);
    gl.shaderSource(shader, text);
    gl.compileShader(shader);
    if (!gl.getShaderParameter(shader, gl.COMPILE_STATUS)) throw new Error(gl.getShaderInfoLog(shader));
    gl.attachShader(program, shader);
  }
  gl.linkProgram(program);
  gl.useProgram(program);
  const at = (name) => gl.getUniformLocation(program, name);
  const texture = (unit, kind, name, filter, fill) => {
    gl.activeTexture(gl.TEXTURE0 + unit);
    gl.bindTexture(kind, gl.createTexture());
    gl.texParameteri(kind, gl.TEXTURE_MIN_FILTER, filter);
    gl.texParameteri(kind, gl.TEXTURE_MAG_FILTER, filter);
    for (const wrap of [gl.TEXTURE_WRAP_S, gl.TEXTURE_WRAP_T, gl.TEXTURE_WRAP_R])
      if (kind === gl.TEXTURE_3D || wrap !== gl.TEXTURE_WRAP_R) gl.texParameteri(kind, wrap, gl.CLAMP_TO_EDGE);
    fill();
    gl.uniform1i(at(name), unit);
  };
  gl.pixelStorei(gl.UNPACK_ALIGNMENT, 1);
  texture(0, gl.TEXTURE_3D, "uVolume", gl.LINEAR, () =>
    gl.texImage3D(gl.TEXTURE_3D, 0, gl.R16F, edge, edge, edge, 0, gl.RED, gl.HALF_FLOAT, halves),
  );
  texture(1, gl.TEXTURE_2D, "uColours", gl.LINEAR, () =>
    gl.texImage2D(gl.TEXTURE_2D, 0, gl.RGBA32F, entries, 1, 0, gl.RGBA, gl.FLOAT, colours),
  );
  const cells = edge / 8;
  texture(2, gl.TEXTURE_3D, "uDistances", gl.NEAREST, () =>
    gl.texImage3D(
      gl.TEXTURE_3D,
      0,
      gl.R8UI,
      cells,
      cells,
      cells,
      0,
      gl.RED_INTEGER,
      gl.UNSIGNED_BYTE,
      new Uint8Array(cells ** 3),
    ),
  );
  gl.bindVertexArray(gl.createVertexArray());
  gl.enable(gl.CULL_FACE);
  gl.cullFace(gl.FRONT);
  const draw = (degrees) => {
    const { eye, forward, right, up } = view(degrees);
    gl.viewport(0, 0, width, height);
    gl.clearColor(0, 0, 0, 0);
    gl.clear(gl.COLOR_BUFFER_BIT);
    for (const [name, value] of Object.entries({ uEye: eye, uForward: forward, uRight: right, uUp: up }))
      gl.uniform3fv(at(name), value);
    gl.uniform2f(at("uPixel"), 2 / width, 2 / height);
    gl.uniform3f(at("uLow"), -0.5, -0.5, -0.5);
    gl.uniform3f(at("uHigh"), 0.5, 0.5, 0.5);
    gl.uniform3f(at("uTextureScale"), 1, 1, 1);
    gl.uniform3f(at("uTextureOffset"), 0.5, 0.5, 0.5);
    gl.uniform3f(at("uCellsPerTexture"), cells, cells, cells);
    gl.uniform3f(at("uTexturePerCell"), 1 / cells, 1 / cells, 1 / cells);
    gl.uniform3f(at("uIndex"), 255 / entries, 0.5 / entries, (entries - 1.5) / entries);
    gl.uniform1f(at("uStep"), 1 / edge);
    gl.uniform1f(at("uLeast"), 1 / 4096);
    gl.drawArrays(gl.TRIANGLES, 0, 36);
  };
  const finish = () => gl.readPixels(0, 0, 1, 1, gl.RGBA, gl.UNSIGNED_BYTE, new Uint8Array(4));
  window.spin = (from, by, count) => {
    draw(from);
    finish();
    const begin = performance.now();
    for (let i = 1; i <= count; i++) {
      draw(from + by * i);
      finish();
    }
    return (performance.now() - begin) / count;
  };
  window.pixels = (degrees) => {
    draw(degrees);
    const bytes = new Uint8Array(4 * width * height);
    gl.readPixels(0, 0, width, height, gl.RGBA, gl.UNSIGNED_BYTE, bytes);
    return bytes;
  };
}

async function drawByWebGpu([code, api]) {
  const { width, height, edge, halves, entries, colours, view } = window;
  const adapter = await navigator.gpu.requestAdapter();
  const device = await adapter.requestDevice({ requiredFeatures: ["float32-filterable"] });
  window.device = `${adapter.info.vendor} ${adapter.info.architecture}`;
  const module = device.createShaderModule({ code });
  device.onuncapturederror = ({ error }) => {
    throw error;
  };
  const mistakes = (await module.getCompilationInfo()).messages;
  if (mistakes.length > 0) throw new Error(mistakes.map(({ lineNum, message }) => `${lineNum}: ${message}`).join("; "));
  const { TEXTURE_BINDING, COPY_DST, COPY_SRC, RENDER_ATTACHMENT, STORAGE_BINDING } = GPUTextureUsage;
  const texture = (format, size, data, bytesPerRow) => {
    const dimension = size.length === 3 ? "3d" : "2d";
    const made = device.createTexture({ format, size, dimension, usage: TEXTURE_BINDING | COPY_DST });
    device.queue.writeTexture({ texture: made }, data, { bytesPerRow, rowsPerImage: size[1] }, size);
    return made.createView();
  };
  const cells = edge / 8;
  const target = device.createTexture({
    format: "rgba8unorm",
    size: [width, height],
    usage: RENDER_ATTACHMENT | STORAGE_BINDING | COPY_SRC,
  });
  const uniforms = device.createBuffer({ size: 64, usage: GPUBufferUsage.UNIFORM | GPUBufferUsage.COPY_DST });
  const pipeline =
    api === "compute"
      ? device.createComputePipeline({ layout: "auto", compute: { module, entryPoint: "compute" } })
      : device.createRenderPipeline({
          layout: "auto",
          vertex: { module, entryPoint: "corners" },
          fragment: { module, entryPoint: "fragment", targets: [{ format: "rgba8unorm" }] },
        });
  const resources = [
    { buffer: uniforms },
    texture("r16float", [edge, edge, edge], halves, 2 * edge),
    texture("rgba32float", [entries, 1], colours, 16 * entries),
    texture("r8uint", [cells, cells, cells], new Uint8Array(cells ** 3), cells),
    device.createSampler({ magFilter: "linear", minFilter: "linear" }),
    ...(api === "compute" ? [target.createView()] : []),
  ];
  const group = device.createBindGroup({
    layout: pipeline.getBindGroupLayout(0),
    entries: resources.map((resource, binding) => ({ binding, resource })),
  });
  const draw = (degrees) => {
    const { eye, forward, right, up } = view(degrees);
    device.queue.writeBuffer(uniforms, 0, new Float32Array([...eye, 0, ...forward, 0, ...right, 0, ...up, 0]));
    const commands = device.createCommandEncoder();
    if (api === "compute") {
      const pass = commands.beginComputePass();
      pass.setPipeline(pipeline);
      pass.setBindGroup(0, group);
      pass.dispatchWorkgroups(width / 8, height / 8);
      pass.end();
    } else {
      const pass = commands.beginRenderPass({
        colorAttachments: [{ view: target.createView(), loadOp: "clear", storeOp: "store" }],
      });
      pass.setPipeline(pipeline);
      pass.setBindGroup(0, group);
      pass.draw(3);
      pass.end();
    }
    device.queue.submit([commands.finish()]);
    return device.queue.onSubmittedWorkDone();
  };
  window.spin = async (from, by, count) => {
    await draw(from);
    const begin = performance.now();
    for (let i = 1; i <= count; i++) await draw(from + by * i);
    return (performance.now() - begin) / count;
  };
  window.pixels = async (degrees) => {
    await draw(degrees);
    const room = device.createBuffer({
      size: 4 * width * height,
      usage: GPUBufferUsage.COPY_DST | GPUBufferUsage.MAP_READ,
    });
    const commands = device.createCommandEncoder();
    commands.copyTextureToBuffer({ texture: target }, { buffer: room, bytesPerRow: 4 * width }, [width, height]);
    device.queue.submit([commands.finish()]);
    await room.mapAsync(GPUMapMode.READ);
    return new Uint8Array(room.getMappedRange());
  };
}

/** The page's volume.frag.glsl and box-ray.glsl in WGSL, but for keyframes. */
function wgsl() {
  const tens = [...Array(10).keys()];
  return `
struct View { eye: vec3f, forward: vec3f, right: vec3f, up: vec3f }
@group(0) @binding(0) var<uniform> view: View;
@group(0) @binding(1) var volume: texture_3d<f32>;
@group(0) @binding(2) var colours: texture_2d<f32>;
@group(0) @binding(3) var distances: texture_3d<u32>;
@group(0) @binding(4) var linear: sampler;
const CELLS = vec3f(${EDGE / 8}.0);
const STEP = 1.0 / ${EDGE}.0;
const LEAST = 1.0 / 4096.0;
var<private> first: vec3f;
var<private> stride: vec3f;
var<private> sum: vec3f;
var<private> through: f32;

fn take(value: f32, i: f32, left: f32) {
  let missing = value < -0.5 || left <= i;
  let index = select(min(value * (255.0 / 257.0) + 0.5 / 257.0, 255.5 / 257.0), 1.0, missing);
  let associated = textureSampleLevel(colours, linear, vec2f(index, 0.5), 0.0);
  sum += through * associated.rgb;
  through *= 1.0 - associated.a;
}

fn leap(begin: i32, count: i32, first_cell: vec3f, per_cell: vec3f, ahead: vec3f) -> i32 {
  var k = begin;
  loop {
    let cell = floor((first + stride * f32(k)) * CELLS);
    let distance = i32(textureLoad(distances, clamp(vec3i(cell), vec3i(0), vec3i(CELLS) - 1), 0).r);
    let empty = distance > 0;
    let reach = f32(distance - 1);
    let faces = cell + mix(vec3f(-reach), vec3f(1.0 + reach), ahead);
    let crossings = (faces - first_cell) * per_cell;
    if (empty) { k = max(k + 1, i32(ceil(min(min(crossings.x, crossings.y), min(crossings.z, 1e6))))); }
    if (!(empty && k < count)) { break; }
  }
  return k;
}

fn gathered(pixel: vec2f) -> vec4f {
  sum = vec3f(0.0);
  through = 1.0;
  let screen = pixel * vec2f(2.0 / ${WIDTH}.0, 2.0 / ${HEIGHT}.0) - 1.0;
  var direction = normalize(view.forward + screen.x * view.right + screen.y * view.up);
  direction = select(direction, vec3f(1e-8), abs(direction) < vec3f(1e-8));
  let to_low = (vec3f(-0.5) - view.eye) / direction;
  let to_high = (vec3f(0.5) - view.eye) / direction;
  let entries = min(to_low, to_high);
  let exits = max(to_low, to_high);
  let enter = max(max(entries.x, entries.y), max(entries.z, 0.0));
  let leave = min(exits.x, min(exits.y, exits.z));
  if (leave <= enter) { return vec4f(0.0); }
  let count = i32(ceil((leave - enter) / STEP - 0.5));
  first = view.eye + direction * (enter + 0.5 * STEP) + 0.5;
  stride = direction * STEP;
  let first_cell = first * CELLS;
  let per_cell = 1.0 / (stride * CELLS);
  let ahead = step(vec3f(0.0), stride);
  var k = leap(0, count, first_cell, per_cell, ahead);
  loop {
    let at = first + stride * f32(k);
    let left = f32(count - k);
    ${tens.map((i) => `let v${i} = textureSampleLevel(volume, linear, at + stride * ${i}.0, 0.0).r;`).join("\n    ")}
    ${tens.map((i) => `take(v${i}, ${i}.0, left);`).join("\n    ")}
    k = leap(k + 10, count, first_cell, per_cell, ahead);
    if (!(k < count && through >= LEAST)) { break; }
  }
  return vec4f(sum, 1.0 - through);
}

@vertex fn corners(@builtin(vertex_index) i: u32) -> @builtin(position) vec4f {
  return vec4f(f32(i & 1) * 4.0 - 1.0, f32(i >> 1) * 4.0 - 1.0, 0.0, 1.0);
}

// Rows as WebGL counts them, from the bottom.
@fragment fn fragment(@builtin(position) at: vec4f) -> @location(0) vec4f { return gathered(at.xy); }

@group(0) @binding(5) var target: texture_storage_2d<rgba8unorm, write>;
@compute @workgroup_size(8, 8) fn compute(@builtin(global_invocation_id) at: vec3u) {
  textureStore(target, at.xy, gathered(vec2f(at.xy) + 0.5));
}`.replaceAll("target", "picture_out");
}

function psnr(a, b) {
  let sum = 0;
  for (let i = 0; i < a.length; i++) sum += (a[i] - b[i]) ** 2;
  return sum === 0 ? Infinity : 10 * Math.log10(255 ** 2 / (sum / a.length));
}

function summary(numbers) {
  const sorted = [...numbers].sort((a, b) => a - b);
  return { median: sorted[sorted.length >> 1], low: sorted[0], high: sorted[sorted.length - 1] };
}

function report() {
  const line = ({ name, device, ms, psnr }) =>
    `| ${name} | ${device} | ${ms.median.toFixed(0)} (${ms.low.toFixed(0)} to ${ms.high.toFixed(0)}) | ${psnr === Infinity ? "the first" : `${psnr.toFixed(0)} dB`} |`;
  const text = `# WebGPU beside WebGL2

Ray casting of all bricks of 256^3 (${field}), ${WIDTH} x ${HEIGHT} pixels, turning by ${TURN_DEG} degrees a frame; milliseconds a frame, median of ${ROUNDS} turns in turn, least to most. The page's
own fragment shader, and the same in WGSL (\`node bench/page/webgpu.mjs\`). The last column: how like the first row's picture.

| by | device | ms | picture |
|---|---|--:|---|
${rows.map(line).join("\n")}

${cpus()[0].model}, ${cpus().length} cores, load ${loadavg()[0].toFixed(1)}, ${new Date().toISOString().slice(0, 10)}.
`;
  writeFileSync(new URL("../results/page-webgpu.md", import.meta.url), text);
  console.log(text);
}
