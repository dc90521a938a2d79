#version 300 es
// Segments (RENDERING): along each ray of the key view the field as cubics; mixed between four rays, classified from step to step.
precision highp float;
precision highp int;
precision highp sampler2D;
precision highp usampler2D;
precision highp usampler3D;

// Pieces of all rays, in rows of 4096: planes, codes and what is known, slopes times length.
uniform usampler2D uPieces;
// Of each ray and those to its right, below, and both: its first piece, and in the low 8 bits how many follow.
uniform usampler2D uCells;
// Chebyshev distance to the nearest visible block of rays and planes, in blocks.
uniform usampler3D uDistances;
// Colour times density, and density: their sums up to each part of the range, and above them their means over it.
uniform sampler2D uIntegrals;

uniform vec3 uEye;
uniform vec3 uForward;
// Right and up of the camera, as long as half the picture at distance 1.
uniform vec3 uRight;
uniform vec3 uUp;
uniform vec2 uPixel;
uniform vec3 uHalfEdges;

uniform vec3 uKeyEye;
uniform vec3 uKeyForward;
// In rays at distance 1.
uniform vec3 uKeyRight;
uniform vec3 uKeyDown;
uniform vec2 uRays;
// Distance of plane 0 from the key eye, and planes per length.
uniform vec2 uPlanes;
uniform ivec3 uLastBlock;
// Place in the range of the transfer function: code * x + y.
uniform vec2 uRange;
uniform float uStep;
// A ray ends where less than this share of light comes through.
uniform float uLeast;

out vec4 colour;

const int BINS = 4096;
const float BLOCK = 8.0;
// Stands for a value that there is not.
const float NONE = -1e6;
const float FAR = 1e6;
const uint FIRST = 1u << 20;
const uint SECOND = 1u << 21;
const uint BETWEEN = 1u << 22;

// The ray in the key view: x and y in rays times depth, and depth.
vec3 origin;
vec3 stride;

// Rays and plane at distance t.
vec3 place_at(float t) {
  vec3 at = origin + t * stride;
  return at.z > 0.0 ? vec3(at.xy / at.z + 0.5 * uRays - 0.5, (at.z - uPlanes.x) * uPlanes.y) : vec3(-FAR);
}

// The four rays around, left to right, then below: where each is read, and between which planes its piece holds.
ivec2 cell = ivec2(-1);
uvec4 lists;
ivec4 pieces = ivec4(0);
vec4 from = vec4(FAR);
vec4 to = vec4(-FAR);
// Coefficients of the cubics, of planes counted from `base`.
vec4 base;
vec4 c0;
vec4 c1;
vec4 c2;
vec4 c3;

// Finds the piece of ray i that holds at `plane`.
void read(int i, float plane) {
  int first = int(lists[i] >> 8u);
  int last = int(lists[i] & 255u);
  int at = min(pieces[i], last);
  uvec4 piece;
  float lo;
  float hi;
  int move;
  do {
    int number = first + at;
    piece = texelFetch(uPieces, ivec2(number & 4095, number >> 12), 0);
    lo = float(piece.x & 0xffffu);
    hi = float(piece.x >> 16u);
    move = plane >= hi ? 1 : plane < lo ? -1 : 0;
    move = at + move > last || at + move < 0 ? 0 : move;
    at += move;
  } while (move != 0);
  pieces[i] = at;
  float a = float(piece.y & 1023u);
  float b = float((piece.y >> 10u) & 1023u);
  float scale = 1.0 / (hi - lo);
  vec2 slopes = uintBitsToFloat(piece.zw);
  bool whole = (piece.y & BETWEEN) != 0u;
  // In a gap, the values at its ends hold for half a plane.
  bool early = plane < lo + 0.5;
  bool late = plane >= hi - 0.5;
  bool before = early && (piece.y & FIRST) != 0u;
  bool after = late && (piece.y & SECOND) != 0u;
  float held = before ? a : after ? b : NONE;
  base[i] = lo;
  c0[i] = whole ? a : held;
  c1[i] = whole ? slopes.x * scale : 0.0;
  c2[i] = whole ? (3.0 * (b - a) - 2.0 * slopes.x - slopes.y) * scale * scale : 0.0;
  c3[i] = whole ? (2.0 * (a - b) + slopes.x + slopes.y) * scale * scale * scale : 0.0;
  from[i] = whole || early ? lo : late ? hi - 0.5 : lo + 0.5;
  to[i] = whole || late ? hi : early ? lo + 0.5 : hi - 0.5;
}

// The value at rays and plane, mixed between the rays around; of those that know none only where the nearest does.
float value_at(vec3 at) {
  bool within = all(greaterThanEqual(at.xy, vec2(-0.5))) && all(lessThan(at.xy, uRays - 0.5));
  if (!within) return NONE;
  vec2 ray = max(at.xy, vec2(0.0));
  float plane = max(at.z, 0.0);
  ivec2 here = ivec2(ray);
  if (here != cell) {
    cell = here;
    lists = texelFetch(uCells, here, 0);
    from = vec4(FAR);
  }
  if (any(lessThan(vec4(plane), from)) || any(greaterThanEqual(vec4(plane), to))) {
    for (int i = 0; i < 4; i++) {
      if (plane < from[i] || plane >= to[i]) read(i, plane);
    }
  }
  vec4 x = vec4(plane) - base;
  vec4 values = ((c3 * x + c2) * x + c1) * x + c0;
  vec2 part = ray - vec2(here);
  vec4 shares = vec4(1.0 - part.x, part.x, 1.0 - part.x, part.x) * vec4(vec2(1.0 - part.y), vec2(part.y));
  vec2 upper = step(0.5, part);
  vec4 nearest = vec4(1.0 - upper.x, upper.x, 1.0 - upper.x, upper.x) * vec4(vec2(1.0 - upper.y), vec2(upper.y));
  vec4 known = step(0.5 * NONE, values);
  shares *= known;
  return dot(nearest, known) > 0.0 ? dot(shares, values) / dot(shares, vec4(1.0)) : NONE;
}

