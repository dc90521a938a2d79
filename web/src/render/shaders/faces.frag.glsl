// Scalar slabs (RENDERING): the field at parallel faces, classified between them as the ray goes from one to the next.

uniform sampler2DArray uFaces;

uniform vec3 uKeyEye;
uniform vec3 uKeyForward;
// Divided by half the key picture at distance 1.
uniform vec3 uKeyRight;
uniform vec3 uKeyUp;
uniform vec3 uNormal;
// Distances of the first and last face from the key eye along the normal, and the number of slabs.
uniform vec3 uSlabs;

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

// Composites a length of ray from one place in the range to another.
void take(Place front, Place back, float length_) {
  absorb(mean_between(front, back), length_);
}

// The values at the four faces around a slab, as the ray meets them.
float before;
float front;
float back;
float after;

bool is_whole() {
  return front > NONE && back > NONE;
}

// Half-way between the inner ones of four faces, by the cubic through all.
float middle() {
  float around = (before > NONE ? before : 2.0 * front - back) + (after > NONE ? after : 2.0 * back - front);
  return (9.0 * (front + back) - around) / 16.0;
}

void step_to(float slab) {
  before = front;
  front = back;
  back = after;
  after = face(slab + 2.0);
}

// Takes half a slab, from `start` on, as far as it lies in the box.
void take_cut(float from, float to, float start, float half_, float enter, float leave) {
  vec2 ends = clamp(vec2(enter, leave), start, start + half_);
  vec2 values = mix(vec2(from), vec2(to), (ends - start) / half_);
  take(place_of(values.x), place_of(values.y), is_whole() ? max(0.0, ends.y - ends.x) : 0.0);
}

void main() {
  vec3 direction;
  float enter;
  float leave;
  enter_box(direction, enter, leave);

  slabs = uSlabs.z;
  float cosine = dot(direction, uNormal);
  reversed = cosine < 0.0;
  cosine = reversed ? min(cosine, -1e-3) : max(cosine, 1e-3);
  float spacing = max(uSlabs.y - uSlabs.x, 1e-6) / slabs / abs(cosine);
  vec3 from_key = uEye - uKeyEye;
  float first = ((reversed ? uSlabs.y : uSlabs.x) - dot(from_key, uNormal)) / cosine;
  vec3 met = from_key + first * direction;
  origin = vec3(dot(met, uKeyRight), dot(met, uKeyUp), dot(met, uKeyForward));
  stride = spacing * vec3(dot(direction, uKeyRight), dot(direction, uKeyUp), dot(direction, uKeyForward));

  // Only the slabs in which the ray enters and leaves the box are cut.
  float half_ = 0.5 * spacing;
  float slab = clamp(floor((enter - first) / spacing), 0.0, slabs - 1.0);
  float last = clamp(ceil((leave - first) / spacing) - 1.0, slab, slabs - 1.0);
  front = face(slab - 1.0);
  back = face(slab);
  after = face(slab + 1.0);
  step_to(slab);
  float start = first + slab * spacing;
  take_cut(front, middle(), start, half_, enter, leave);
  take_cut(middle(), back, start + half_, half_, enter, leave);
  Place met_last = place_of(back);
  slab += 1.0;
  step_to(slab);
  // The loop tests at its end: a software renderer runs a body once more, masked, where it tests at its beginning.
  if (slab < last) {
    do {
      float length_ = is_whole() ? half_ : 0.0;
      Place between = place_of(middle());
      Place ahead = place_of(back);
      take(met_last, between, length_);
      take(between, ahead, length_);
      met_last = ahead;
      slab += 1.0;
      step_to(slab);
    } while (slab < last && through >= uLeast);
  }
  if (slab == last && through >= uLeast) {
    start = first + slab * spacing;
    take_cut(front, middle(), start, half_, enter, leave);
    take_cut(middle(), back, start + half_, half_, enter, leave);
  }
  colour = vec4(sum, 1.0 - through);
}
