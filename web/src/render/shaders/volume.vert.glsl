#version 300 es
// The far faces of the box: each pixel that sees the volume once, from outside and from inside.
uniform vec3 uEye;
uniform vec3 uForward;
// Right and up of the camera, as long as half the picture at distance 1.
uniform vec3 uRight;
uniform vec3 uUp;
uniform vec3 uLow;
uniform vec3 uHigh;

// Corners by the bits x, y, z of their number; counter-clockwise from outside.
const int CORNERS[36] = int[36](
  0, 2, 1, 1, 2, 3, 4, 5, 6, 6, 5, 7, 0, 1, 4, 4, 1, 5,
  2, 6, 3, 3, 6, 7, 0, 4, 2, 2, 4, 6, 1, 3, 5, 5, 3, 7
);

void main() {
  int corner = CORNERS[gl_VertexID];
  vec3 bits = vec3(corner & 1, (corner >> 1) & 1, (corner >> 2) & 1);
  vec3 from_eye = mix(uLow, uHigh, bits) - uEye;
  vec2 screen = vec2(dot(from_eye, uRight) / dot(uRight, uRight), dot(from_eye, uUp) / dot(uUp, uUp));
  gl_Position = vec4(screen, 0.0, dot(from_eye, uForward));
}
