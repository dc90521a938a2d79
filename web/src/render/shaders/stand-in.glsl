#version 300 es
// What every fragment that stands in for a lost texel begins with: what bricks say.
precision highp float;
precision highp sampler2D;
precision highp sampler3D;

// Values in [0, 1]; far below 0 where there is no data.
uniform sampler3D uVolume;
// From the world to its texture coordinates.
uniform vec3 uTextureScale;
uniform vec3 uTextureOffset;
// What is lost of second differences of the bricks along an axis: by means over cubes, and by straight lines between those, `between * (1 - between)` of the latter.
uniform vec2 uFlattened;
// From a value of the bricks to what is kept: value * x + y.
uniform vec2 uShare;

// The key view: right and down are half its picture's width and height at distance 1.
uniform vec3 uKeyEye;
uniform vec3 uKeyForward;
uniform vec3 uKeyRight;
uniform vec3 uKeyDown;
uniform vec2 uRays;

const float NO_DATA = -60000.0;

out vec4 colour;

// What a ray has gathered so far, and the share of light that still comes through.
vec3 sum = vec3(0.0);
float through = 1.0;

// As deep in the key view as it is long.
vec3 direction_of(vec2 ray) {
  vec2 screen = ray / uRays * 2.0 - 1.0;
  return uKeyForward + screen.x * uKeyRight + screen.y * uKeyDown;
}

float read(vec3 place) {
  return textureLod(uVolume, place, 0.0).r;
}

// As steep as the field is, as far as samples to both sides tell.
float value_at(vec3 world) {
  vec3 place = world * uTextureScale + uTextureOffset;
  float value = read(place);
  if (value < -0.5) return value;
  vec3 size = vec3(textureSize(uVolume, 0));
  vec3 between = fract(place * size - 0.5);
  vec3 flattened = uFlattened.x + uFlattened.y * between * (1.0 - between);
  float steep = value;
  for (int axis = 0; axis < 3; axis++) {
    vec3 next = vec3(0.0);
    next[axis] = 1.0 / size[axis];
    float before = read(place - next);
    float behind = read(place + next);
    if (min(before, behind) > -0.5) steep -= flattened[axis] * (before + behind - 2.0 * value);
  }
  return clamp(steep, 0.0, 1.0);
}

vec4 kept(float value) {
  return vec4(value > -0.5 ? clamp(value * uShare.x + uShare.y, 0.0, 1.0) : NO_DATA);
}
