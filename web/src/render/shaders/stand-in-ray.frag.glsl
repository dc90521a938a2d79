// Values along a ray of segments: planes across, columns up, a layer for each row.

uniform float uLayer;
// Depth of a texture coordinate in texels: x + y * texel.
uniform vec2 uDepth;

void main() {
  vec3 direction = direction_of(vec2(gl_FragCoord.y, uLayer + 0.5));
  colour = kept(value_at(uKeyEye + (uDepth.x + uDepth.y * gl_FragCoord.x) * direction));
}
