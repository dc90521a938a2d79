// A texel of a slab of colour (view protocol, slabs): what the ray through it gathers between two planes, as if it crossed them along the normal.

uniform vec3 uNormal;
// Distances of the planes along the normal.
uniform vec2 uBetween;
// Corners of what layers were made of.
uniform vec3 uLow;
uniform vec3 uHigh;
// From a texel of the atlas to a ray.
uniform vec2 uFirst;

// Places that are read in a slab, at its two planes among them.
const int PARTS = 4;

void main() {
  vec3 direction = direction_of(gl_FragCoord.xy + uFirst);
  direction = mix(direction, vec3(1e-8), lessThan(abs(direction), vec3(1e-8)));
  vec3 to_low = (uLow - uKeyEye) / direction;
  vec3 to_high = (uHigh - uKeyEye) / direction;
  vec3 entries = min(to_low, to_high);
  vec3 exits = max(to_low, to_high);
  float slope = dot(direction, uNormal);
  float from = max(max(entries.x, entries.y), max(entries.z, uBetween.x / slope));
  float to = min(min(exits.x, exits.y), min(exits.z, uBetween.y / slope));
  float stride = max(0.0, to - from) / float(PARTS);
  float front = value_at(uKeyEye + from * direction);
  for (int part = 1; part <= PARTS; part++) {
    float back = value_at(uKeyEye + (from + float(part) * stride) * direction);
    bool known = front > -0.5 && back > -0.5;
    absorb(mean_between(place_of(front), place_of(back)), known ? stride * length(direction) : 0.0);
    front = back;
  }
  float across = 1.0 - pow(through, slope / length(direction));
  colour = vec4(sum * (across / max(1.0 - through, 1e-6)), across);
}
