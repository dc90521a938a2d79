/* What publishing costs a solver, told within one run: periods of solver steps that begin with a published step, and periods that do not, in pairs of random order.
 *
 * Options are those of the example `wave`: --every is the solver steps of a period, --steps the number of pairs. With OWN_CORE in the environment the thread that solves
 * moves to that core. Prints a line per pair: wall and processor seconds of this thread with publishing and without, and the wall seconds of its calls.
 */
#define _GNU_SOURCE
#include <mpi.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "options.h"
#include "publish.h"
#include "solver.h"
#include "sources.h"

enum { WARM_UP = 6 };

typedef struct {
  double wall, cpu, calls; /* s */
} cost;

static double now(clockid_t of) {
  struct timespec time;
  clock_gettime(of, &time);
  return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static cost period(const options *o, solver *s, sources *all, visapult_publisher *publisher, int is_published) {
  double wall = now(CLOCK_MONOTONIC), cpu = now(CLOCK_THREAD_CPUTIME_ID), calls = 0;
  if (is_published) {
    if (!publish_step(publisher, s, s->travelled * EDGE_M / SOUND_M_S)) MPI_Abort(MPI_COMM_WORLD, 3);
    calls = now(CLOCK_MONOTONIC) - wall;
  }
  for (int i = 0; i < o->every; i++) {
    solver_step(s);
    sources_push(all, s);
  }
  return (cost){now(CLOCK_MONOTONIC) - wall, now(CLOCK_THREAD_CPUTIME_ID) - cpu, calls};
}

static void keep_to(const char *core) {
  cpu_set_t cores;
  CPU_ZERO(&cores);
  CPU_SET(atoi(core), &cores);
  if (sched_setaffinity(0, sizeof cores, &cores)) {
    perror("overhead: this core cannot be had");
    MPI_Abort(MPI_COMM_WORLD, 4);
  }
}

int main(int count, char **arguments) {
  MPI_Init(&count, &arguments);
  options o;
  solver s = {0};
  sources all = {0};
  if (!read_options(&o, count, arguments, 1) || !solver_start(&s, o.n, o.settings[COURANT], o.settings[RANGE])) return 2;
  visapult_publisher *publisher = publish_open(&o, &s);
  if (!publisher) return 2;
  publish_tell(publisher, s.ranks);
  sources_tune(&all, (int)o.settings[SOURCES], o.settings[STRENGTH], o.settings[FREQUENCY]);
  sources_start(&all, &s);
  if (getenv("OWN_CORE")) keep_to(getenv("OWN_CORE"));
  for (int i = 0; i < WARM_UP; i++) period(&o, &s, &all, publisher, 1);
  srand(1);
  for (long pair = 0; pair < o.steps; pair++) {
    cost of[2];
    int first = rand() / 7 % 2;
    of[first] = period(&o, &s, &all, publisher, first);
    of[!first] = period(&o, &s, &all, publisher, !first);
    printf("%.6f %.6f %.6f %.6f %.6f\n", of[1].wall, of[0].wall, of[1].cpu, of[0].cpu, of[1].calls);
  }
  visapult_counts counts;
  if (visapult_statistics(publisher, &counts)) return 3;
  printf("%llu %llu\n", (unsigned long long)counts.sent, (unsigned long long)counts.missed);
  visapult_close(publisher);
  solver_end(&s);
  MPI_Finalize();
  return 0;
}
