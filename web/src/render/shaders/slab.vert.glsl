#version 300 es
// One tile of a slab as a quad on the plane through the middle of its slab.
layout(location = 0) in vec4 aDrawn;   // edges left, top, right, bottom in rays of the key view
layout(location = 1) in vec4 aPlace;   // slab, atlas layer, atlas x, y
layout(location = 2) in vec4 aTile;    // first ray x, y, width, height

uniform vec3 uKeyEye;
uniform vec3 uKeyForward;
uniform vec3 uKeyRight;
uniform vec3 uKeyUp;
uniform vec2 uRays;
// Depth of slab s: x + s * y.
uniform vec2 uDepth;
uniform vec3 uEye;
uniform vec3 uForward;
// Divided by half the picture at distance 1.
uniform vec3 uRight;
uniform vec3 uUp;
uniform float uAtlasEdge;

out vec3 atlas;
flat out vec4 inside;
out vec2 screen;
out vec3 from_eye;

void main() {
  vec2 corner = vec2(gl_VertexID & 1, gl_VertexID >> 1);
  vec2 ray = mix(aDrawn.xy, aDrawn.zw, corner);
  screen = vec2(ray.x / uRays.x * 2.0 - 1.0, 1.0 - ray.y / uRays.y * 2.0);
  float depth = uDepth.x + aPlace.x * uDepth.y;
  vec3 at = uKeyEye + depth * (uKeyForward + screen.x * uKeyRight + screen.y * uKeyUp);
  from_eye = at - uEye;
  atlas = vec3((aPlace.zw + ray - aTile.xy) / uAtlasEdge, aPlace.y);
  inside = vec4(aPlace.zw + 0.5, aPlace.zw + aTile.zw - 0.5) / uAtlasEdge;
  gl_Position = vec4(dot(from_eye, uRight), dot(from_eye, uUp), 0.0, dot(from_eye, uForward));
}
