/* The scalar wave equation u_tt = c^2 (lap u + q) on a cube of n^3 samples, split over the ranks as a grid of boxes.
 *
 * Leapfrog in time, seven-point differences in space, both of second order; a sponge at the faces. Stable while the Courant number
 * c dt / dx stays below 1 / sqrt(3) = 0.577. The field outside the cube is 0.
 */
#ifndef WAVE_SOLVER_H
#define WAVE_SOLVER_H

#include <mpi.h>
#include <stddef.h>

typedef struct {
  double courant;
  float range;        /* the field stays within plus and minus so much */
  double travelled;   /* by sound since the start, in edges of the cube */
  int n;              /* samples per edge of the whole cube */
  int offset[3];      /* this rank's box: x, y, z */
  int size[3];
  float *now;         /* with a ghost layer of one sample, x fastest */
  float *before;
  float *keep[3];     /* what the sponge leaves of a wave in a step, per sample of this rank's box along x, y, z */
  MPI_Comm ranks;     /* the grid of boxes, z first */
  MPI_Datatype face[3];
} solver;

/* Places of neighbours: 1 along x, and these along y and z. */
static inline size_t row_of(const solver *s) { return (size_t)s->size[0] + 2; }
static inline size_t plane_of(const solver *s) { return row_of(s) * (size_t)(s->size[1] + 2); }
/* Place of a sample of this rank's box, from (0, 0, 0). */
static inline size_t place_of(const solver *s, int x, int y, int z) {
  return (size_t)(z + 1) * plane_of(s) + (size_t)(y + 1) * row_of(s) + (size_t)(x + 1);
}

/* A field at rest; 0 where there is no memory, or more ranks along an axis than samples. */
int solver_start(solver *s, int n, double courant, double range);
/* From the next step on. */
void solver_tune(solver *s, double courant, double range);
/* One time step of the medium; sources are added to `now` afterwards. */
void solver_step(solver *s);
void solver_end(solver *s);

#endif
