// A sample of a level of bricks.

// The layer that is drawn into.
uniform float uLayer;

void main() {
  // Here samples count as the world.
  colour = kept(value_at(vec3(gl_FragCoord.xy, uLayer + 0.5)));
}
