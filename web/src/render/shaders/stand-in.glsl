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

float value_at(vec3 world) {
  return textureLod(uVolume, world * uTextureScale + uTextureOffset, 0.0).r;
}

vec4 kept(float value) {
  return vec4(value > -0.5 ? clamp(value * uShare.x + uShare.y, 0.0, 1.0) : NO_DATA);
}
