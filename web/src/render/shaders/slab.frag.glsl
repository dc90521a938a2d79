#version 300 es
// Opacity corrected for the new path through the slab: a' = 1 - (1 - a)^(cos g / cos n), colour kept (RENDERING, slabs).
precision highp float;
precision highp sampler2DArray;

uniform sampler2DArray uAtlas;
uniform vec3 uKeyForward;
// Half the key picture's width and height at distance 1.
uniform vec2 uKeyTangents;

in vec3 atlas;
flat in vec4 inside;
in vec2 screen;
in vec3 from_eye;
out vec4 colour;

void main() {
  vec4 texel = textureLod(uAtlas, vec3(clamp(atlas.xy, inside.xy, inside.zw), atlas.z), 0.0);
  if (texel.a <= 0.0) discard;
  vec2 slope = screen * uKeyTangents;
  float key_cosine = inversesqrt(1.0 + dot(slope, slope));
  float new_cosine = max(0.05, abs(dot(normalize(from_eye), uKeyForward)));
  float alpha = 1.0 - pow(max(0.0, 1.0 - texel.a), key_cosine / new_cosine);
  colour = vec4(texel.rgb * (alpha / texel.a), alpha);
}
