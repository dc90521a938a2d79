/* Sources that move on tilted circular orbits and swing, each with its own pitch. */
#ifndef WAVE_SOURCES_H
#define WAVE_SOURCES_H

#include "settings.h"
#include "solver.h"

typedef struct {
  int count;
  double strength, frequency;
  /* Of each: how far sound has travelled since it began, in edges of the cube, and its turns since then. */
  double age[MOST_SOURCES], turns[MOST_SOURCES];
} sources;

/* Pulses at rest where the sources begin, so that the first step is not empty. */
void sources_start(const sources *all, solver *s);
/* From the next push on; new ones begin softly, and none jumps in its swing. */
void sources_tune(sources *all, int count, double strength, double frequency);
/* What the sources add to `now` after a solver step. */
void sources_push(sources *all, solver *s);

#endif
