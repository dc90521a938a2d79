// The integrals of a transfer function (pre-integration; Engel 2001), and what a length of ray adds to what it has gathered.

// Colour times density, and density: their sums up to each part of the range, and above them their means over it. The first and the last part are beyond the range.
uniform sampler2D uIntegrals;
// Place in the range of the transfer function: value * x + y.
uniform vec2 uRange;

const int BINS = 4094;
const int PARTS = BINS + 2;

struct Place {
  // In the range of the transfer function.
  float s;
  vec4 sum;
  vec4 density;
};

// Beyond the range, sums go on with what its ends have.
Place place_of(float value) {
  float s = value * uRange.x + uRange.y;
  float at = s * float(BINS) + 1.0;
  float part = clamp(floor(at), 0.0, float(PARTS - 1));
  // Samplers that take the nearest texel cost software renderers half of what texelFetch does.
  float texel = (part + 0.5) / float(PARTS);
  vec4 density = textureLod(uIntegrals, vec2(texel, 0.75), 0.0);
  vec4 up_to = textureLod(uIntegrals, vec2(texel, 0.25), 0.0) + density * ((at - part) / float(BINS));
  return Place(s, up_to, density);
}

// Colour times density, and density, from one place to another. Sums of places that are close differ by no more than they are rounded.
vec4 mean_between(Place front, Place back) {
  float apart = back.s - front.s;
  bool close = abs(apart) * float(BINS) < 4.0;
  return close ? 0.5 * (front.density + back.density) : (back.sum - front.sum) / apart;
}

// Composites a length of ray.
void absorb(vec4 mean, float length_) {
  float alpha = 1.0 - exp(-max(mean.a, 0.0) * length_);
  sum += through * alpha / max(mean.a, 1e-20) * mean.rgb;
  through *= 1.0 - alpha;
}
