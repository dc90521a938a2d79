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

// Of a keyframe that is there already: its eye and direction, and right and up of it, divided by half its picture at distance 1. All are 0 where there is none.
uniform vec3 uKeyEye;
uniform vec3 uKeyForward;
uniform vec3 uKeyRight;
uniform vec3 uKeyUp;

vec3 first;
vec3 stride;

// The value at `at`, which goes on to the next sample.
float next_value(inout vec3 at) {
  float value = textureLod(uVolume, at, 0.0).r;
  at += stride;
  return value;
}

// Composites sample i of a run, of which the ray has so many left.
void take(float value, float i, float left) {
  bool missing = value < -0.5 || left <= i;
  float index = missing ? 1.0 : min(value * uIndex.x + uIndex.y, uIndex.z);
  // Samplers clamp coordinates themselves, for less than software renderers need to bound those of texelFetch.
  vec4 associated = textureLod(uColours, vec2(index, 0.5), 0.0);
  sum += through * associated.rgb;
  through *= 1.0 - associated.a;
}

// Whether the rays of the keyframe pass a place.
bool is_passed(vec3 world) {
  vec3 from_key = world - uKeyEye;
  float depth = dot(from_key, uKeyForward);
  return depth > 0.0 && abs(dot(from_key, uKeyRight)) <= depth && abs(dot(from_key, uKeyUp)) <= depth;
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
  // Not at the eye itself, which may be that of the keyframe.
  float near = mix(enter, leave, 0.02);
  if (is_passed(uEye + near * direction) && is_passed(uEye + leave * direction)) discard;
  int count = int(ceil((leave - enter) / uStep - 0.5));

  // Texture coordinate of sample k: first + k * stride; the same in macrocells.
  first = (uEye + direction * (enter + 0.5 * uStep)) * uTextureScale + uTextureOffset;
  stride = direction * uStep * uTextureScale;
  vec3 first_cell = first * uCellsPerTexture;
  vec3 per_cell = 1.0 / (stride * uCellsPerTexture);
  vec3 ahead = step(0.0, stride);
  int k = leap(0, count, first_cell, per_cell, ahead);
  // Loops test at their end, and leap before that: a software renderer runs a body once more, masked, where they test at their beginning, and
  // all samples of a run where the rest of a ray is found empty.
  do {
    // Runs of equal length keep neighbouring rays in step, whichever macrocells they cross: software renderers and
    // graphics processors alike pay for the slowest of a group. Samples of empty macrocells are transparent anyway.
    vec3 at = first + stride * float(k);
    float left = float(count - k);
    // All are fetched before one is used: a processor then waits for memory fewer times.
    float v0 = next_value(at);
    float v1 = next_value(at);
    float v2 = next_value(at);
    float v3 = next_value(at);
    float v4 = next_value(at);
    float v5 = next_value(at);
    float v6 = next_value(at);
    float v7 = next_value(at);
    float v8 = next_value(at);
    float v9 = next_value(at);
    take(v0, 0.0, left);
    take(v1, 1.0, left);
    take(v2, 2.0, left);
    take(v3, 3.0, left);
    take(v4, 4.0, left);
    take(v5, 5.0, left);
    take(v6, 6.0, left);
    take(v7, 7.0, left);
    take(v8, 8.0, left);
    take(v9, 9.0, left);
    k = leap(k + 10, count, first_cell, per_cell, ahead);
  } while (k < count && through >= uLeast);
  colour = vec4(sum, 1.0 - through);
}
