// A segment widened on the screen; `edge` runs from -1 to 1 across it. Attributes and matrices come from three.js.
attribute vec3 other;
attribute float side;
uniform vec2 viewport;
uniform float width;
varying float edge;

void main() {
  vec4 here = projectionMatrix * modelViewMatrix * vec4(position, 1.0);
  vec4 there = projectionMatrix * modelViewMatrix * vec4(other, 1.0);
  float near = 1e-3;
  if (here.w < near && there.w > near) here = mix(here, there, (near - here.w) / (there.w - here.w));
  if (there.w < near && here.w > near) there = mix(there, here, (near - there.w) / (here.w - there.w));
  vec2 along = (there.xy / there.w - here.xy / here.w) * viewport;
  vec2 across = normalize(vec2(-along.y, along.x) + 1e-9) * sign(side) * (abs(side) > 1.5 ? -1.0 : 1.0);
  gl_Position = here + vec4(across * (width + 1.5) / viewport * here.w, 0.0, 0.0);
  edge = sign(side) * (width + 1.5) * 0.5;
}
