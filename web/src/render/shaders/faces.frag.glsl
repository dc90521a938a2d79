#version 300 es
// Scalar slabs (RENDERING): the field at parallel faces, classified between them as the ray goes from one to the next.
precision highp float;
precision highp sampler2D;
precision highp sampler2DArray;

uniform sampler2DArray uFaces;
// Sums of colour and optical depth over the range, and what is summed.
uniform sampler2D uSums;
uniform sampler2D uDensities;

uniform vec3 uEye;
uniform vec3 uForward;
// Right and up of the camera, as long as half the picture at distance 1.
uniform vec3 uRight;
uniform vec3 uUp;
uniform vec2 uPixel;
uniform vec3 uHalfEdges;

uniform vec3 uKeyEye;
uniform vec3 uKeyForward;
// Divided by half the key picture at distance 1.
uniform vec3 uKeyRight;
uniform vec3 uKeyUp;
uniform vec3 uNormal;
// Distances of the first and last face from the key eye along the normal, and the number of slabs.
uniform vec3 uSlabs;
// Place in the range of the transfer function: value * x + y.
uniform vec2 uRange;
// A ray ends where less than this share of light comes through.
uniform float uLeast;

out vec4 colour;

const int BINS = 4096;
// Stands for a value that there is not.
const float NONE = -30000.0;

float slabs;
bool reversed;
// Where the ray meets the first face, and from one to the next: x, y in [-1, 1] times depth, and depth in the key picture.
vec3 origin;
vec3 stride;

// The value of face `number` as the ray meets them.
float face(float number) {
  vec3 at = origin + number * stride;
  vec2 place = at.xy / at.z * vec2(0.5, -0.5) + 0.5;
  float layer = reversed ? slabs - number : number;
  bool within = all(greaterThanEqual(place, vec2(0.0))) && all(lessThanEqual(place, vec2(1.0)));
  float value = textureLod(uFaces, vec3(place, layer), 0.0).r;
  return number >= 0.0 && number <= slabs && at.z > 0.0 && within && value > -0.5 ? value : NONE;
}

vec4 sum_to(float s) {
  float place = clamp(s, 0.0, 1.0) * float(BINS);
  int bin = min(int(place), BINS - 1);
  vec4 before = texelFetch(uSums, ivec2(bin, 0), 0);
  vec4 after = texelFetch(uSums, ivec2(bin + 1, 0), 0);
  vec4 end = texelFetch(uDensities, ivec2(s > 0.5 ? BINS - 1 : 0, 0), 0);
  return mix(before, after, place - float(bin)) + (s - clamp(s, 0.0, 1.0)) * end;
}

// Mean colour times density, and density, between two places in the range. Sums of places that are close differ by less than
// they are rounded.
vec4 mean_between(float front, float back) {
  float apart = back - front;
  if (abs(apart) * float(BINS) < 4.0) {
    float place = clamp((front + back) * 0.5, 0.0, 1.0) * float(BINS) - 0.5;
    int bin = clamp(int(floor(place)), 0, BINS - 2);
    vec4 before = texelFetch(uDensities, ivec2(bin, 0), 0);
    vec4 after = texelFetch(uDensities, ivec2(bin + 1, 0), 0);
    return mix(before, after, clamp(place - float(bin), 0.0, 1.0));
  }
  return (sum_to(back) - sum_to(front)) / apart;
}

void main() {
  vec2 screen = gl_FragCoord.xy * uPixel - 1.0;
  vec3 direction = normalize(uForward + screen.x * uRight + screen.y * uUp);
  vec3 safe = mix(direction, vec3(1e-8), lessThan(abs(direction), vec3(1e-8)));
  vec3 to_low = (-uHalfEdges - uEye) / safe;
  vec3 to_high = (uHalfEdges - uEye) / safe;
  vec3 entries = min(to_low, to_high);
  vec3 exits = max(to_low, to_high);
  float enter = max(max(entries.x, entries.y), max(entries.z, 0.0));
  float leave = min(exits.x, min(exits.y, exits.z));

  slabs = uSlabs.z;
  float cosine = dot(direction, uNormal);
  float spacing = (uSlabs.y - uSlabs.x) / slabs / max(abs(cosine), 1e-3);
  reversed = cosine < 0.0;
  vec3 from_key = uEye - uKeyEye;
  float first = ((reversed ? uSlabs.y : uSlabs.x) - dot(from_key, uNormal)) / (reversed ? min(cosine, -1e-3) : max(cosine, 1e-3));
  vec3 met = from_key + first * direction;
  origin = vec3(dot(met, uKeyRight), dot(met, uKeyUp), dot(met, uKeyForward));
  stride = spacing * vec3(dot(direction, uKeyRight), dot(direction, uKeyUp), dot(direction, uKeyForward));

  float number = clamp(floor((enter - first) / spacing), 0.0, slabs);
  float last = clamp(ceil((leave - first) / spacing), 0.0, slabs);
  vec3 sum = vec3(0.0);
  float through = 1.0;
  float before = face(number - 1.0);
  float front = face(number);
  float back = face(number + 1.0);
  while (number < last && through >= uLeast) {
    float after = face(number + 2.0);
    if (front > NONE && back > NONE) {
      float around = (before > NONE ? before : 2.0 * front - back) + (after > NONE ? after : 2.0 * back - front);
      float middle = (9.0 * (front + back) - around) / 16.0;
      for (int half_ = 0; half_ < 2; half_++) {
        float from = half_ == 0 ? front : middle;
        float to = half_ == 0 ? middle : back;
        float start = first + (number + 0.5 * float(half_)) * spacing;
        float a = max(start, enter);
        float b = min(start + 0.5 * spacing, leave);
        if (a < b) {
          vec2 shares = (vec2(a, b) - start) / (0.5 * spacing);
          vec2 ends = mix(vec2(from), vec2(to), shares) * uRange.x + uRange.y;
          vec4 mean = mean_between(ends.x, ends.y);
          if (mean.a > 0.0) {
            float alpha = 1.0 - exp(-mean.a * (b - a));
            sum += through * alpha * mean.rgb / mean.a;
            through *= 1.0 - alpha;
          }
        }
      }
    }
    before = front;
    front = back;
    back = after;
    number += 1.0;
  }
  colour = vec4(sum, 1.0 - through);
}