struct Place {
  // In the range of the transfer function.
  float s;
  vec4 sum;
  vec4 density;
};

// Beyond the range, sums go on with what its ends have.
Place place_of(float code) {
  float s = code * uRange.x + uRange.y;
  float at = s * float(BINS);
  int bin = int(clamp(at, 0.0, float(BINS - 1)));
  vec4 density = texelFetch(uIntegrals, ivec2(bin, 1), 0);
  vec4 sum = texelFetch(uIntegrals, ivec2(bin, 0), 0) + density * ((at - float(bin)) / float(BINS));
  return Place(s, sum, density);
}

vec3 sum;
float through;

// Composites a length of ray from one place in the range to another. Sums of places that are close differ by no more than they
// are rounded.
void take(Place front, Place back, float length_) {
  float apart = back.s - front.s;
  bool close = abs(apart) * float(BINS) < 4.0;
  vec4 mean = close ? 0.5 * (front.density + back.density) : (back.sum - front.sum) / apart;
  float alpha = 1.0 - exp(-max(mean.a, 0.0) * length_);
  sum += through * alpha / max(mean.a, 1e-20) * mean.rgb;
  through *= 1.0 - alpha;
}

// Where, after t, the ray leaves the rays and planes between lo and hi.
float exit_of(float t, vec3 lo, vec3 hi) {
  vec2 center = 0.5 * uRays - 0.5;
  vec4 rays = vec4(lo.xy - center, hi.xy - center);
  vec4 sides = (rays * origin.z - origin.xyxy) / (stride.xyxy - rays * stride.z);
  vec2 ends = (vec2(lo.z, hi.z) / uPlanes.y + uPlanes.x - origin.z) / stride.z;
  sides = mix(vec4(FAR), sides, greaterThan(sides, vec4(t)));
  ends = mix(vec2(FAR), ends, greaterThan(ends, vec2(t)));
  return min(min(min(sides.x, sides.y), min(sides.z, sides.w)), min(ends.x, ends.y));
}

void main() {
  vec2 screen = gl_FragCoord.xy * uPixel - 1.0;
  vec3 direction = normalize(uForward + screen.x * uRight + screen.y * uUp);
  direction = mix(direction, vec3(1e-8), lessThan(abs(direction), vec3(1e-8)));
  vec3 to_low = (-uHalfEdges - uEye) / direction;
  vec3 to_high = (uHalfEdges - uEye) / direction;
  vec3 entries = min(to_low, to_high);
  vec3 exits = max(to_low, to_high);
  float enter = max(max(entries.x, entries.y), max(entries.z, 0.0));
  float leave = min(exits.x, min(exits.y, exits.z));
  int count = int(ceil((leave - enter) / uStep));

  vec3 from_key = uEye - uKeyEye;
  origin = vec3(dot(from_key, uKeyRight), dot(from_key, uKeyDown), dot(from_key, uKeyForward));
  stride = vec3(dot(direction, uKeyRight), dot(direction, uKeyDown), dot(direction, uKeyForward));
  stride = mix(stride, vec3(1e-8), lessThan(abs(stride), vec3(1e-8)));

  sum = vec3(0.0);
  through = 1.0;
  int k = 0;
  // Where the last step ended, and what was there.
  int known = -1;
  float front = NONE;
  Place ahead = Place(0.0, vec4(0.0), vec4(0.0));
  // Loops test at their end: a software renderer runs a body once more, masked, where they test at their beginning.
  do {
    float t = enter + float(k) * uStep;
    vec3 at = place_at(t);
    ivec3 block = ivec3(floor(at / BLOCK));
    bool inside = all(greaterThanEqual(block, ivec3(0))) && all(lessThanEqual(block, uLastBlock));
    int distance = int(texelFetch(uDistances, clamp(block, ivec3(0), uLastBlock), 0).r);
    int next = k;
    if (inside && distance > 0) {
      float reach = float(distance - 1);
      vec3 lo = (vec3(block) - reach) * BLOCK;
      next = int(min((exit_of(t, lo, lo + (1.0 + 2.0 * reach) * BLOCK) - enter) / uStep, float(count)));
    }
    if (next > k) {
      k = next;
    } else {
      if (known != k) {
        front = value_at(at);
        ahead = place_of(front);
      }
      float length_ = min(uStep, leave - t);
      float back = value_at(place_at(t + length_));
      Place behind = place_of(back);
      bool starts = front > 0.5 * NONE;
      bool ends = back > 0.5 * NONE;
      // Next to where nothing is known, a value holds for half a step.
      length_ *= starts && ends ? 1.0 : starts || ends ? 0.5 : 0.0;
      Place near = ahead;
      if (!starts) near = behind;
      Place far = behind;
      if (!ends) far = near;
      take(near, far, length_);
      k += 1;
      known = k;
      front = back;
      ahead = behind;
    }
  } while (k < count && through >= uLeast);
  colour = vec4(sum, 1.0 - through);
}
