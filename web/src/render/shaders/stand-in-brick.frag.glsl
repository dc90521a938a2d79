// A sample of a level of bricks: what has come, or what those beside it that have come and the bricks that stand in say of it.

// The level itself.
uniform sampler3D uLevel;
// The first sample that is drawn.
uniform ivec3 uFirst;
// In which rows the samples that stand in are means of cubes of 2 x 2 x 2 samples of this level, as they were sent: bit y % 2 + z % 2 * 2 for row y of slice z;
// and how far these may be off, as codes tell them.
uniform int uMeans;
uniform float uMostOff;

float sample_at(ivec3 at) {
  return texelFetch(uLevel, clamp(at, ivec3(0), textureSize(uLevel, 0) - 1), 0).r;
}

// Neither a value nor no data.
bool is_lost(float value) {
  return value < -15000.0 && value > -45000.0;
}

// The mean of what came beside a lost sample and of what stands in for it; no data where most of these have none.
float expected(ivec3 at) {
  // Here samples count as the world.
  float stood = kept(value_at(vec3(at) + 0.5)).r;
  vec2 sum = stood > -0.5 ? vec2(stood, 1.0) : vec2(0.0);
  float without = 1.0 - sum.y;
  for (int side = 0; side < 6; side++) {
    ivec3 beside = at;
    beside[side / 2] += side % 2 * 2 - 1;
    float value = sample_at(beside);
    if (value > -0.5) sum += vec2(value, 1.0);
    else if (!is_lost(value)) without += 1.0;
  }
  return sum.y > 0.0 && sum.y >= without ? sum.x / sum.y : NO_DATA;
}

void main() {
  ivec3 at = uFirst + ivec3(gl_FragCoord.xy, 0);
  float own = sample_at(at);
  if (is_lost(own)) {
    own = expected(at);
    ivec3 cube = at / 2;
    bool isMean = (uMeans >> (cube.y % 2 + cube.z % 2 * 2) & 1) == 1;
    float mean = isMean ? kept(texelFetch(uVolume, cube, 0).r).r : NO_DATA;
    if (own > -0.5 && mean > -0.5) {
      // By how much the cube's samples are less than its mean, and how many of them are lost.
      vec2 due = vec2(0.0);
      for (int corner = 0; corner < 8; corner++) {
        ivec3 other = cube * 2 + ivec3(corner % 2, corner / 2 % 2, corner / 4);
        if (any(greaterThanEqual(other, textureSize(uLevel, 0)))) continue;
        float value = sample_at(other);
        bool lost = is_lost(value);
        if (lost) value = expected(other);
        if (value > -0.5) due += vec2(mean - value, lost ? 1.0 : 0.0);
      }
      // Not for what codes do not tell: all of a mean's error would be that of few samples.
      float surely = sign(due.x) * max(0.0, abs(due.x) - 8.0 * uMostOff);
      own = clamp(own + surely / due.y, 0.0, 1.0);
    }
  }
  colour = vec4(own);
}
