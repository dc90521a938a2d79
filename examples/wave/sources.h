/* Sources that move on tilted circular orbits and swing, each with its own pitch. */
#ifndef WAVE_SOURCES_H
#define WAVE_SOURCES_H

#include "solver.h"

/* Pulses at rest where the `count` sources begin, so that the first step is not empty. */
void sources_start(solver *s, int count);
/* What the sources add to `now` after solver step `step`. */
void sources_push(solver *s, int count, long step);

#endif
