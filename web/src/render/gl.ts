/** WebGL2 is missing or refuses what the page needs; the text says what to do. */
export class GraphicsError extends Error {
  override readonly name = "GraphicsError";
}

export type Gl = WebGL2RenderingContext;

/** Whether the processor draws, as far as the driver tells. */
export function drawsInSoftware(gl: Gl): boolean {
  const info = gl.getExtension("WEBGL_debug_renderer_info");
  const renderer = String(gl.getParameter(info ? info.UNMASKED_RENDERER_WEBGL : gl.RENDERER));
  return /llvmpipe|softpipe|swiftshader|basic render|software/i.test(renderer);
}

/** A texture that a shader reads, and the sampler it is read through. */
export interface Bound {
  readonly name: string;
  readonly kind: GLenum;
  readonly texture: WebGLTexture;
}

/** A program with its uniform locations by name. The driver is asked how it went only where the program is used: until then it works beside the page. */
export class Program {
  readonly #gl: Gl;
  readonly #sources: readonly [vertex: string, fragment: string];
  readonly #program: WebGLProgram;
  #shaders: readonly WebGLShader[] = [];
  readonly #parallel: KHR_parallel_shader_compile | null;
  readonly #locations = new Map<string, WebGLUniformLocation | null>();
  #state: "idle" | "linking" | "linked" = "idle";

  constructor(gl: Gl, vertex: string, fragment: string) {
    this.#gl = gl;
    this.#sources = [vertex, fragment];
    this.#parallel = gl.getExtension("KHR_parallel_shader_compile");
    this.#program = gl.createProgram();
  }

