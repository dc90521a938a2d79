// A texel of a face of scalar slabs.

uniform vec3 uNormal;
// Of the face, along the normal.
uniform float uDepth;

void main() {
  vec3 direction = direction_of(gl_FragCoord.xy);
  colour = kept(value_at(uKeyEye + uDepth / dot(direction, uNormal) * direction));
}
