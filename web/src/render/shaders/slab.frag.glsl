#version 300 es
// Opacity of a slab crossed at the angle n to its normal: a' = 1 - (1 - alpha)^(1 / cos n), colour kept (view protocol, slabs).
precision highp float;
precision highp sampler2DArray;

uniform sampler2DArray uAtlas;
uniform float uAtlasEdge;
uniform vec2 uRays;
uniform vec3 uNormal;
// What of the box is shown, from the eye on.
uniform vec3 uLow;
uniform vec3 uHigh;

in vec3 in_key;
in vec3 from_eye;
flat in vec4 place;
flat in vec4 tile;
out vec4 colour;

void main() {
  if (any(lessThan(from_eye, uLow)) || any(greaterThan(from_eye, uHigh))) discard;
  vec2 ray = (in_key.xy / in_key.z * vec2(0.5, -0.5) + 0.5) * uRays;
  vec2 texel = clamp(ray - tile.xy, vec2(0.5), tile.zw - 0.5) + place.zw;
  vec4 along_normal = textureLod(uAtlas, vec3(texel / uAtlasEdge, place.y), 0.0);
  if (along_normal.a <= 0.0) discard;
  float cosine = max(0.05, abs(dot(normalize(from_eye), uNormal)));
  float alpha = 1.0 - pow(max(0.0, 1.0 - along_normal.a), 1.0 / cosine);
  colour = vec4(along_normal.rgb * (alpha / along_normal.a), alpha);
}
