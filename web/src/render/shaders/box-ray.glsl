#version 300 es
// What every fragment that casts a ray through the box begins with.
precision highp float;
precision highp int;
precision highp sampler2D;
precision highp sampler3D;
precision highp sampler2DArray;
precision highp usampler3D;

uniform vec3 uEye;
uniform vec3 uForward;
// Right and up of the camera, as long as half the picture at distance 1.
uniform vec3 uRight;
uniform vec3 uUp;
uniform vec2 uPixel;
// Corners of the box.
uniform vec3 uLow;
uniform vec3 uHigh;
// A ray ends where less than this share of light comes through.
uniform float uLeast;

out vec4 colour;

// What a ray has gathered so far, and the share of light that still comes through.
vec3 sum = vec3(0.0);
float through = 1.0;

// The direction of this pixel's ray, nowhere 0, and where it enters and leaves the box.
void enter_box(out vec3 direction, out float enter, out float leave) {
  vec2 screen = gl_FragCoord.xy * uPixel - 1.0;
  direction = normalize(uForward + screen.x * uRight + screen.y * uUp);
  direction = mix(direction, vec3(1e-8), lessThan(abs(direction), vec3(1e-8)));
  vec3 to_low = (uLow - uEye) / direction;
  vec3 to_high = (uHigh - uEye) / direction;
  vec3 entries = min(to_low, to_high);
  vec3 exits = max(to_low, to_high);
  enter = max(max(entries.x, entries.y), max(entries.z, 0.0));
  leave = min(exits.x, min(exits.y, exits.z));
}
