// Smooth edges by coverage: needs no multisampling.
uniform vec3 colour;
uniform float opacity;
uniform float width;
varying float edge;

void main() {
  float coverage = clamp(0.5 * width + 0.5 - abs(edge), 0.0, 1.0);
  gl_FragColor = vec4(colour * opacity * coverage, opacity * coverage);
}