  /** The driver begins with it, if it has not yet. */
  begin(): void {
    if (this.#state !== "idle") return;
    const gl = this.#gl;
    const [vertex, fragment] = this.#sources;
    this.#shaders = [compile(gl, gl.VERTEX_SHADER, vertex), compile(gl, gl.FRAGMENT_SHADER, fragment)];
    for (const shader of this.#shaders) gl.attachShader(this.#program, shader);
    gl.linkProgram(this.#program);
    this.#state = "linking";
  }

  /** Whether it can be used without waiting for the driver, as far as that can be told; the driver begins with it where not. */
  get isReady(): boolean {
    this.begin();
    if (this.#state === "linked" || !this.#parallel) return true;
    return Boolean(this.#gl.getProgramParameter(this.#program, this.#parallel.COMPLETION_STATUS_KHR));
  }

  /** Throws what the driver has against it. */
  use(): void {
    this.begin();
    if (this.#state !== "linked") this.#link();
    this.#gl.useProgram(this.#program);
  }

  #link(): void {
    const gl = this.#gl;
    if (!gl.getProgramParameter(this.#program, gl.LINK_STATUS) && !gl.isContextLost()) {
      const logs = [...this.#shaders.map((shader) => gl.getShaderInfoLog(shader)), gl.getProgramInfoLog(this.#program)];
      throw new GraphicsError(`the graphics driver refused a shader program: ${logs.filter(Boolean).join(" ")}`);
    }
    for (const shader of this.#shaders) gl.deleteShader(shader);
    this.#state = "linked";
  }

  at(name: string): WebGLUniformLocation | null {
    let location = this.#locations.get(name);
    if (location === undefined) {
      location = this.#gl.getUniformLocation(this.#program, name);
      this.#locations.set(name, location);
    }
    return location;
  }

  /** Lets the program in use read a texture through `unit`. */
  bind(unit: number, { name, kind, texture }: Bound): void {
    const gl = this.#gl;
    gl.activeTexture(gl.TEXTURE0 + unit);
    gl.bindTexture(kind, texture);
    // three.js may have left its own there.
    gl.bindSampler(unit, null);
    gl.uniform1i(this.at(name), unit);
  }

  attribute(name: string): number {
    return this.#gl.getAttribLocation(this.#program, name);
  }
}

export type TargetFormat = "rgba8" | "rgba16f";

/** An image that is drawn into and then shown. */
export class Target {
  readonly #gl: Gl;
  readonly #format: TargetFormat;
  readonly texture: WebGLTexture;
  readonly framebuffer: WebGLFramebuffer;
  width = 0;
  height = 0;

  constructor(gl: Gl, format: TargetFormat) {
    this.#gl = gl;
    this.#format = format;
    this.texture = gl.createTexture();
    this.framebuffer = gl.createFramebuffer();
  }

  resize(width: number, height: number): void {
    if (width === this.width && height === this.height) return;
    const gl = this.#gl;
    this.width = width;
    this.height = height;
    gl.activeTexture(gl.TEXTURE0);
    gl.bindTexture(gl.TEXTURE_2D, this.texture);
    const [internal, type] =
      this.#format === "rgba8" ? [gl.RGBA8, gl.UNSIGNED_BYTE] : ([gl.RGBA16F, gl.HALF_FLOAT] as const);
    gl.texImage2D(gl.TEXTURE_2D, 0, internal, width, height, 0, gl.RGBA, type, null);
    setSampling(gl, gl.TEXTURE_2D, gl.LINEAR);
    gl.bindFramebuffer(gl.FRAMEBUFFER, this.framebuffer);
    gl.framebufferTexture2D(gl.FRAMEBUFFER, gl.COLOR_ATTACHMENT0, gl.TEXTURE_2D, this.texture, 0);
    gl.bindFramebuffer(gl.FRAMEBUFFER, null);
  }

  bind(): void {
    this.#gl.bindFramebuffer(this.#gl.FRAMEBUFFER, this.framebuffer);
    this.#gl.viewport(0, 0, this.width, this.height);
  }

  /** Rows `from` to `to` (from the bottom), emptied, are drawn into until `end`. */
  begin(from: number, to: number): void {
    const gl = this.#gl;
    this.resume(from, to);
    gl.clearColor(0, 0, 0, 0);
    gl.clear(gl.COLOR_BUFFER_BIT);
  }

  /** The same, as they are. */
  resume(from: number, to: number): void {
    const gl = this.#gl;
    this.bind();
    gl.disable(gl.BLEND);
    gl.disable(gl.DEPTH_TEST);
    gl.disable(gl.CULL_FACE);
    gl.enable(gl.SCISSOR_TEST);
    gl.scissor(0, from, this.width, to - from);
  }

  end(): void {
    this.#gl.disable(this.#gl.SCISSOR_TEST);
  }
}

export function setSampling(gl: Gl, kind: GLenum, filter: GLenum): void {
  gl.texParameteri(kind, gl.TEXTURE_MIN_FILTER, filter);
  gl.texParameteri(kind, gl.TEXTURE_MAG_FILTER, filter);
  gl.texParameteri(kind, gl.TEXTURE_WRAP_S, gl.CLAMP_TO_EDGE);
  gl.texParameteri(kind, gl.TEXTURE_WRAP_T, gl.CLAMP_TO_EDGE);
  if (kind === gl.TEXTURE_3D) gl.texParameteri(kind, gl.TEXTURE_WRAP_R, gl.CLAMP_TO_EDGE);
}

/** Fills all layers of a texture with one value. */
export function clearLayers(gl: Gl, texture: WebGLTexture, layers: number, value: number): void {
  const framebuffer = gl.createFramebuffer();
  gl.bindFramebuffer(gl.FRAMEBUFFER, framebuffer);
  gl.disable(gl.SCISSOR_TEST);
  for (let layer = 0; layer < layers; layer++) {
    gl.framebufferTextureLayer(gl.FRAMEBUFFER, gl.COLOR_ATTACHMENT0, texture, 0, layer);
    gl.clearBufferfv(gl.COLOR, 0, [value, 0, 0, 0]);
  }
  gl.bindFramebuffer(gl.FRAMEBUFFER, null);
  gl.deleteFramebuffer(framebuffer);
}

/** State that uploads rely on; three.js leaves its own behind. */
export function resetUnpacking(gl: Gl): void {
  gl.pixelStorei(gl.UNPACK_FLIP_Y_WEBGL, false);
  gl.pixelStorei(gl.UNPACK_PREMULTIPLY_ALPHA_WEBGL, false);
  gl.pixelStorei(gl.UNPACK_ALIGNMENT, 1);
  gl.pixelStorei(gl.UNPACK_ROW_LENGTH, 0);
  gl.pixelStorei(gl.UNPACK_IMAGE_HEIGHT, 0);
  gl.bindBuffer(gl.PIXEL_UNPACK_BUFFER, null);
}

function compile(gl: Gl, kind: GLenum, source: string): WebGLShader {
  const shader = gl.createShader(kind);
  if (!shader) throw new GraphicsError("the graphics driver gave no shader: reload the page");
  gl.shaderSource(shader, source);
  gl.compileShader(shader);
  return shader;
}
