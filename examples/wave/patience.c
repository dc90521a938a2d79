#define _POSIX_C_SOURCE 199309L
#include "patience.h"

#include <sched.h>
#include <time.h>

/* Neighbours are seldom late by more than this where each has a core of its own. */
enum { TRIES = 20 };
static const struct timespec NAP = {0, 50000};

void await(int count, MPI_Request requests[]) {
  /* MPICH's constant for "none wanted" makes compilers warn. */
  MPI_Status states[MOST_REQUESTS];
  int done = 0;
  for (int tries = 0;; tries++) {
    MPI_Testall(count, requests, &done, states);
    if (done) return;
    if (tries < TRIES)
      sched_yield();
    else
      nanosleep(&NAP, NULL);
  }
}
