#define _POSIX_C_SOURCE 200112L
#include "solver.h"

#include <math.h>
#include <stdlib.h>

#include "patience.h"

/* `exp` of minus a cubic ramp towards both ends; a wave that crosses the sponge and comes back loses a factor of a thousand. */
static void soak(solver *s) {
  int n = s->n, thick = n / 9 > 4 ? n / 9 : 4;
  double strength = 4.0 * 7.0 * s->courant / (2.0 * thick);
  for (int axis = 0; axis < 3; axis++)
    for (int i = 0; i < s->size[axis]; i++) {
      int from_first = s->offset[axis] + i, from_last = n - 1 - from_first;
      int edge = from_first < from_last ? from_first : from_last;
      double depth = edge < thick ? (double)(thick - edge) / thick : 0;
      s->keep[axis][i] = (float)exp(-strength * depth * depth * depth);
    }
}

/* A layer of the box, without edges, as the neighbour along `axis` needs it. */
static MPI_Datatype face_of(const solver *s, int axis) {
  int whole[3] = {s->size[2] + 2, s->size[1] + 2, s->size[0] + 2};
  int part[3] = {s->size[2], s->size[1], s->size[0]};
  int start[3] = {0, 0, 0};
  part[2 - axis] = 1;
  MPI_Datatype face;
  MPI_Type_create_subarray(3, whole, part, start, MPI_ORDER_C, MPI_FLOAT, &face);
  MPI_Type_commit(&face);
  return face;
}

int solver_start(solver *s, int n, double courant, double range) {
  int count, rank, split[3] = {0, 0, 0}, around[3] = {0, 0, 0}, at[3];
  MPI_Comm_size(MPI_COMM_WORLD, &count);
  MPI_Dims_create(count, 3, split);
  MPI_Cart_create(MPI_COMM_WORLD, 3, split, around, 0, &s->ranks);
  MPI_Comm_rank(s->ranks, &rank);
  MPI_Cart_coords(s->ranks, rank, 3, at);
  s->n = n;
  s->courant = courant;
  s->range = (float)range;
  for (int axis = 0; axis < 3; axis++) {
    int parts = split[2 - axis], part = at[2 - axis];
    s->offset[axis] = (int)((long)n * part / parts);
    s->size[axis] = (int)((long)n * (part + 1) / parts) - s->offset[axis];
    if (s->size[axis] == 0) return 0;
    s->keep[axis] = malloc((size_t)s->size[axis] * sizeof *s->keep[axis]);
    if (!s->keep[axis]) return 0;
  }
  soak(s);
  size_t samples = plane_of(s) * (size_t)(s->size[2] + 2);
  s->now = calloc(samples, sizeof *s->now);
  s->before = calloc(samples, sizeof *s->before);
  for (int axis = 0; axis < 3; axis++) s->face[axis] = face_of(s, axis);
  return s->now && s->before;
}

/* Fills the ghost layer of `now`. */
static void exchange(solver *s) {
  MPI_Request requests[MOST_REQUESTS];
  int count = 0;
  size_t along[3] = {1, row_of(s), plane_of(s)};
  for (int axis = 0; axis < 3; axis++) {
    int below, above;
    MPI_Cart_shift(s->ranks, 2 - axis, 1, &below, &above);
    /* The first and the last layer of the box begin here. */
    float *first = s->now + place_of(s, 0, 0, 0);
    float *last = first + along[axis] * (size_t)(s->size[axis] - 1);
    MPI_Irecv(first - along[axis], 1, s->face[axis], below, axis, s->ranks, &requests[count++]);
    MPI_Irecv(last + along[axis], 1, s->face[axis], above, 3 + axis, s->ranks, &requests[count++]);
    MPI_Isend(first, 1, s->face[axis], below, 3 + axis, s->ranks, &requests[count++]);
    MPI_Isend(last, 1, s->face[axis], above, axis, s->ranks, &requests[count++]);
  }
  await(count, requests);
}

void solver_tune(solver *s, double courant, double range) {
  s->range = (float)range;
  if (courant == s->courant) return;
  /* Leapfrog looks back one step of the new length: the field then was, to first order, on the line through now and before. */
  const float ratio = (float)(courant / s->courant);
  const size_t samples = plane_of(s) * (size_t)(s->size[2] + 2);
  for (size_t i = 0; i < samples; i++) s->before[i] = s->now[i] - ratio * (s->now[i] - s->before[i]);
  s->courant = courant;
  soak(s);
}

void solver_step(solver *s) {
  const float c2 = (float)(s->courant * s->courant), range = s->range;
  const size_t row = row_of(s), plane = plane_of(s);
  exchange(s);
  for (int z = 0; z < s->size[2]; z++)
    for (int y = 0; y < s->size[1]; y++) {
      const size_t first = place_of(s, 0, y, z);
      const float *restrict u = s->now + first;
      const float *restrict keep_x = s->keep[0];
      float *restrict next = s->before + first;
      const float keep_yz = s->keep[1][y] * s->keep[2][z];
      for (int x = 0; x < s->size[0]; x++) {
        float near = u[x - 1] + u[x + 1] + u[x - row] + u[x + row] + u[x - plane] + u[x + plane];
        /* With keep = exp(-s) this is leapfrog for u e^(s t): damping that cannot make the scheme unstable. */
        float keep = keep_x[x] * keep_yz;
        float free = keep * ((2 - 6 * c2) * u[x] + c2 * near - keep * next[x]);
        next[x] = free > range ? range : free < -range ? -range : free;
      }
    }
  float *swap = s->now;
  s->now = s->before;
  s->before = swap;
  s->travelled += s->courant / (s->n - 1);
}

void solver_end(solver *s) {
  for (int axis = 0; axis < 3; axis++) {
    free(s->keep[axis]);
    MPI_Type_free(&s->face[axis]);
  }
  free(s->now);
  free(s->before);
  MPI_Comm_free(&s->ranks);
}
