#version 300 es
// One tile of a slab as a quad on the plane through the middle of its slab.
layout(location = 0) in vec4 aDrawn;   // edges left, top, right, bottom in rays of the key view
layout(location = 1) in vec4 aPlace;   // slab, atlas layer, atlas x, y
layout(location = 2) in vec4 aTile;    // first ray x, y, width, height

uniform vec3 uKeyEye;
uniform vec3 uKeyForward;
uniform vec3 uKeyRight;
uniform vec3 uKeyUp;
// Half the key picture's width and height at distance 1.
uniform vec2 uKeyTangents;
uniform vec2 uRays;
uniform vec3 uNormal;
// Distance of slab s along the normal: x + s * y.
uniform vec2 uDepth;
uniform vec3 uEye;
uniform vec3 uForward;
// Divided by half the picture at distance 1.
uniform vec3 uRight;
uniform vec3 uUp;

// Where the point lies in the key picture: x, y in [-1, 1] times the third.
out vec3 in_key;
out vec3 from_eye;
flat out vec4 place;
flat out vec4 tile;

void main() {
  vec2 corner = vec2(gl_VertexID & 1, gl_VertexID >> 1);
  vec2 ray = mix(aDrawn.xy, aDrawn.zw, corner);
  vec2 screen = vec2(ray.x / uRays.x * 2.0 - 1.0, 1.0 - ray.y / uRays.y * 2.0);
  vec2 slope = screen * uKeyTangents;
  vec3 direction = uKeyForward + slope.x * uKeyRight + slope.y * uKeyUp;
  float along = (uDepth.x + aPlace.x * uDepth.y) / dot(direction, uNormal);
  in_key = vec3(screen, 1.0) * along;
  from_eye = uKeyEye + along * direction - uEye;
  place = aPlace;
  tile = aTile;
  gl_Position = vec4(dot(from_eye, uRight), dot(from_eye, uUp), 0.0, dot(from_eye, uForward));
}
