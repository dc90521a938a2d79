#version 300 es
precision highp float;
precision highp sampler2D;

uniform sampler2D uImage;
// 1 where the image's first row is the top one.
uniform float uFromTop;

in vec2 uv;
out vec4 colour;

void main() {
  colour = textureLod(uImage, vec2(uv.x, mix(uv.y, 1.0 - uv.y, uFromTop)), 0.0);
}
