// Ray casting of one level of bricks (RENDERING: samples, transfer function, compositing).

// Values in [0, 1]; far below 0 where there is no data.
uniform sampler3D uVolume;
// Associated colours for one sampling distance; the last texel is transparent.
uniform sampler2D uColours;
// Chebyshev distance to the nearest visible macrocell, in macrocells.
uniform usampler3D uDistances;

uniform vec3 uTextureScale;
uniform vec3 uTextureOffset;
uniform vec3 uCellsPerTexture;
uniform vec3 uTexturePerCell;
// Scale and offset from value to coordinate in uColours, and that of its last colour; coordinate 1 stands for no data.
uniform vec3 uIndex;
uniform float uStep;

vec3 first;
vec3 stride;

float value_at(float k) {
  return textureLod(uVolume, first + stride * k, 0.0).r;
}

// Composites sample k; from `end` on there are none.
void take(float value, float k, float end) {
  bool missing = value < -0.5 || k >= end;
  float index = missing ? 1.0 : min(value * uIndex.x + uIndex.y, uIndex.z);
  // Samplers clamp coordinates themselves, for less than software renderers need to bound those of texelFetch.
  vec4 associated = textureLod(uColours, vec2(index, 0.5), 0.0);
  sum += through * associated.rgb;
  through *= 1.0 - associated.a;
}

// From sample k to the next one that may show something, or to the end. `per_cell`: samples per macrocell along each axis;
// `ahead`: 1 along axes on which the ray goes up.
int leap(int k, int count, vec3 first_cell, vec3 per_cell, vec3 ahead) {
  bool empty;
  do {
    vec3 cell = floor((first + stride * float(k)) * uCellsPerTexture);
    int distance = int(textureLod(uDistances, (cell + 0.5) * uTexturePerCell, 0.0).r);
    empty = distance > 0;
    float reach = float(distance - 1);
    vec3 faces = cell + mix(vec3(-reach), vec3(1.0 + reach), ahead);
    vec3 crossings = (faces - first_cell) * per_cell;
    if (empty) k = max(k + 1, int(ceil(min(min(crossings.x, crossings.y), min(crossings.z, 1e6)))));
  } while (empty && k < count);
  return k;
}

void main() {
  vec3 direction;
  float enter;
  float leave;
  enter_box(direction, enter, leave);
  int count = int(ceil((leave - enter) / uStep - 0.5));

  // Texture coordinate of sample k: first + k * stride; the same in macrocells.
  first = (uEye + direction * (enter + 0.5 * uStep)) * uTextureScale + uTextureOffset;
  stride = direction * uStep * uTextureScale;
  vec3 first_cell = first * uCellsPerTexture;
  vec3 per_cell = 1.0 / (stride * uCellsPerTexture);
  vec3 ahead = step(0.0, stride);
  float end = float(count);
  int k = leap(0, count, first_cell, per_cell, ahead);
  // Loops test at their end, and leap before that: a software renderer runs a body once more, masked, where they test at their beginning, and
  // all samples of a run where the rest of a ray is found empty.
  do {
    // Runs of equal length keep neighbouring rays in step, whichever macrocells they cross: software renderers and
    // graphics processors alike pay for the slowest of a group. Samples of empty macrocells are transparent anyway.
    float at = float(k);
    // All are fetched before one is used: a processor then waits for memory fewer times.
    vec4 near = vec4(value_at(at), value_at(at + 1.0), value_at(at + 2.0), value_at(at + 3.0));
    vec4 far = vec4(value_at(at + 4.0), value_at(at + 5.0), value_at(at + 6.0), value_at(at + 7.0));
    take(near.x, at, end);
    take(near.y, at + 1.0, end);
    take(near.z, at + 2.0, end);
    take(near.w, at + 3.0, end);
    take(far.x, at + 4.0, end);
    take(far.y, at + 5.0, end);
    take(far.z, at + 6.0, end);
    take(far.w, at + 7.0, end);
    k = leap(k + 8, count, first_cell, per_cell, ahead);
  } while (k < count && through >= uLeast);
  colour = vec4(sum, 1.0 - through);
}
