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

// Composites sample k; from `end` on there are none.
void take(float k, float end) {
  float value = textureLod(uVolume, first + stride * k, 0.0).r;
  bool missing = value < -0.5 || k >= end;
  float index = missing ? 1.0 : min(value * uIndex.x + uIndex.y, uIndex.z);
  // Samplers clamp coordinates themselves, for less than software renderers need to bound those of texelFetch.
  vec4 associated = textureLod(uColours, vec2(index, 0.5), 0.0);
  sum += through * associated.rgb;
  through *= 1.0 - associated.a;
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
  int k = 0;
  // Loops test at their end: a software renderer runs a body once more, masked, where they test at their beginning.
  do {
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
    // Runs of equal length keep neighbouring rays in step, whichever macrocells they cross: software renderers and
    // graphics processors alike pay for the slowest of a group. Samples of empty macrocells are transparent anyway.
    float at = float(k);
    take(at, end);
    take(at + 1.0, end);
    take(at + 2.0, end);
    take(at + 3.0, end);
    take(at + 4.0, end);
    take(at + 5.0, end);
    take(at + 6.0, end);
    take(at + 7.0, end);
    k += 8;
  } while (k < count && through >= uLeast);
  colour = vec4(sum, 1.0 - through);
}
