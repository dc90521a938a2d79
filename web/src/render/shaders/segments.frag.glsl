// Segments (RENDERING): the field along the rays of a key view, mixed between four of them, classified from step to step.

// Values by plane, column and row of the key view, in [0, 1]; far below 0 where there is no data.
uniform sampler3D uValues;
// Chebyshev distance to the nearest visible macrocell, in macrocells.
uniform usampler3D uDistances;

uniform vec3 uKeyEye;
uniform vec3 uKeyForward;
// Divided by the whole key picture at distance 1.
uniform vec3 uKeyRight;
uniform vec3 uKeyDown;
// Texture coordinate of a depth in the key view: depth * x + y.
uniform vec2 uPlane;
uniform vec3 uCellsPerTexture;
uniform vec3 uTexturePerCell;
uniform float uStep;

const float FAR = 1e6;

// The ray in the key view, in steps: x and y in key pictures times depth, and depth.
vec3 origin;
vec3 stride;
// Of the ray, in steps.
float end;

// Texture coordinates after k steps; outside of the texture behind the key eye.
vec3 place_at(float k) {
  vec3 at = origin + k * stride;
  return at.z > 0.0 ? vec3(at.z * uPlane.x + uPlane.y, at.xy / at.z + 0.5) : vec3(-1.0);
}

bool is_within(vec3 at) {
  return all(greaterThanEqual(at, vec3(0.0))) && all(lessThanEqual(at, vec3(1.0)));
}

struct Met {
  Place place;
  bool known;
};

// What is met after k steps.
Met meet(float k) {
  vec3 at = place_at(min(k, end));
  float value = textureLod(uValues, at, 0.0).r;
  return Met(place_of(value), is_within(at) && value > -0.5);
}

Met behind;

// Composites step k, from what was met last.
void take(float k) {
  Met front = behind;
  behind = meet(k + 1.0);
  vec4 mean = mean_between(front.place, behind.place);
  float length_ = clamp(end - k, 0.0, 1.0) * uStep;
  // Next to where nothing is known, a value holds for half a step.
  if (!front.known || !behind.known) {
    mean = front.known ? front.place.density : behind.place.density;
    length_ *= front.known || behind.known ? 0.5 : 0.0;
  }
  absorb(mean, length_);
}

// After how many steps, more than k, the ray leaves what lies between two corners, in texture coordinates.
float exit_of(float k, vec3 lo, vec3 hi) {
  vec4 sides = vec4(lo.yz, hi.yz) - 0.5;
  vec2 planes = (vec2(lo.x, hi.x) - uPlane.y) / uPlane.x;
  vec4 aside = (sides * origin.z - origin.xyxy) / (stride.xyxy - sides * stride.z);
  vec2 along = (planes - origin.z) / stride.z;
  aside = mix(vec4(FAR), aside, greaterThan(aside, vec4(k)));
  along = mix(vec2(FAR), along, greaterThan(along, vec2(k)));
  return min(min(min(aside.x, aside.y), min(aside.z, aside.w)), min(along.x, along.y));
}

void main() {
  vec3 direction;
  float enter;
  float leave;
  enter_box(direction, enter, leave);
  end = (leave - enter) / uStep;
  int count = int(ceil(end));

  mat3 into_key = transpose(mat3(uKeyRight, uKeyDown, uKeyForward));
  origin = into_key * (uEye + enter * direction - uKeyEye);
  stride = into_key * direction * uStep;
  stride = mix(stride, vec3(1e-8), lessThan(abs(stride), vec3(1e-8)));

  int k = 0;
  behind = meet(0.0);
  // Loops test at their end: a software renderer runs a body once more, masked, where they test at their beginning.
  do {
    bool empty;
    int before = k;
    do {
      vec3 at = place_at(float(k));
      vec3 cell = floor(at * uCellsPerTexture);
      int distance = int(textureLod(uDistances, (cell + 0.5) * uTexturePerCell, 0.0).r);
      float reach = float(distance - 1);
      vec3 lo = (cell - reach) / uCellsPerTexture;
      vec3 hi = (cell + reach + 1.0) / uCellsPerTexture;
      int next = int(min(exit_of(float(k), lo, hi), float(count)));
      empty = is_within(at) && distance > 0 && next > k;
      if (empty) k = next;
    } while (empty && k < count);
    float at = float(k);
    if (k > before) behind = meet(at);
    // Runs of equal length keep neighbouring rays in step, whichever macrocells they cross.
    take(at);
    take(at + 1.0);
    take(at + 2.0);
    take(at + 3.0);
    take(at + 4.0);
    take(at + 5.0);
    take(at + 6.0);
    take(at + 7.0);
    k += 8;
  } while (k < count && through >= uLeast);
  colour = vec4(sum, 1.0 - through);
}
