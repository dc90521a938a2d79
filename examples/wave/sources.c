#include "sources.h"

#include <math.h>
#include <stdlib.h>

static const double TURN = 6.283185307179586;
/* Height of the pulses at the start, in terms of the strength. */
static const double START = 0.9;

/* A ball that pushes the medium, Gaussian in space; lengths are in samples. */
typedef struct {
  double at[3], radius, height;
} push;

/* Steps of the golden ratio spread any number of sources evenly. */
static double spread(double seed, int index) {
  double value = seed + index * 0.618033988749895;
  return value - floor(value);
}

/* In edges of the cube; no shorter than the grid resolves. */
static double wavelength_of(const sources *all, int n, int index) {
  return fmax((0.17 + 0.1 * spread(0.5, index)) / all->frequency, 8.0 / (n - 1));
}

/* Source `index`, whose height is that of q dx^2. */
static push source(const sources *all, const solver *s, int index) {
  const int n = s->n;
  double tilt = acos(2 * spread(0.31, index) - 1), turn = TURN * spread(0.77, index);
  double across[3] = {cos(turn) * cos(tilt), sin(turn) * cos(tilt), -sin(tilt)}, along[3] = {-sin(turn), cos(turn), 0};
  double wavelength = wavelength_of(all, n, index);
  double radius = 0.16 + 0.14 * spread(0.13, index), mach = 0.12 + 0.2 * spread(0.9, index);
  double angle = TURN * spread(0, index) + s->travelled * mach / radius;
  push made;
  for (int axis = 0; axis < 3; axis++)
    made.at[axis] = (0.5 + radius * (cos(angle) * across[axis] + sin(angle) * along[axis])) * (n - 1);
  made.radius = wavelength / TURN * (n - 1);
  /* With k times the radius = 1 the field at a source at rest peaks at 0.81 radius^2 q (Helmholtz Green function over the Gaussian). */
  double fade = sin(fmin(all->age[index] / wavelength, 1) * TURN / 4);
  double swing = sin(TURN * (all->turns[index] + spread(0.4, index))) * fade * fade;
  made.height = all->strength * swing / (0.81 * made.radius * made.radius);
  return made;
}

static double gauss(const push *p, int axis, int i) {
  double distance = (i - p->at[axis]) / p->radius;
  return exp(-0.5 * distance * distance);
}

static void add(const solver *s, float *field, const push *p) {
  int lo[3], hi[3];
  for (int axis = 0; axis < 3; axis++) {
    lo[axis] = (int)fmax(ceil(p->at[axis] - 4 * p->radius) - s->offset[axis], 0);
    hi[axis] = (int)fmin(floor(p->at[axis] + 4 * p->radius) + 1 - s->offset[axis], s->size[axis]);
    if (lo[axis] >= hi[axis]) return;
  }
  float *along_x = malloc((size_t)(hi[0] - lo[0]) * sizeof *along_x);
  if (!along_x) return;
  for (int x = lo[0]; x < hi[0]; x++) along_x[x - lo[0]] = (float)gauss(p, 0, x + s->offset[0]);
  for (int z = lo[2]; z < hi[2]; z++)
    for (int y = lo[1]; y < hi[1]; y++) {
      float height = (float)(p->height * gauss(p, 2, z + s->offset[2]) * gauss(p, 1, y + s->offset[1]));
      float *row = field + place_of(s, lo[0], y, z);
      for (int x = 0; x < hi[0] - lo[0]; x++) row[x] += height * along_x[x];
    }
  free(along_x);
}

/* Far waves of many sources add up like a random walk. */
static double crowd(int count) { return fmax(sqrt(count / 5.0), 1); }

void sources_start(const sources *all, solver *s) {
  for (int i = 0; i < all->count; i++) {
    push pulse = source(all, s, i);
    pulse.height = START * all->strength / crowd(all->count);
    add(s, s->now, &pulse);
    add(s, s->before, &pulse);
  }
}

void sources_tune(sources *all, int count, double strength, double frequency) {
  for (int i = all->count; i < count; i++) all->age[i] = all->turns[i] = 0;
  all->count = count;
  all->strength = strength;
  all->frequency = frequency;
}

void sources_push(sources *all, solver *s) {
  const double step = s->courant / (s->n - 1);
  for (int i = 0; i < all->count; i++) {
    push pushing = source(all, s, i);
    pushing.height *= s->courant * s->courant / crowd(all->count);
    add(s, s->now, &pushing);
    all->age[i] += step;
    all->turns[i] += step / wavelength_of(all, s->n, i);
  }
}
